//! Chat templates, rendered as transformers renders them.
//!
//! The engine is set up as transformers sets up Jinja2: blocks are trimmed, `tojson` does not
//! escape for HTML, loops can be left, `raise_exception` and `strftime_now` are there, and what is
//! marked as the model's own (`{% generation %}`) is only text. It knows nothing of token ids.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde, Value};
use minijinja::{Environment, Error, ErrorKind, context};
use minijinja_contrib::pycompat;
use serde_json::json;
use servemark_core::{JsonObject, TokenizerError};
use servemark_pyjson::{Style, Text, to_string};

use crate::{date, generation_tag, python_text};

/// A model's chat template and the special tokens it may name.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    /// Why the template cannot be used. A run that never renders it does not care.
    broken: Option<String>,
    special_tokens: BTreeMap<String, String>,
}

/// A conversation, and what its template may want to know besides.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Conversation<'a> {
    /// The messages, in their order.
    pub messages: &'a [JsonObject],
    /// The tools that the model may call.
    pub tools: Option<&'a [JsonObject]>,
    /// Whether the text ends where the model's answer begins.
    pub add_generation_prompt: bool,
    /// The template's own switches, such as `enable_thinking`. Tools and documents may be among
    /// them.
    pub variables: Option<&'a JsonObject>,
    /// What `strftime_now` takes for now, since the Unix epoch; the machine's clock where it is
    /// absent.
    pub now: Option<Duration>,
}

impl<'a> Conversation<'a> {
    /// A conversation that waits for the model's answer.
    pub fn new(messages: &'a [JsonObject]) -> Self {
        Self { messages, tools: None, add_generation_prompt: true, variables: None, now: None }
    }
}

impl ChatTemplate {
    /// The template `source`, with the texts of special tokens by role, such as `bos_token`.
    pub fn new(source: &str, special_tokens: BTreeMap<String, String>) -> Self {
        let mut environment = environment();
        let broken = environment.add_template_owned(NAME, generation_tag::plain(source)).err();
        Self { environment, broken: broken.map(|error| reason(&error)), special_tokens }
    }

    /// The conversation as one text.
    pub fn render(&self, conversation: &Conversation<'_>) -> Result<String, TokenizerError> {
        let fail = |reason| TokenizerError::ChatTemplate { reason };
        if let Some(broken) = &self.broken {
            return Err(fail(broken.clone()));
        }
        let Conversation { messages, tools, add_generation_prompt, variables, now } = *conversation;
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
        let template = self.environment.get_template(NAME);
        template.and_then(|template| template.render(context)).map_err(|error| fail(reason(&error)))
    }
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the default ones"));
    environment.set_unknown_method_callback(pycompat::unknown_method_callback);
    environment.set_formatter(|out, _, value| {
        python_text::write_str(out, value).map_err(|_| unsupported("a value cannot be printed"))
    });
    environment.add_filter("tojson", to_json);
    environment.add_filter("string", |value: &Value| {
        let mut text = String::new();
        python_text::write_str(&mut text, value).map(|()| text).map_err(|_| unsupported("no text"))
    });
    environment.add_test("iterable", is_iterable);
    environment.add_function("raise_exception", raise_exception);
    environment
}

/// The error and what it comes from, on one line.
fn reason(error: &Error) -> String {
    format!("{error:#}").lines().next().unwrap_or_default().to_owned()
}

/// `json.dumps` with the arguments that transformers lets templates give it.
#[expect(clippy::needless_pass_by_value, reason = "the engine hands arguments by value")]
fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let is_ascii = options.get::<Option<bool>>("ensure_ascii")? == Some(true);
    let text = if is_ascii { Text::Ascii } else { Text::Unicode };
    let separators: Option<Vec<String>> = options.get("separators")?;
    let mut style = Style::new(text, options.get("indent")?);
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

/// As in Python: the engine would let one go through `none`, too, and templates ask this of tools.
fn is_iterable(value: &Value) -> bool {
    !value.is_none() && value.try_iter().is_ok()
}

/// Templates refuse conversations that their model was not made for.
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

/// The only template of its environment.
const NAME: &str = "chat";

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
    fn failures_say_why() {
        fails("{{ raise_exception('roles must alternate') }}", "roles must alternate");
        fails("{% if %}", "syntax error");
        fails("{{ strftime_now('%Q') }}", "strftime_now does not know %Q");
        fails("{{ 1 | tojson(separators=[',']) }}", "the separators of tojson are two texts");
        fails("{{ 1 | tojson(default=1) }}", "default");
    }
}
