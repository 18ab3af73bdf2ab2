//! Resource limits of chat templates. Templates come from hubs, so a hostile one must be stopped.
//!
//! The engine counts steps, so every loop ends. But a single step can double, repeat or copy a
//! text, so every operation that makes text or lists goes through a function of this module that
//! first adds the result's size to the render's total. Three operators and slices are instructions
//! of the engine rather than functions; they are replaced by calls after a template is compiled,
//! which is why this module uses the engine's internal interface.

use std::fmt::{self, Write};
use std::sync::Arc;
use std::thread;

use minijinja::machinery::{
    CompiledTemplate, Instruction, Instructions, Span, TemplateConfig, Token, eval,
    make_string_output, tokenize,
};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, State, context, filters};
use minijinja_contrib::pycompat;

/// The largest size of a template in bytes.
const MOST_SOURCE: usize = 1 << 20;
/// The largest number of instructions in a render. A message of a conversation takes a few hundred.
const MOST_STEPS: u64 = 1_000_000;
/// The largest number of bytes that a render may create, including those it discards.
const MOST_MADE: usize = 512 << 20;
/// The largest size of a single text in a render, in bytes.
const MOST_TEXT: usize = 32 << 20;
/// The largest number of items in a list, and in all nested lists of a value together.
const MOST_ITEMS: usize = 1_000_000;
/// The deepest nesting of a value. JSON is read up to 128 levels.
const MOST_DEPTH: usize = 200;
/// The largest number of bytes of raw template text, between the tags, that a render may write.
const MOST_RAW: usize = 256 << 20;
/// The approximate size of a list item in memory, in bytes.
const ITEM: usize = 32;
/// The approximate length of a number as text, in bytes.
const NUMBER: usize = 32;
/// The stack size of a render in bytes. Nested values are dropped recursively, so the stack must
/// suffice for as many levels as the steps of a render can create.
const STACK: usize = 256 << 20;

/// The number of bytes that a render has created.
#[derive(Debug, Default)]
struct RenderedBytes(usize);

/// Adds a result of `bytes` bytes to the render's total. Must be called before the result is
/// created.
pub(crate) fn charge(state: &mut State<'_, '_>, bytes: usize) -> Result<(), Error> {
    let made = state.get_or_insert_extension_with(RenderedBytes::default);
    made.0 = made.0.saturating_add(bytes);
    if bytes > MOST_TEXT {
        return Err(refused(format!("it makes a text of more than {MOST_TEXT} bytes")));
    }
    if made.0 > MOST_MADE {
        return Err(refused(format!("it makes more than {MOST_MADE} bytes of text and lists")));
    }
    Ok(())
}

/// Returns an upper bound on the length of a value as text. Fails if the value is nested too deeply
/// or too large.
pub(crate) fn measured(value: &Value) -> Result<usize, Error> {
    let mut left = MOST_ITEMS;
    measure(value, 0, &mut left)
}

fn measure(value: &Value, depth: usize, left: &mut usize) -> Result<usize, Error> {
    if let Some(text) = value.as_str() {
        return Ok(text.len());
    }
    if depth > MOST_DEPTH {
        return Err(refused(format!("it nests values more than {MOST_DEPTH} deep")));
    }
    let mut bytes = NUMBER;
    if matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map) {
        for item in value.try_iter()? {
            *left = left.checked_sub(1).ok_or_else(too_many)?;
            bytes += ITEM + measure(&item, depth + 1, left)?;
            if value.kind() == ValueKind::Map {
                bytes += measure(&value.get_item(&item)?, depth + 1, left)?;
            }
        }
    }
    Ok(bytes)
}

/// Compiles a template and renders it on a thread of its own.
pub(crate) fn render(
    environment: &Environment<'_>,
    syntax: &SyntaxConfig,
    source: &str,
    context: Value,
) -> Result<String, Error> {
    let work = || {
        let (template, steps) = compiled(syntax, source)?;
        let mut environment = environment.clone();
        environment.set_fuel(Some(steps));
        let mut text = String::new();
        let mut out = make_string_output(&mut text);
        let CompiledTemplate { instructions, blocks, .. } = &template;
        eval(&environment, instructions, context, blocks, &mut out, AutoEscape::None)?;
        Ok(text)
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| refused(format!("it has no thread: {error}")))?;
        thread.join().unwrap_or_else(|_| Err(refused("the template engine failed".to_owned())))
    })
}

/// Checks that a template can be compiled.
pub(crate) fn check(syntax: &SyntaxConfig, source: &str) -> Result<(), Error> {
    compiled(syntax, source).map(drop)
}

/// Returns a template with its operators replaced by calls, and the number of steps that it may
/// take.
fn compiled<'s>(
    syntax: &SyntaxConfig,
    source: &'s str,
) -> Result<(CompiledTemplate<'s>, u64), Error> {
    if source.len() > MOST_SOURCE {
        return Err(refused(format!("it has more than {MOST_SOURCE} bytes")));
    }
    refuse_constants(syntax, source)?;
    let syntax_config = syntax.clone();
    let config =
        TemplateConfig { syntax_config, default_auto_escape: Arc::new(|_| AutoEscape::None) };
    let mut template = CompiledTemplate::new(NAME, source, &config)?;
    let mut raw = exchange(&mut template.instructions);
    for block in template.blocks.values_mut() {
        raw = raw.max(exchange(block));
    }
    // Raw text is written by an instruction that does not charge, so its total is limited by the
    // number of steps.
    let steps = (MOST_RAW / raw.max(1)) as u64;
    Ok((template, steps.min(MOST_STEPS)))
}

/// Replaces operators that make text with calls, and returns the length of the longest raw text.
fn exchange(instructions: &mut Instructions<'_>) -> usize {
    let mut longest = 0;
    let mut at = 0;
    while let Some(instruction) = instructions.get_mut(at) {
        match instruction {
            Instruction::StringConcat => *instruction = Instruction::CallFunction(CONCAT, Some(2)),
            Instruction::Add => *instruction = Instruction::CallFunction(ADD, Some(2)),
            Instruction::Mul => *instruction = Instruction::CallFunction(MULTIPLY, Some(2)),
            Instruction::Slice => *instruction = Instruction::CallFunction(SLICE, Some(4)),
            Instruction::EmitRaw(raw) => longest = longest.max(raw.len()),
            _ => {}
        }
        at += 1;
    }
    longest
}

/// Refuses constant expressions that could repeat a text or list many times. The engine evaluates
/// constants while it compiles a template, where nothing is charged.
fn refuse_constants(syntax: &SyntaxConfig, source: &str) -> Result<(), Error> {
    let tokens: Result<Vec<(Token<'_>, Span)>, Error> =
        tokenize(source, false, syntax.clone()).collect();
    let tokens: Vec<Token<'_>> = tokens?.into_iter().map(|(token, _)| token).collect();
    let (mut repeats, mut largest) = (0, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Int(number) => largest = largest.max(*number),
            Token::Pow | Token::Int128(_) => largest = u64::MAX,
            Token::Mul => {
                let before = at.checked_sub(1).and_then(|before| tokens.get(before));
                let behind = tokens.get(at + 1);
                let is_variable =
                    |token: Option<&Token<'_>>| matches!(token, Some(Token::Ident(_)));
                repeats += usize::from(!is_variable(before) && !is_variable(behind));
            }
            _ => {}
        }
    }
    if repeats > 0 && (repeats > MOST_REPEATS || largest > MOST_TIMES) {
        return Err(refused(format!(
            "it multiplies constants more than {MOST_REPEATS} times or by more than {MOST_TIMES}"
        )));
    }
    Ok(())
}

const MOST_REPEATS: usize = 2;
const MOST_TIMES: u64 = 4096;

/// Registers functions and filters that charge for what they create.
pub(crate) fn limit(environment: &mut Environment<'static>) {
    environment.add_function(CONCAT, concat);
    environment.add_function(ADD, add);
    environment.add_function(MULTIPLY, multiply);
    environment.add_function(SLICE, slice);
    environment.remove_filter("pprint");
    macro_rules! counted {
        ($($name:ident: $cost:expr,)*) => {$(
            environment.add_filter(concat!("uncounted ", stringify!($name)), filters::$name);
            add_counted_filter(environment, stringify!($name), concat!("uncounted ", stringify!($name)), $cost);
        )*};
    }
    counted! {
        batch: pieces,
        capitalize: texts,
        chain: items,
        format: formatted,
        groupby: items,
        indent: indented,
        items: items,
        join: joined,
        lines: items,
        list: items,
        lower: texts,
        map: items,
        reject: items,
        rejectattr: items,
        replace: replaced,
        reverse: items,
        select: items,
        selectattr: items,
        slice: pieces,
        sort: items,
        split: items,
        title: texts,
        trim: texts,
        unique: items,
        upper: texts,
        zip: items,
    }
    environment.set_unknown_method_callback(|state, value, method, args| {
        let value_alone = std::slice::from_ref(value);
        let all = [value_alone, args].concat();
        let cost = match method {
            "format" => formatted(&all)?,
            "join" => joined(&[args, value_alone].concat())?,
            "replace" => replaced(&all)?,
            "split" | "splitlines" | "keys" | "values" | "items" => items(&all)?,
            _ => value.as_str().map_or(0, str::len),
        };
        charge(state, cost)?;
        pycompat::unknown_method_callback(state, value, method, args)
    });
}

/// An upper bound on the bytes that a filter creates, from its arguments.
type Cost = fn(&[Value]) -> Result<usize, Error>;

fn add_counted_filter(
    environment: &mut Environment<'static>,
    name: &'static str,
    uncounted: &'static str,
    cost: Cost,
) {
    environment.add_filter(name, move |state: &mut State<'_, '_>, args: Rest<ValueOrKwargs>| {
        let args = args.into_values();
        let cost = cost(&args)?;
        charge(state, cost)?;
        state.apply_filter(uncounted, &args)
    });
}

fn texts(args: &[Value]) -> Result<usize, Error> {
    args.iter().map(measured).sum()
}

fn items(args: &[Value]) -> Result<usize, Error> {
    let items: usize = args.iter().take(2).map(|value| length(value).unwrap_or(0)).sum();
    if items > MOST_ITEMS { Err(too_many()) } else { Ok(items * ITEM) }
}

/// The cost of joining a list with a separator.
fn joined(args: &[Value]) -> Result<usize, Error> {
    let [list, between @ ..] = args else { return Ok(0) };
    let between = between.first().and_then(|between| between.as_str()).map_or(0, str::len);
    let count = length(list).unwrap_or(0);
    Ok(measured(list)?.saturating_add(count.saturating_mul(between)))
}

fn replaced(args: &[Value]) -> Result<usize, Error> {
    let [text, from, to, ..] = args else { return Ok(0) };
    let (Some(text), Some(from), Some(to)) = (text.as_str(), from.as_str(), to.as_str()) else {
        return texts(args);
    };
    let places = if from.is_empty() { text.len() + 1 } else { text.matches(from).count() };
    Ok(text.len().saturating_add(places.saturating_mul(to.len())))
}

fn indented(args: &[Value]) -> Result<usize, Error> {
    let [text, width, ..] = args else { return texts(args) };
    let text = text.as_str().unwrap_or_default();
    let width = width.as_usize().unwrap_or(0);
    Ok(text.len().saturating_add((text.matches('\n').count() + 1).saturating_mul(width)))
}

/// The cost of splitting a list into lists; their number or length is an argument.
fn pieces(args: &[Value]) -> Result<usize, Error> {
    let count = args.get(1).and_then(Value::as_usize).unwrap_or(0);
    if count > MOST_ITEMS { Err(too_many()) } else { Ok(items(&args[..1])? + count * ITEM) }
}

/// The cost of formatting, where fields may be as wide as the format says.
fn formatted(args: &[Value]) -> Result<usize, Error> {
    let format = args.first().and_then(|format| format.as_str()).unwrap_or_default();
    let numbers = format.split(|sign: char| !sign.is_ascii_digit()).filter(|part| !part.is_empty());
    let widths = numbers.map(|number| number.parse::<usize>().unwrap_or(usize::MAX));
    let widths = widths.fold(0, usize::saturating_add);
    if format.contains('*') || format.contains("{}}") || format.matches('{').count() > MOST_DEPTH {
        return Err(refused("it formats text by widths that are not plain".to_owned()));
    }
    Ok(texts(args)?.saturating_mul(1 + format.matches(['{', '%']).count()).saturating_add(widths))
}

/// The number of items in a list, or of bytes in a text.
fn length(value: &Value) -> Option<usize> {
    value.as_str().map(str::len).or_else(|| value.len())
}

fn concat(state: &mut State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    let bytes = measured(left)? + measured(right)?;
    charge(state, bytes)?;
    let mut text = String::with_capacity(bytes);
    write!(text, "{left}{right}").map_err(|fmt::Error| unsupported())?;
    Ok(Value::from(text))
}

fn add(state: &mut State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    match (left.as_str(), right.as_str(), left.len(), right.len()) {
        (Some(_), Some(_), ..) => return concat(state, left, right),
        (None, None, Some(left), Some(right)) if left + right > MOST_ITEMS => {
            return Err(too_many());
        }
        _ => {}
    }
    plain(state, "left + right", context! { left, right })
}

fn multiply(state: &mut State<'_, '_>, left: &Value, right: &Value) -> Result<Value, Error> {
    let repeated = |what: &Value, times: &Value| {
        let (Some(length), Some(times)) = (length(what), times.as_usize()) else { return 0 };
        length.saturating_mul(times).saturating_mul(if what.as_str().is_some() { 1 } else { ITEM })
    };
    charge(state, repeated(left, right).max(repeated(right, left)))?;
    plain(state, "left * right", context! { left, right })
}

/// Evaluates `value[start:stop:step]`.
fn slice(
    state: &mut State<'_, '_>,
    value: &Value,
    start: &Value,
    stop: &Value,
    step: &Value,
) -> Result<Value, Error> {
    let item = if value.as_str().is_some() { 1 } else { ITEM };
    charge(state, length(value).unwrap_or(0).saturating_mul(item))?;
    plain(state, "value[start:stop:step]", context! { value, start, stop, step })
}

/// Evaluates an expression with the engine's own operators.
fn plain(state: &State<'_, '_>, expression: &'static str, context: Value) -> Result<Value, Error> {
    state.env().compile_expression(expression)?.eval(context)
}

/// Returns the reason in words if the error is that the steps are used up, which its own message
/// does not explain; `None` for any other error.
pub(crate) fn reason(error: &Error) -> Option<String> {
    (error.kind() == ErrorKind::OutOfFuel).then(|| {
        format!("it takes more than {MOST_STEPS} steps, or fewer long ones, which is the limit")
    })
}

fn too_many() -> Error {
    refused(format!("it makes a value of more than {MOST_ITEMS} items"))
}

fn unsupported() -> Error {
    refused("a value cannot be printed".to_owned())
}

fn refused(why: impl fmt::Display) -> Error {
    Error::new(ErrorKind::InvalidOperation, why.to_string())
}

/// The name of the template, the only one in its environment.
const NAME: &str = "chat";

// These names contain characters that no name in a template can contain.
const CONCAT: &str = "left ~ right";
const ADD: &str = "left + right";
const MULTIPLY: &str = "left * right";
const SLICE: &str = "value[:]";
