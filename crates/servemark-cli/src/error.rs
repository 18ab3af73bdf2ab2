//! Errors of command lines.

use std::fmt;

use servemark_core::printable;
use servemark_plan::PlanError;
use thiserror::Error;

use crate::nearest::nearest;

/// An error of a command line.
///
/// If Python's argparse or the peer has a message for an error, the message is that one, word for
/// word.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CliError {
    /// The argument is a prefix of several flags.
    #[error("ambiguous option: {given} could match {matches}")]
    Ambiguous {
        /// The argument.
        given: String,
        /// The flags, in the peer's order.
        matches: String,
    },
    /// A config file has unexpected contents.
    #[error("{place}: {why}")]
    Config {
        /// The file and the line.
        place: String,
        /// The fault, and what is expected instead.
        why: String,
    },
    /// Two flags exclude each other.
    #[error("argument {flag}: not allowed with argument {other}")]
    Conflict {
        /// The later of the two flags.
        flag: String,
        /// The earlier of the two flags.
        other: String,
    },
    /// A flag that takes values has none.
    #[error("argument {flag}: expected {expected}")]
    ExpectedArgument {
        /// The flag.
        flag: String,
        /// Number of expected values, in argparse's words: `one argument`.
        expected: &'static str,
    },
    /// The command line names no command.
    #[error("a command is missing; see servemark --help")]
    NoCommand,
    /// A flag has no effect here.
    #[error("{flag} {why}")]
    NoEffect {
        /// The flag.
        flag: &'static str,
        /// When it has no effect, or what it only applies to.
        why: String,
    },
    /// The command is `python` without a module.
    #[error("after python, -m and a module are expected, such as -m sglang.bench_serving")]
    NoModule,
    /// The steady-state wrapper lacks its required ratio.
    #[error("the following arguments are required: --steady-state-concurrency-ratio")]
    NoSteadyState,
    /// Required flags are missing.
    #[error("the following arguments are required: {flags}")]
    Required {
        /// Names of the missing flags, separated by commas.
        flags: String,
    },
    /// The run of a run log cannot be repeated.
    #[error("the run of {run_log} cannot be run again: {why}")]
    NotAgain {
        /// The run log.
        run_log: String,
        /// The reason, and what to do instead.
        why: String,
    },
    /// A feature of the peer is not implemented.
    #[error("{what} is not built yet")]
    NotBuilt {
        /// A flag with its value, or a program's name.
        what: String,
    },
    /// An argument is not UTF-8.
    #[error("an argument is not UTF-8: {text}")]
    NotUtf8 {
        /// The argument, with replacement characters for invalid bytes.
        text: String,
    },
    /// The parts of the plan do not fit together.
    #[error(transparent)]
    Plan(PlanError),
    /// The file of a run has faults. The message has a line for each.
    #[error("{0}")]
    FaultyFile(String),
    /// The peer refuses the command line; the message is the peer's.
    #[error("{0}")]
    Peer(String),
    /// A flag has an invalid value.
    #[error("{flag} {why}")]
    Setting {
        /// The flag.
        flag: &'static str,
        /// The fault, and what is expected instead.
        why: String,
    },
    /// A shell or a shell script was given in place of a command.
    #[error(
        "{given} is a shell or a script for one, and servemark reads one command line: put servemark \
         in front of the command inside the script"
    )]
    ShellScript {
        /// The first argument.
        given: String,
    },
    /// Two flags break a rule of the peer.
    #[error("{0}")]
    Together(&'static str),
    /// The command starts a server and does not measure one.
    #[error(
        "{given} starts a server, and servemark measures one that runs; start it without servemark \
         in front, then measure it with servemark {measure}"
    )]
    StartsServer {
        /// The command, up to the words by which it was recognised.
        given: String,
        /// The command that measures such a server.
        measure: &'static str,
    },
    /// Servemark lacks this command of a peer.
    #[error("servemark has no {given}; run it without servemark in front")]
    PeersAlone {
        /// The command.
        given: String,
    },
    /// Another command of Servemark's reads the flags of this client.
    #[error("servemark has no {given}; most of its flags are known to {instead}")]
    OtherClient {
        /// The command.
        given: String,
        /// The command that reads such flags.
        instead: &'static str,
    },
    /// A launcher was given, which starts another command in another environment or on another
    /// machine.
    #[error(
        "{given} starts another command: put servemark behind {given} and its options, directly in \
         front of the benchmark's own command"
    )]
    Launcher {
        /// The first argument.
        given: String,
    },
    /// An assignment to an environment variable was given in place of a command.
    #[error("{variable}=... sets a variable: put it in front of servemark")]
    Assignment {
        /// Name of the variable.
        variable: String,
    },
    /// Neither Servemark nor a peer has this command.
    #[error("{given} is no command{}", DidYouMean(.nearest.as_deref()))]
    UnknownCommand {
        /// The command.
        given: String,
        /// The known command with the most similar name.
        nearest: Option<String>,
    },
    /// A Python program was given that is not a peer's client.
    #[error(
        "{given} is no client that servemark knows; it knows bench_serving.py, \
         bench_offline_throughput.py and bench_one_batch_server.py of SGLang, and \
         benchmark_serving.py, benchmark_throughput.py and benchmark_latency.py of vLLM"
    )]
    UnknownScript {
        /// The file's name.
        given: String,
    },
    /// Some arguments belong to no flag.
    #[error("unrecognized arguments: {given}{hint}")]
    Unrecognized {
        /// The arguments.
        given: String,
        /// A question that suggests the most similar flags; empty if there are none.
        hint: String,
    },
    /// A value was given for a flag that takes none.
    #[error("argument {flag}: ignored explicit argument {value}")]
    UnwantedArgument {
        /// The flag.
        flag: String,
        /// The value, as Python shows it.
        value: String,
    },
    /// A value has the wrong type or is not one of the choices.
    #[error("argument {flag}: {why}")]
    Value {
        /// The flag.
        flag: String,
        /// The fault in the value.
        why: String,
    },
}

impl CliError {
    pub(crate) fn setting(flag: impl Into<&'static str>, why: impl fmt::Display) -> Self {
        Self::Setting { flag: flag.into(), why: why.to_string() }
    }

    /// Refuses a flag for a reason that is a sentence of its own.
    pub(crate) fn about(flag: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self::Peer(format!("{flag}: {why}"))
    }

    /// Refuses a flag that has no effect; `when` says in which case.
    pub fn no_effect(flag: impl Into<&'static str>, when: impl fmt::Display) -> Self {
        Self::NoEffect { flag: flag.into(), why: format!("has no effect {when}") }
    }

    /// Refuses a flag that has no effect beyond `to`.
    pub(crate) fn only_applies(flag: impl Into<&'static str>, to: impl fmt::Display) -> Self {
        Self::NoEffect { flag: flag.into(), why: format!("only applies to {to}") }
    }

    /// Returns the error for an unknown command, with the most similar known one.
    pub(crate) fn unknown_command<'a>(
        given: impl Into<String>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let given = given.into();
        let nearest = nearest(&given, known).map(str::to_owned);
        Self::UnknownCommand { given, nearest }
    }

    /// Refuses to share a command between machines.
    pub(crate) fn not_shared() -> Self {
        let when = "on this command, which several machines cannot share";
        Self::no_effect("--coordinator", when)
    }

    pub(crate) fn not_built(what: impl Into<String>) -> Self {
        Self::NotBuilt { what: what.into() }
    }

    /// Returns the first broken rule as an error. Each rule comes with whether it is broken.
    pub(crate) fn first_broken(
        rules: impl IntoIterator<Item = (bool, &'static str)>,
    ) -> Result<(), Self> {
        let broken = rules.into_iter().find(|(is_broken, _)| *is_broken);
        broken.map_or(Ok(()), |(_, rule)| Err(Self::Together(rule)))
    }
}

/// End of the message about an unknown command: the most similar known one, or where all are
/// listed.
struct DidYouMean<'a>(Option<&'a str>);

impl fmt::Display for DidYouMean<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(nearest) => write!(formatter, "; did you mean {nearest}?"),
            None => formatter.write_str("; see servemark --help"),
        }
    }
}

/// Text to print instead of running: the requested help, or the error.
///
/// Its `Display` is the whole text. Help belongs to standard output, the rest to standard error.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{text}")]
pub struct UsageError {
    text: String,
    cause: Option<CliError>,
    is_help: bool,
}

impl UsageError {
    pub(crate) fn help(text: impl Into<String>) -> Self {
        Self { text: text.into(), cause: None, is_help: true }
    }

    pub(crate) fn refused(program: &str, cause: CliError) -> Self {
        let message = cause.to_string();
        let message = printable(&message);
        let text = format!(
            "usage: {program} [OPTIONS] ({program} --help lists them)\n{program}: error: {message}\n"
        );
        Self { text, cause: Some(cause), is_help: false }
    }

    /// Converts an error of clap and keeps its text, which contains the usage line.
    pub(crate) fn from_clap(error: &clap::Error) -> Self {
        Self { text: error.to_string(), cause: None, is_help: !error.use_stderr() }
    }

    /// Returns the exit code: 0 for requested help, otherwise 2.
    pub fn exit_code(&self) -> u8 {
        if self.is_help { 0 } else { 2 }
    }

    /// Returns whether the text is requested help or the version, and not an error.
    pub fn is_help(&self) -> bool {
        self.is_help
    }

    /// Returns the typed error; `None` for help and for clap's own errors.
    pub fn cause(&self) -> Option<&CliError> {
        self.cause.as_ref()
    }
}
