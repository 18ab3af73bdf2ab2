//! Compares a dialect's flags with the list that the peer's own parser prints.

use std::ffi::OsString;
use std::fs;

use clap::builder::PossibleValue;
use clap::{Arg, ArgMatches, Command, CommandFactory};
use serde_json::{Value, json};
use servemark_metrics::Slo;

use crate::argparse::{Arity, Effects, Flag, Grammar, Group, ParsedCommandLine, Reading};
use crate::environment::Environment;
use crate::invocation::{Invocation, bench_serving};

/// A dialect's flags and the recording of the peer's.
pub(crate) struct Mirror {
    pub(crate) command: Command,
    pub(crate) peer: Vec<&'static str>,
    pub(crate) exclusive: &'static [&'static [Flag]],
    pub(crate) flags: Vec<Value>,
}

/// Checks that a command has exactly the flags of the recording, with their defaults, and `--json`.
#[track_caller]
pub(crate) fn mirrors<T: CommandFactory>(flags: Vec<Value>) {
    let mut command = T::command();
    command.build();
    let names = flags.iter().map(|flag| text(&flag["name"]));
    let peer = std::iter::once("--help".to_owned()).chain(names);
    let peer = peer.map(|name| -> &'static str { name.leak() }).collect();
    let mirror = Mirror { command, peer, exclusive: &[], flags };
    mirror.check_names();
    mirror.check_choices();
    mirror.check_arities();
    mirror.check_defaults(Mirror::value, as_recorded);
    let own: Vec<String> = mirror.grammar().own.into_iter().map(|flag| flag.name).collect();
    assert_eq!(own, ["--json"], "there are other flags that the peer has not");
}

impl Mirror {
    pub(crate) fn grammar(&self) -> Grammar {
        Grammar::of(&self.command, &self.peer, self.exclusive)
    }

    pub(crate) fn read(&self, args: &[String]) -> ParsedCommandLine {
        ParsedCommandLine::read(self.command.clone(), &self.peer, self.exclusive, args).unwrap()
    }

    /// Returns the values of a command line.
    pub(crate) fn matches(&self, given: &ParsedCommandLine) -> ArgMatches {
        let args = ["peer".to_owned()].into_iter().chain(given.reading.canonical());
        self.command.clone().try_get_matches_from(args).unwrap()
    }

    pub(crate) fn arg(&self, flag: &str) -> &Arg {
        let long = flag.strip_prefix("--");
        self.command.get_arguments().find(|arg| arg.get_long() == long).expect(flag)
    }

    /// Checks that every flag of the peer exists, in its order, with its aliases behind it.
    pub(crate) fn check_names(&self) {
        let with_aliases = |flag: &Value| -> Vec<String> {
            let aliases = flag["aliases"].as_array().unwrap();
            let all = [&flag["name"]].into_iter().chain(aliases).map(text);
            all.filter(|name| name.starts_with("--")).collect()
        };
        let names: Vec<String> = self.flags.iter().flat_map(with_aliases).collect();
        assert_eq!(self.peer[0], "--help");
        assert_eq!(self.peer[1..], names);
        assert_eq!(self.grammar().peer.len(), self.peer.len());
    }

    /// Checks that every flag of the command is declared once, and nothing else is declared.
    pub(crate) fn check_declared(&self, groups: &[Group]) {
        let all = groups.iter().flat_map(|group| group.flags);
        let mut declared: Vec<&str> = all.map(|declared| declared.flag.long()).collect();
        declared.sort_unstable();
        let arguments = self.command.get_arguments().filter_map(Arg::get_long);
        let mut longs: Vec<&str> = arguments.filter(|long| *long != "help").collect();
        longs.sort_unstable();
        assert_eq!(declared, longs);
    }

    /// Checks that every declared flag without effect beside `base` is named in a warning or an
    /// error. `read` returns the warnings of a command line, or its error. At least `at_least`
    /// flags are checked with a value that the command accepts.
    #[track_caller]
    pub(crate) fn check_ineffective(
        &self,
        groups: &[Group],
        base: &str,
        at_least: usize,
        read: impl Fn(&[String]) -> Result<Vec<String>, String>,
    ) {
        let base: Vec<String> = base.split(' ').map(str::to_owned).collect();
        let given = self.read(&base);
        let effects = Effects::of(&given);
        let (mut named, mut silent) = (0, Vec::new());
        for group in groups {
            for declared in group.flags.iter().filter(|one| group.is_ineffective(one, &effects)) {
                let flag = declared.flag.name();
                let is_named = |text: &str| {
                    text.contains(flag)
                        && (text.contains("no effect") || text.contains("only applies to"))
                };
                let lines = self.uses(flag).into_iter().map(|words| [&base[..], &words].concat());
                let outcome = lines.map(|line| read(&line)).find_map(|read| match read {
                    Ok(warnings) => Some(warnings.iter().any(|warning| is_named(warning))),
                    Err(error) => is_named(&error).then_some(true),
                });
                named += usize::from(outcome == Some(true));
                silent.extend((outcome == Some(false)).then_some(flag));
            }
        }
        assert!(silent.is_empty(), "without effect, and not named: {silent:?}");
        assert!(named >= at_least, "only {named} flags were given with a value");
    }

    /// Checks that every declared flag changes what each command line of `bases` becomes, or is
    /// named in a warning or an error. `fulfilled` are flags that ask for what these lines do
    /// anyway. `read` returns what a command line becomes, as text, and its warnings, or its error.
    /// At least `at_least` flags are accepted with a value other than their default.
    #[track_caller]
    pub(crate) fn check_effects(
        &self,
        groups: &[Group],
        bases: &[&str],
        fulfilled: &[&str],
        at_least: usize,
        read: impl Fn(&[String]) -> Result<(String, Vec<String>), String>,
    ) {
        for base in bases {
            let base: Vec<String> = base.split(' ').map(str::to_owned).collect();
            let (unchanged, _) = read(&base).unwrap();
            let (mut accepted, mut silent) = (0, Vec::new());
            for declared in groups.iter().flat_map(|group| group.flags) {
                let flag = declared.flag.name();
                if base.iter().any(|word| word == flag) || fulfilled.contains(&flag) {
                    continue;
                }
                let lines = self.uses(flag).into_iter().map(|words| [&base[..], &words].concat());
                let mut is_accepted = false;
                let is_heeded =
                    lines.filter_map(|line| read(&line).ok()).any(|(read, warnings)| {
                        is_accepted = true;
                        read != unchanged || warnings.iter().any(|warning| warning.contains(flag))
                    });
                accepted += usize::from(is_accepted);
                silent.extend((is_accepted && !is_heeded).then_some(flag));
            }
            assert!(silent.is_empty(), "{base:?}: accepted and ignored: {silent:?}");
            assert!(accepted >= at_least, "{base:?}: only {accepted} flags were accepted");
        }
    }

    /// Returns ways to give a flag with a value other than its default.
    fn uses(&self, flag: &str) -> Vec<Vec<String>> {
        const VALUES: [&str; 9] =
            ["3", "0.25", "x", "1,2", "0.9", "a=1", "{\"a\": 1}", "http://127.0.0.1:9", "1:2"];
        let arg = self.arg(flag);
        if !arg.get_action().takes_values() {
            return vec![vec![flag.to_owned()]];
        }
        let is_default = |value: &str| arg.get_default_values().iter().any(|known| known == value);
        let choices = arg.get_possible_values();
        let choices: Vec<&str> = choices.iter().map(PossibleValue::get_name).collect();
        let values = if choices.is_empty() { VALUES.to_vec() } else { choices };
        let words = |value: &str| vec![flag.to_owned(), value.to_owned()];
        values.into_iter().filter(|value| !is_default(value)).map(words).collect()
    }

    /// Checks the letters that stand for flags after a single dash.
    pub(crate) fn check_letters(&self) {
        for flag in &self.flags {
            let aliases = flag["aliases"].as_array().unwrap().iter().map(text);
            let letters: Vec<String> = aliases.filter(|name| !name.starts_with("--")).collect();
            let ours =
                self.arg(&text(&flag["name"])).get_short().map(|letter| format!("-{letter}"));
            assert_eq!(ours.into_iter().collect::<Vec<_>>(), letters, "{}", flag["name"]);
        }
    }

    /// Checks that all defaults are the peer's. `value` returns the default of a flag, `expected`
    /// that of the recording.
    pub(crate) fn check_defaults(
        &self,
        value: impl Fn(&Self, &ArgMatches, &Value) -> Value,
        expected: impl Fn(&Value) -> Value,
    ) {
        let matches = self.matches(&self.read(&[]));
        for flag in &self.flags {
            assert_eq!(value(self, &matches, flag), expected(flag), "{}", flag["name"]);
        }
    }

    /// Checks that choices, numbers of values and names are the peer's, and that Servemark's own
    /// flags do not change them.
    pub(crate) fn check_grammar(&self, at_least: usize) {
        self.check_choices();
        self.check_arities();
        self.check_own_names();
        self.check_abbreviations(at_least);
    }

    pub(crate) fn check_choices(&self) {
        for flag in self.flags.iter().filter(|flag| flag["kind"] == "store") {
            let choices = self.arg(&text(&flag["name"])).get_possible_values();
            let visible = choices.iter().filter(|choice| !choice.is_hide_set());
            let choices: Vec<&str> = visible.map(PossibleValue::get_name).collect();
            let expected = if choices.is_empty() { Value::Null } else { json!(choices) };
            assert_eq!(expected, flag["choices"], "{}", flag["name"]);
        }
    }

    pub(crate) fn check_arities(&self) {
        let grammar = self.grammar();
        for flag in &self.flags {
            let expected = match (flag["kind"].as_str(), flag["nargs"].as_str()) {
                (Some("store_true" | "store_false" | "boolean_optional"), _) => Arity::Switch,
                (_, Some("+")) => Arity::Some,
                (_, Some("*")) => Arity::Any,
                (_, Some("?")) => Arity::Optional,
                _ => Arity::One,
            };
            let ours = grammar.peer.iter().find(|ours| ours.name == flag["name"]).unwrap();
            assert_eq!(ours.arity, expected, "{}", flag["name"]);
        }
    }

    pub(crate) fn check_own_names(&self) {
        let own = self.grammar().own;
        assert!(own.iter().all(|flag| !self.peer.contains(&flag.name.as_str())));
        assert!(own.iter().any(|flag| flag.name == "--simulate"), "the list of ours is not empty");
        // A name that begins several of the peer's flags is ambiguous to the peer and refused.
        for flag in own {
            let abbreviated = self.peer.iter().filter(|peer| peer.starts_with(&flag.name));
            let abbreviated: Vec<_> = abbreviated.collect();
            assert_ne!(abbreviated.len(), 1, "{}: {abbreviated:?}", flag.name);
        }
    }

    /// Checks that every prefix of the peer's flags resolves as it does without Servemark's flags.
    pub(crate) fn check_abbreviations(&self, at_least: usize) {
        let ours = self.grammar();
        let mut peers = ours.clone();
        peers.own.clear();
        let mut known = 0;
        for flag in &self.peer {
            for prefix in (3..=flag.len()).map(|end| &flag[..end]) {
                let expected = resolved(&peers, prefix);
                // A prefix that is ambiguous to the peer is refused there.
                let is_ours = ours.own.iter().any(|flag| flag.name == prefix);
                if is_ours && expected.starts_with("ambiguous") {
                    continue;
                }
                assert_eq!(resolved(&ours, prefix), expected, "{prefix}");
                known += usize::from(expected.starts_with("--"));
            }
        }
        assert!(known > at_least, "only {known} prefixes are unambiguous");
    }

    /// Returns the value of a flag in the form of the recording. Panics if its type is not the
    /// peer's.
    pub(crate) fn value(&self, matches: &ArgMatches, recorded: &Value) -> Value {
        let id = self.arg(&text(&recorded["name"])).get_id().as_str();
        let is_list = !recorded["nargs"].is_null();
        match recorded["type"].as_str() {
            None if recorded["kind"] == "store_true" => json!(matches.get_flag(id)),
            None if recorded["kind"] == "store_false" => json!(!matches.get_flag(id)),
            Some("int") => listed(matches.get_many::<i64>(id), is_list, |number| json!(number)),
            Some("float" | "_finite_positive_float") => {
                listed(matches.get_many::<f64>(id), is_list, |number| float(*number))
            }
            Some("_goodput_slo") => {
                let pair = |slo: &Slo| json!([slo.metric.name(), slo.limit_ms]);
                listed(matches.get_many::<Slo>(id), is_list, pair)
            }
            Some("loads") => listed(matches.get_many::<Value>(id), is_list, Value::clone),
            _ => listed(matches.get_many::<String>(id), is_list, |text| json!(text)),
        }
    }
}

/// Returns a flag's default as the recording writes it.
pub(crate) fn as_recorded(flag: &Value) -> Value {
    flag["default"].clone()
}

/// A command line that the peer's parser was given, and the recorded outcome.
pub(crate) struct RecordedLine {
    pub(crate) argv: Vec<String>,
    pub(crate) recorded: Value,
}

impl RecordedLine {
    pub(crate) fn all(peer: &str, name: &str) -> Vec<Self> {
        let line = |recorded: &Value| {
            let argv = serde_json::from_value(recorded["argv"].clone()).unwrap();
            Self { argv, recorded: recorded.clone() }
        };
        recorded(peer, name).as_array().unwrap().iter().map(line).collect()
    }

    pub(crate) fn args(&self) -> impl Iterator<Item = OsString> {
        self.argv.iter().map(Into::into)
    }

    pub(crate) fn command_line(&self) -> String {
        self.argv.join(" ")
    }

    pub(crate) fn is_read(&self) -> bool {
        self.recorded["exit"] == 0
    }
}

/// Parses a line of `bench-serving`. Returns what it asks for, or the error.
pub(crate) fn sglang(line: &str) -> Result<Invocation, String> {
    let args = line.split(' ').map(Into::into);
    let read = bench_serving("bench-serving", args, &Environment::default());
    read.map_err(|error| error.to_string())
}

/// Reads the recording `name` from the folder of a peer in `fixtures`.
pub(crate) fn recorded(peer: &str, name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures");
    let text = fs::read_to_string(format!("{folder}/{peer}/{name}")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Returns the flag that a prefix stands for, `unrecognized` if there is none, or the error.
fn resolved(grammar: &Grammar, prefix: &str) -> String {
    let mut reading = Reading::default();
    match grammar.read(&[format!("{prefix}=1")], &mut reading) {
        Ok(()) if reading.given.is_empty() => "unrecognized".to_owned(),
        Ok(()) => reading.given[0].flag.clone(),
        Err(error) => error.to_string(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn listed<'a, T: 'a>(
    values: Option<impl Iterator<Item = &'a T>>,
    is_list: bool,
    show: impl Fn(&'a T) -> Value,
) -> Value {
    let values = values.map(|values| values.map(show).collect::<Vec<_>>());
    match values {
        None => Value::Null,
        Some(values) if is_list => values.into(),
        Some(values) => values.into_iter().next_back().unwrap_or_default(),
    }
}

/// Returns a float as JSON. As in the recordings, numbers that are not finite become text.
fn float(number: f64) -> Value {
    if number.is_finite() { json!(number) } else { json!(number.to_string()) }
}
