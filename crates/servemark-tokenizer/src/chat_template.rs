//! Chat templates, rendered as transformers renders them.
//!
//! The engine is set up as transformers sets up Jinja2: blocks are trimmed, `tojson` does not
//! escape for HTML, and `raise_exception` and `strftime_now` are there. It knows nothing of
//! tokens.

use std::borrow::Cow;
use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde, Value};
use minijinja::{Environment, Error, ErrorKind, context};
use minijinja_contrib::pycompat;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use servemark_core::{JsonObject, TokenizerError};
use servemark_pyjson::{Text, to_string};

use crate::date;
use crate::files::Config;

/// A model's chat template and the special tokens it may name.
#[derive(Debug)]
pub(crate) struct ChatTemplate {
    environment: Environment<'static>,
    /// Why the template cannot be used. A run that never renders it does not care.
    broken: Option<String>,
    special_tokens: BTreeMap<&'static str, String>,
}

impl ChatTemplate {
    pub(crate) fn new(source: String, config: &Config) -> Self {
        let mut environment = environment();
        let broken = environment.add_template_owned(NAME, source).err();
        let token = |role: &'static str| Some((role, config.token(role)?.to_owned()));
        Self {
            environment,
            broken: broken.map(|error| reason(&error)),
            special_tokens: SPECIAL_TOKENS.into_iter().filter_map(token).collect(),
        }
    }

    /// The messages as one text that ends where the model's answer begins.
    pub(crate) fn render(&self, messages: &[JsonObject]) -> Result<String, TokenizerError> {
        let fail = |reason| TokenizerError::ChatTemplate { reason };
        if let Some(broken) = &self.broken {
            return Err(fail(broken.clone()));
        }
        let context = context! {
            messages => Serde(messages),
            tools => (),
            documents => (),
            add_generation_prompt => true,
            ..Serde(&self.special_tokens)
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
    environment.add_filter("tojson", to_json);
    environment.add_test("iterable", is_iterable);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    environment
}

/// The error and what it comes from, on one line.
fn reason(error: &Error) -> String {
    format!("{error:#}").lines().next().unwrap_or_default().to_owned()
}

/// `json.dumps` with the arguments that templates give it; any other is an error.
#[expect(clippy::needless_pass_by_value, reason = "the engine hands arguments by value")]
fn to_json(value: &Value, options: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    if options.get::<Option<bool>>("ensure_ascii")? == Some(true) {
        return Err(unsupported("tojson escapes nothing; it was asked to with ensure_ascii"));
    }
    options.assert_all_used()?;
    match indent {
        Some(width) => indented(value, width),
        None => to_string(value, Text::Unicode).map_err(|error| unsupported(error.to_string())),
    }
}

fn indented(value: &Value, width: usize) -> Result<String, Error> {
    let mut json = Vec::new();
    let indent = " ".repeat(width);
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    value
        .serialize(&mut Serializer::with_formatter(&mut json, formatter))
        .map_err(|error| unsupported(error.to_string()))?;
    String::from_utf8(json).map_err(|error| unsupported(error.to_string()))
}

/// As in Python: the engine would let one go through `none`, too, and templates ask this of tools.
fn is_iterable(value: &Value) -> bool {
    !value.is_none() && value.try_iter().is_ok()
}

/// Templates refuse conversations that their model was not made for.
fn raise_exception(message: String) -> Result<Value, Error> {
    Err(unsupported(message))
}

fn strftime_now(format: &str) -> Result<String, Error> {
    date::strftime(servemark_core::unix_now(), format)
        .map_err(|unknown| unsupported(format!("strftime_now does not know %{unknown}")))
}

fn unsupported(message: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

/// The only template of its environment.
const NAME: &str = "chat";

/// The roles whose tokens a template may name.
const SPECIAL_TOKENS: [&str; 7] =
    ["bos_token", "cls_token", "eos_token", "mask_token", "pad_token", "sep_token", "unk_token"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn render(source: &str) -> Result<String, String> {
        let config = serde_json::from_value(json!({"eos_token": {"content": "</s>"}})).unwrap();
        let message = json!({"role": "user", "content": "Hé <b>", "n": [1, 2.5, null], "e": {}});
        let messages = [message.as_object().unwrap().clone()];
        let rendered = ChatTemplate::new(source.to_owned(), &config).render(&messages);
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
        fails("{{ 1 | tojson(separators=1) }}", "separators");
        fails("{{ 1 | tojson(ensure_ascii=True) }}", "ensure_ascii");
    }
}
