//! Translates what vLLM's `FlexibleArgumentParser` adds to argparse, before argparse's rules apply:
//! flags with underscores, JSON values given key by key, and help about a keyword.

use clap::{Arg, Command, CommandFactory, FromArgMatches};
use serde_json::{Value, json};
use servemark_core::JsonObject;

use super::refusal::expected_argument;
use super::token::split_value;
use super::{HELP, ParsedCommandLine};
use crate::error::{CliError, UsageError};

/// A command line that needs only argparse's rules, not those of vLLM's `FlexibleArgumentParser`.
#[derive(Debug, Default)]
pub(crate) struct Flexible {
    /// Arguments in the form that argparse understands.
    pub(crate) args: Vec<String>,
    /// Warnings about keys and flags that were given twice.
    pub(crate) warnings: Vec<String>,
    /// Keyword of `--help=KEYWORD`, in lower case and with dashes.
    keyword: Option<String>,
}

impl Flexible {
    /// Translates the additions of vLLM's parser into plain arguments.
    pub(crate) fn take_back(args: Vec<String>) -> Result<Self, CliError> {
        let mut flexible = Self::default();
        let mut objects = Objects::default();
        let mut args = args.into_iter().map(|arg| with_dashes(&arg));
        while let Some(arg) = args.next() {
            match (arg.strip_prefix("--help="), Dotted::of(&arg)) {
                (Some(keyword), _) => flexible.request_help(keyword),
                (_, Some(dotted)) => objects.add(&dotted, || args.next())?,
                _ => flexible.args.push(arg),
            }
        }
        let twice = objects.twice(&flexible.args);
        if !twice.is_empty() {
            flexible.warnings.push(format!("Found duplicate keys {}", twice.join(", ")));
        }
        flexible.args.extend(objects.into_args());
        Ok(flexible)
    }

    /// Parses the arguments of a command whose flags are all the peer's.
    pub(crate) fn typed<T: CommandFactory + FromArgMatches>(
        &self,
        program: &str,
    ) -> Result<(T, ParsedCommandLine), UsageError> {
        let mut command = self.searched(T::command().bin_name(program));
        command.build();
        let named = |arg: &Arg| Some(format!("--{}", arg.get_long()?));
        let peer: Vec<String> = command.get_arguments().filter_map(named).collect();
        let peer: Vec<&str> = peer.iter().map(String::as_str).collect();
        let refuse = |error| UsageError::refused(program, error);
        let given = ParsedCommandLine::read(command, &peer, &[], &self.args).map_err(refuse)?;
        let (args, _) = given.typed(program)?;
        Ok((args, given))
    }

    fn request_help(&mut self, keyword: &str) {
        self.keyword = Some(keyword.to_lowercase().replace('_', "-"));
        self.args.push(HELP.to_string());
    }

    /// Limits the help of a command to the flags that `--help=KEYWORD` asks about: those that have
    /// the keyword in their name or as the title of their group. The help stays whole without a
    /// keyword, and with `all`.
    pub(crate) fn searched(&self, command: Command) -> Command {
        let Some(keyword) = self.keyword.as_deref().filter(|keyword| *keyword != "all") else {
            return command;
        };
        let is_match = |arg: &Arg| {
            let group = arg.get_help_heading().unwrap_or_default();
            arg.get_long().is_some_and(|name| name.contains(keyword))
                || group.to_lowercase() == keyword
        };
        command.mut_args(|arg| if is_match(&arg) { arg } else { arg.hide(true) })
    }
}

/// Replaces the underscores of a flag by dashes, up to its first dot or its equals sign.
fn with_dashes(arg: &str) -> String {
    if !arg.starts_with("--") {
        return arg.to_owned();
    }
    let (name, rest) = arg.split_at(arg.find(['.', '=']).unwrap_or(arg.len()));
    format!("{}{rest}", name.replace('_', "-"))
}

/// A flag of the form `--flag.key.key`, optionally with `+` at the end of its name, which adds to a
/// list, and optionally with `=value`. vLLM's parser also takes a negative number with a dot for
/// such a flag if the number is an argument of its own.
#[derive(Debug)]
struct Dotted {
    flag: String,
    keys: Vec<String>,
    value: Option<String>,
    adds: bool,
}

impl Dotted {
    fn of(arg: &str) -> Option<Self> {
        let (name, value) = split_value(arg);
        let (path, adds) = name.strip_suffix('+').map_or((name, false), |path| (path, true));
        let mut parts = path.split('.').map(str::to_owned);
        let flag = parts.next().filter(|flag| flag.starts_with('-'))?;
        let keys: Vec<String> = parts.collect();
        (!keys.is_empty()).then(|| Self { flag, keys, value: value.map(str::to_owned), adds })
    }

    /// Returns a JSON object with nothing in it but `text` as the value under the keys of the flag.
    fn object(&self, text: &str) -> Value {
        let value = if self.adds { text.split(',').collect() } else { typed(text) };
        self.keys.iter().rev().fold(value, |value, key| json!({ key: value }))
    }
}

/// Returns a text as JSON, else as a number with a unit of thousands, else as a string.
fn typed(text: &str) -> Value {
    let number = || human_int(text).map(Value::from);
    serde_json::from_str(text).ok().or_else(number).unwrap_or_else(|| text.into())
}

/// Parses a number with a unit: `1k` is 1000, `1K` is 1024, `25.6k` is 25600. The units are k, m, g
/// and t.
fn human_int(text: &str) -> Option<i64> {
    let text = text.trim();
    let unit = text.chars().next_back()?;
    let number = text.strip_suffix(unit)?;
    let power = 1 + "kmgt".find(unit.to_ascii_lowercase())? as u32;
    let is_plain = number.starts_with(|sign: char| sign.is_ascii_digit())
        && number.ends_with(|sign: char| sign.is_ascii_digit())
        && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !is_plain {
        return None;
    }
    if unit.is_ascii_uppercase() {
        return number.parse::<i64>().ok()?.checked_mul(1024_i64.checked_pow(power)?);
    }
    let product = number.parse::<f64>().ok()? * 1000_f64.powi(power.cast_signed());
    Some(product as i64)
}

/// JSON objects that dotted flags describe, one for each flag.
#[derive(Debug, Default)]
struct Objects {
    flags: Vec<(String, Value)>,
    twice: Vec<String>,
}

impl Objects {
    fn add(
        &mut self,
        dotted: &Dotted,
        next: impl FnOnce() -> Option<String>,
    ) -> Result<(), CliError> {
        let missing = || expected_argument(&dotted.flag, "one argument");
        let text = dotted.value.clone().or_else(next).ok_or_else(missing)?;
        let object = dotted.object(&text);
        match self.flags.iter_mut().find(|(flag, _)| *flag == dotted.flag) {
            None => self.flags.push((dotted.flag.clone(), object)),
            Some((flag, known)) => merge(known, object, flag, &mut self.twice),
        }
        Ok(())
    }

    /// Returns the flags and keys that were given more than once, and forgets them.
    fn twice(&mut self, args: &[String]) -> Vec<String> {
        let mut names = Vec::new();
        for flag in args.iter().filter(|arg| arg.starts_with("--")) {
            let name = flag.split('=').next().unwrap_or_default();
            if names.contains(&name) {
                self.twice.push(name.to_owned());
            }
            names.push(name);
        }
        std::mem::take(&mut self.twice)
    }

    fn into_args(self) -> impl Iterator<Item = String> {
        self.flags.into_iter().flat_map(|(flag, object)| [flag, object.to_string()])
    }
}

/// Merges a new value into a known one: objects are merged key by key, lists are appended, and any
/// other value replaces the known one. The paths of replaced values are added to `twice`.
fn merge(known: &mut Value, new: Value, path: &str, twice: &mut Vec<String>) {
    match (known, new) {
        (Value::Object(known), Value::Object(new)) => {
            for (key, value) in new {
                merge_key(known, key, value, path, twice);
            }
        }
        (Value::Array(known), Value::Array(new)) => known.extend(new),
        (known, new) => {
            twice.push(path.to_owned());
            *known = new;
        }
    }
}

fn merge_key(
    object: &mut JsonObject,
    key: String,
    value: Value,
    path: &str,
    twice: &mut Vec<String>,
) {
    match object.get_mut(&key) {
        Some(known) => merge(known, value, &format!("{path}.{key}"), twice),
        None => {
            object.insert(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], expected: &[&str]) {
        let flexible = Flexible::take_back(args.iter().copied().map(str::to_owned).collect());
        assert_eq!(flexible.unwrap().args, expected);
    }

    #[track_caller]
    fn warns(args: &[&str], warning: &str) {
        let flexible = Flexible::take_back(args.iter().copied().map(str::to_owned).collect());
        assert_eq!(flexible.unwrap().warnings, [warning]);
    }

    #[test]
    fn underscores_of_flags_are_dashes() {
        check(&["--a_b", "c_d", "--a_b=c_d", "-x_y"], &["--a-b", "c_d", "--a-b=c_d", "-x_y"]);
    }

    #[test]
    fn keys_become_one_object() {
        let args = ["--a_b.c_d.e", "1", "--other", "x", "--a-b.f=text", "--a-b.c_d.g", "[1, 2]"];
        let object = r#"{"c_d":{"e":1,"g":[1,2]},"f":"text"}"#;
        check(&args, &["--other", "x", "--a-b", object]);
    }

    #[test]
    fn a_plus_adds_texts_to_a_list() {
        check(&["--x.list+", "1,2", "--x.list+=c"], &["--x", r#"{"list":["1","2","c"]}"#]);
    }

    #[test]
    fn numbers_may_have_a_unit() {
        let args = ["--x.a=1k", "--x.b=1K", "--x.c=25.6k", "--x.d=2.5K", "--x.e=2M", "--x.f=1e3"];
        let object = r#"{"a":1000,"b":1024,"c":25600,"d":"2.5K","e":2097152,"f":1000.0}"#;
        check(&args, &["--x", object]);
    }

    #[test]
    fn a_dot_in_a_value_is_no_key() {
        let args = ["--x=1.5", "--y", "0.5", "--z=-0.5"];
        check(&args, &args);
    }

    #[test]
    fn a_negative_number_of_its_own_is_a_key_as_to_vllm() {
        check(&["--x", "-0.5", "--y", "--z"], &["--x", "--z", "-0", r#"{"5":"--y"}"#]);
        check(&["--x", "-5"], &["--x", "-5"]);
    }

    #[test]
    fn a_key_needs_a_value() {
        let error = Flexible::take_back(vec!["--x.a".to_owned()]).unwrap_err();
        assert_eq!(error.to_string(), "argument --x: expected one argument");
    }

    #[test]
    fn what_is_given_twice_is_told() {
        warns(&["--x.a=1", "--x.a=2"], "Found duplicate keys --x.a");
        warns(&["--n", "1", "--n=2"], "Found duplicate keys --n");
    }

    #[test]
    fn help_about_a_word_hides_the_rest() {
        let flexible = Flexible::take_back(vec!["--help=Max_Con".to_owned()]).unwrap();
        assert_eq!(flexible.args, ["--help"]);
        let args = ["--max-concurrency", "--seed"].map(|name| Arg::new(name).long(&name[2..]));
        let command = flexible.searched(Command::new("x").args(args));
        let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
        assert_eq!(visible.filter_map(Arg::get_long).collect::<Vec<_>>(), ["max-concurrency"]);
    }
}
