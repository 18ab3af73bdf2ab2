//! Chat templates, rendered as transformers renders them.
//!
//! The engine is configured as transformers configures Jinja2: blocks are trimmed, `tojson` does
//! not escape for HTML, loops support `break` and `continue`, `raise_exception` and `strftime_now`
//! exist, and the markers of the model's own text (`{% generation %}`) leave only that text. This
//! module does not deal with token ids.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde, Value};
use minijinja::{Environment, Error, ErrorKind, State, context};
use serde_json::json;
use servemark_core::{JsonObject, TokenizerError};
use servemark_pyjson::{Style, Text, to_string};

use crate::chat_limits::{charge, measured};
use crate::{chat_limits, date, generation_tag, python_text};

/// A model's chat template and the special tokens that it may use.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    source: String,
    /// Why the template cannot be compiled. Reported only when it is rendered.
    broken: Option<String>,
    special_tokens: BTreeMap<String, String>,
}

/// A conversation, and the other inputs of a template.
#[derive(Clone, Copy, Debug)]
pub struct Conversation<'a> {
    /// The messages, in their order.
    pub messages: &'a [JsonObject],
    /// The tools that the model may call.
    pub tools: Option<&'a [JsonObject]>,
    /// Whether the text ends with the prefix of the model's answer.
    pub add_generation_prompt: bool,
    /// Variables of the template, such as `enable_thinking`. They may include `tools` and
    /// `documents`.
    pub variables: Option<&'a JsonObject>,
    /// The time since the Unix epoch that `strftime_now` uses; the machine's clock if absent.
    pub now: Option<Duration>,
}

impl<'a> Conversation<'a> {
    /// Returns a conversation that ends where the model's answer begins.
    pub fn new(messages: &'a [JsonObject]) -> Self {
        Self { messages, tools: None, add_generation_prompt: true, variables: None, now: None }
    }
}

impl ChatTemplate {
    /// Compiles the template `source`. The special tokens map roles, such as `bos_token`, to texts.
    /// A template that cannot be compiled is an error only when it is rendered.
    pub fn new(source: &str, special_tokens: BTreeMap<String, String>) -> Self {
        let source = generation_tag::plain(source);
        let broken = chat_limits::check(&syntax(), &source).err();
        let broken = broken.map(|error| reason(&error));
        Self { environment: environment(), source, broken, special_tokens }
    }

    /// Renders the conversation to text.
    pub fn render(&self, conversation: &Conversation<'_>) -> Result<String, TokenizerError> {
        let fail = |reason| TokenizerError::ChatTemplate { reason };
        if let Some(broken) = &self.broken {
            return Err(fail(broken.clone()));
        }
        let Conversation { messages, tools, add_generation_prompt, variables, now } = *conversation;
        if messages.is_empty() {
            return Err(fail(EMPTY.to_owned()));
        }
        let now = now.unwrap_or_else(servemark_core::unix_now);
        let none = JsonObject::new();
        let variables = variables.unwrap_or(&none);
        let tools = tools.map(|tools| json!(tools));
        let context = context! {
            messages => Serde(messages),
            tools => Serde(tools.as_ref().or_else(|| variables.get("tools"))),
            documents => Serde(variables.get("documents")),
            add_generation_prompt,
            strftime_now => Value::from_function(move |format: &str| strftime(now, format)),
            ..context! { ..Serde(variables), ..Serde(&self.special_tokens) }
        };
        chat_limits::render(&self.environment, &syntax(), &self.source, context)
            .map_err(|error| fail(reason(&error)))
    }
}

/// Why Transformers renders no conversation without a message.
const EMPTY: &str =
    "Cannot apply chat template to an empty conversation. Provide at least one message.";

fn syntax() -> SyntaxConfig {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    syntax.expect("the delimiters are the default ones")
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    chat_limits::limit(&mut environment);
    environment.set_formatter(|out, state, value| {
        charge(state, measured(value)?)?;
        python_text::write_str(out, value).map_err(|_| unsupported("a value cannot be printed"))
    });
    environment.add_filter("tojson", to_json);
    environment.add_filter("string", |state: &mut State<'_, '_>, value: &Value| {
        charge(state, measured(value)?)?;
        let mut text = String::new();
        python_text::write_str(&mut text, value).map(|()| text).map_err(|_| unsupported("no text"))
    });
    environment.add_test("iterable", is_iterable);
    environment.add_function("raise_exception", raise_exception);
    environment
}

/// Returns the error and its causes on one line.
fn reason(error: &Error) -> String {
    if let Some(limit) = chat_limits::reason(error) {
        return limit;
    }
    format!("{error:#}").lines().next().unwrap_or_default().to_owned()
}

/// The filter `tojson`: `json.dumps` with the arguments that transformers lets templates pass.
#[expect(clippy::needless_pass_by_value, reason = "the engine hands arguments by value")]
fn to_json(state: &mut State<'_, '_>, value: &Value, options: Kwargs) -> Result<String, Error> {
    let is_ascii = options.get::<Option<bool>>("ensure_ascii")? == Some(true);
    let text = if is_ascii { Text::Ascii } else { Text::Unicode };
    let separators: Option<Vec<String>> = options.get("separators")?;
    let indent: Option<usize> = options.get("indent")?;
    // Each item may be on a line of its own, indented by its depth.
    charge(state, measured(value)?.saturating_mul(2 + indent.unwrap_or_default()))?;
    let mut style = Style::new(text, indent);
    match separators.as_deref() {
        Some([item, key]) => (style.item_separator, style.key_separator) = (item, key),
        Some(_) => return Err(unsupported("the separators of tojson are two texts")),
        None => {}
    }
    let is_sorted = options.get::<Option<bool>>("sort_keys")? == Some(true);
    options.assert_all_used()?;
    let mut json = serde_json::to_value(value).map_err(|error| unsupported(error.to_string()))?;
    if is_sorted {
        json.sort_all_objects();
    }
    to_string(&json, style).map_err(|error| unsupported(error.to_string()))
}

/// The test `iterable` as in Python. The engine would also accept `none`, and templates test tools.
fn is_iterable(value: &Value) -> bool {
    !value.is_none() && value.try_iter().is_ok()
}

/// The function `raise_exception`, with which templates refuse conversations that they do not
/// support.
fn raise_exception(message: String) -> Result<Value, Error> {
    Err(unsupported(message))
}

fn strftime(now: Duration, format: &str) -> Result<String, Error> {
    date::strftime(now, format)
        .map_err(|unknown| unsupported(format!("strftime_now does not know %{unknown}")))
}

fn unsupported(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render(source: &str) -> Result<String, String> {
        let tokens = BTreeMap::from([("eos_token".to_owned(), "</s>".to_owned())]);
        let message = json!({"role": "user", "content": "Hé <b>", "n": [1, 2.5, null], "e": {}});
        let messages = [message.as_object().unwrap().clone()];
        let rendered = ChatTemplate::new(source, tokens).render(&Conversation::new(&messages));
        rendered.map_err(|error| error.to_string())
    }

    #[track_caller]
    fn renders(source: &str, expected: &str) {
        assert_eq!(render(source).as_deref(), Ok(expected));
    }

    #[track_caller]
    fn fails(source: &str, expected: &str) {
        let error = render(source).unwrap_err();
        assert!(error.starts_with("the chat template does not render: "), "{error}");
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_conversation_without_a_message_has_no_text() {
        let template = ChatTemplate::new("text", BTreeMap::new());
        let error = template.render(&Conversation::new(&[])).unwrap_err().to_string();
        assert!(error.contains("an empty conversation"), "{error}");
    }

    #[test]
    fn json_is_written_as_by_python() {
        renders(
            "{{ messages[0] | tojson }}",
            r#"{"role": "user", "content": "Hé <b>", "n": [1, 2.5, null], "e": {}}"#,
        );
        renders("{{ [1] | tojson(indent=2, ensure_ascii=False) }}", "[\n  1\n]");
        renders("{{ 'é' | tojson(ensure_ascii=True) }}", r#""\u00e9""#);
        renders(
            "{{ {'b': 1, 'a': 1e16} | tojson(separators=(',', ':'), sort_keys=True) }}",
            r#"{"a":1e+16,"b":1}"#,
        );
    }

    #[test]
    fn blocks_are_trimmed() {
        renders("  {% if true %}\n  a\n  {% endif %}\nb", "  a\nb");
    }

    #[test]
    fn strings_have_the_methods_of_python() {
        renders("{{ messages[0].content.upper().split(' ')[0] }}", "HÉ");
        renders("{% for m in messages %}{{ m.get('x', 'none') }}{% break %}{% endfor %}", "none");
    }

    #[test]
    fn what_the_model_says_is_only_text() {
        renders(
            "a\n  {% generation %}\n b {%- set x = 1 %}{% endgeneration %}\nc{{ x is defined }}",
            "a\n bcFalse",
        );
    }

    #[test]
    fn absent_tools_are_not_iterable() {
        renders("{{ tools is iterable }} {{ messages is iterable }}", "False True");
        renders("{{ 'text' is iterable }} {{ 1 is iterable }}", "True False");
    }

    #[test]
    fn loops_know_their_neighbours() {
        renders(
            "{% for n in messages[0].n %}{{ loop.previtem }}<{{ n }}>{{ loop.nextitem }} {% endfor %}",
            "<1>2.5 1<2.5>None 2.5<None> ",
        );
    }

    #[test]
    fn special_tokens_and_defaults_are_there() {
        renders("{{ eos_token }}{{ bos_token is defined }}{{ tools is none }}", "</s>FalseTrue");
        renders("{{ add_generation_prompt and strftime_now('%Y') >= '2024' }}", "True");
    }

    #[test]
    fn a_template_that_doubles_or_repeats_is_stopped() {
        let doubling = |step: &str| {
            format!(
                "{{% set ns = namespace(x='aaaa', l=[1]) %}}{{% for i in range(60) %}}{step}\
                 {{% endfor %}}{{{{ ns.x | length }}}}"
            )
        };
        let limit = "it makes a text of more than 33554432 bytes";
        fails(&doubling("{% set ns.x = ns.x ~ ns.x %}"), limit);
        fails(&doubling("{% set ns.x = ns.x + ns.x %}"), limit);
        fails(&doubling("{% set ns.x = ns.x * 64 %}"), limit);
        fails(&doubling("{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}"), limit);
        fails(&doubling("{% set ns.x = [ns.x, ns.x] | join %}"), limit);
        fails(&doubling("{% set ns.x = [ns.x, ns.x] | join(ns.x) %}"), limit);
        fails(&doubling("{% set ns.x = ns.x | replace('a', 'aa') %}"), limit);
        fails(&doubling("{% set ns.x = ns.x.replace('a', 'aa') %}"), limit);
        fails(&doubling("{% set ns.x = ns.x.join(['a', 'b', 'c']) %}"), limit);
        fails(&doubling("{% set ns.x = '%s%s' | format(ns.x, ns.x) %}"), limit);
        let items = "it makes a value of more than 1000000 items";
        fails(&doubling("{% set ns.l = ns.l + ns.l %}"), items);
        let nested = doubling("{% set ns.l = [ns.l, ns.l] %}");
        fails(&format!("{nested}{{{{ ns.l | tojson }}}}"), items);
        fails(&format!("{nested}{{{{ ns.l }}}}"), items);
        fails("{{ 'a' | indent(100000000000) }}", limit);
        fails("{{ '%999999999d' | format(1) }}", limit);
        fails("{{ '{:>999999999}'.format(1) }}", limit);
        fails("{{ [1] | tojson(indent=999999999) }}", limit);
        fails("{{ [1] | slice(999999999) }}", items);
        fails("{{ 'a' * 90000000 }}", "multiplies constants");
        fails("{{ ['a' * 4000, 'a' * 4000, 'a' * 4000] }}", "multiplies constants");
    }

    #[test]
    fn a_template_that_goes_on_and_on_is_stopped() {
        let nested = "{% for a in range(10000) %}{% for b in range(10000) %}{% set x = a %}\
                      {% endfor %}{% endfor %}";
        fails(nested, "it takes more than 1000000 steps");
        let raw = format!("{{% for a in range(100000) %}}{}{{% endfor %}}", "x".repeat(100_000));
        fails(&raw, "it takes more than 1000000 steps, or fewer long ones");
        let kept = "{% set ns = namespace(l=[]) %}{% set x = messages[0].content * 100000 %}\
                    {% for i in range(10000) %}{% set ns.l = ns.l + [x | upper] %}{% endfor %}";
        fails(kept, "it makes more than 536870912 bytes");
        fails(&"x".repeat(2 << 20), "it has more than 1048576 bytes");
        fails(&format!("{{{{ {}1{} }}}}", "[".repeat(4000), "]".repeat(4000)), "recursion");
    }

    #[test]
    fn a_template_that_nests_values_is_stopped_and_its_values_are_dropped() {
        let deep = "{% set ns = namespace(l=[1]) %}{% for i in range(90000) %}\
                    {% set ns.l = [ns.l] %}{% endfor %}";
        renders(deep, "");
        let refused = "it nests values more than 200 deep";
        fails(&format!("{deep}{{{{ ns.l }}}}"), refused);
        fails(&format!("{deep}{{{{ ns.l | tojson }}}}"), refused);
        fails(&format!("{deep}{{{{ ns.l ~ '' }}}}"), refused);
    }

    #[test]
    fn operators_work_as_before() {
        renders(
            "{{ 1 + 2 }} {{ 2 * 3 }} {{ 1.5 + 1 }} {{ 'a' + 'b' }} {{ 'a' ~ 1 ~ none }}",
            "3 6 2.5 ab a1None",
        );
        renders("{{ [1] + [2, 3] }} {{ '-' * 3 }} {{ [1] * 2 }}", "[1, 2, 3] --- [1, 1]");
        renders(
            "{{ 'abcd'[1:] }} {{ 'abcd'[::-1] }} {{ [1, 2, 3][:-1] }} {{ 'abc'[:2] }}",
            "bcd dcba [1, 2] ab",
        );
        renders(
            "{% set n = 2 %}{{ n * 3 }} {{ n + 1 }} {{ 'ab' * n }} {{ 'x' ~ n }}",
            "6 3 abab x2",
        );
        renders("{{ [3, 1] | sort | join('-') }} {{ 'a,b'.split(',') | list }}", "1-3 ['a', 'b']");
        renders("{{ messages | map(attribute='role') | join(',') }}", "user");
        renders("{{ messages | selectattr('role', 'equalto', 'user') | list | length }}", "1");
    }

    #[test]
    fn failures_say_why() {
        fails("{{ raise_exception('roles must alternate') }}", "roles must alternate");
        fails("{% if %}", "syntax error");
        fails("{{ strftime_now('%Q') }}", "strftime_now does not know %Q");
        fails("{{ 1 | tojson(separators=[',']) }}", "the separators of tojson are two texts");
        fails("{{ 1 | tojson(default=1) }}", "default");
    }
}
