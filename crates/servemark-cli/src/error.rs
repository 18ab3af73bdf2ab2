//! Why a command line is no plan.

use std::fmt;

use servemark_core::printable;
use servemark_plan::PlanError;
use thiserror::Error;

use crate::nearest::nearest;

/// What is wrong with a command line.
///
/// Where Python's argparse or the peer has a message of its own, it is that one, word for word.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CliError {
    /// A prefix of several flags.
    #[error("ambiguous option: {given} could match {matches}")]
    Ambiguous {
        /// The argument.
        given: String,
        /// The flags, in the peer's order.
        matches: String,
    },
    /// A config file that is not what it should be.
    #[error("{place}: {why}")]
    Config {
        /// The file and the line.
        place: String,
        /// What is wrong there, and what would do.
        why: String,
    },
    /// Two flags of which only one may be given.
    #[error("argument {flag}: not allowed with argument {other}")]
    Conflict {
        /// The later one.
        flag: String,
        /// The earlier one.
        other: String,
    },
    /// A flag that takes values stands alone.
    #[error("argument {flag}: expected {expected}")]
    ExpectedArgument {
        /// The flag.
        flag: String,
        /// How many.
        expected: &'static str,
    },
    /// Nothing was asked for.
    #[error("a command is missing; see servemark --help")]
    NoCommand,
    /// A flag whose value would change nothing.
    #[error("{flag} {why}")]
    NoEffect {
        /// The flag.
        flag: &'static str,
        /// When it has no effect, or what it only applies to.
        why: String,
    },
    /// Python without a module.
    #[error("after python, -m and a module are expected, such as -m sglang.bench_serving")]
    NoModule,
    /// The steady-state wrapper without its share.
    #[error("the following arguments are required: --steady-state-concurrency-ratio")]
    NoSteadyState,
    /// Flags that must be given and were not.
    #[error("the following arguments are required: {flags}")]
    Required {
        /// Their names, separated by commas.
        flags: String,
    },
    /// A run log whose run cannot be run again.
    #[error("the run of {run_log} cannot be run again: {why}")]
    NotAgain {
        /// The run log.
        run_log: String,
        /// Why, and what would do.
        why: String,
    },
    /// A part of the peer that we lack.
    #[error("{what} is not built yet")]
    NotBuilt {
        /// A flag with its value, or a program's name.
        what: String,
    },
    /// An argument that is no text.
    #[error("an argument is not UTF-8: {text}")]
    NotUtf8 {
        /// The argument, with replacement characters for invalid bytes.
        text: String,
    },
    /// Parts that do not go together.
    #[error(transparent)]
    Plan(PlanError),
    /// What the peer refuses, in its words.
    #[error("{0}")]
    Peer(String),
    /// A flag whose value cannot be.
    #[error("{flag} {why}")]
    Setting {
        /// The flag.
        flag: &'static str,
        /// What is wrong with it, and what would do.
        why: String,
    },
    /// A shell, or a script for one, where a command is expected.
    #[error(
        "{given} is a shell or a script for one, and servemark reads one command line: put servemark \
         in front of the command inside the script"
    )]
    ShellScript {
        /// The first argument.
        given: String,
    },
    /// A rule of the peer between two flags.
    #[error("{0}")]
    Together(&'static str),
    /// A command that starts a server instead of measuring one.
    #[error(
        "{given} starts a server, and servemark measures one that runs; start it without servemark \
         in front, then measure it with servemark {measure}"
    )]
    StartsServer {
        /// The command, as far as it is known by its words.
        given: String,
        /// The command that measures such a server.
        measure: &'static str,
    },
    /// A command of a peer that servemark does not have.
    #[error("servemark has no {given}; run it without servemark in front")]
    PeersAlone {
        /// The command.
        given: String,
    },
    /// A client whose flags another command of servemark's reads.
    #[error("servemark has no {given}; most of its flags are known to {instead}")]
    OtherClient {
        /// The command.
        given: String,
        /// The command that reads such flags.
        instead: &'static str,
    },
    /// A program that only starts another one, in another environment or on another machine.
    #[error(
        "{given} starts another command: put servemark behind {given} and its options, directly in \
         front of the benchmark's own command"
    )]
    Launcher {
        /// The first argument.
        given: String,
    },
    /// An assignment to an environment variable in place of a command.
    #[error("{variable}=... sets a variable: put it in front of servemark")]
    Assignment {
        /// Name of the variable.
        variable: String,
    },
    /// A command that neither servemark nor a peer has.
    #[error("{given} is no command{}", DidYouMean(.nearest.as_deref()))]
    UnknownCommand {
        /// The command.
        given: String,
        /// The known command that was most likely meant.
        nearest: Option<String>,
    },
    /// A program of Python's that is no peer's client.
    #[error(
        "{given} is no client that servemark knows; it knows bench_serving.py, \
         bench_offline_throughput.py and bench_one_batch_server.py of SGLang, and \
         benchmark_serving.py, benchmark_throughput.py and benchmark_latency.py of vLLM"
    )]
    UnknownScript {
        /// The file's name.
        given: String,
    },
    /// Arguments that no flag takes.
    #[error("unrecognized arguments: {given}{hint}")]
    Unrecognized {
        /// The arguments.
        given: String,
        /// A question for the flags that were most likely meant, or nothing.
        hint: String,
    },
    /// A value for a flag that takes none.
    #[error("argument {flag}: ignored explicit argument {value}")]
    UnwantedArgument {
        /// The flag.
        flag: String,
        /// The value, as Python shows it.
        value: String,
    },
    /// A value of another type, or not among the choices.
    #[error("argument {flag}: {why}")]
    Value {
        /// The flag.
        flag: String,
        /// What is wrong with it.
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

    /// An unknown command, with the nearest of those that are known.
    pub(crate) fn unknown_command<'a>(
        given: impl Into<String>,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let given = given.into();
        let nearest = nearest(&given, known).map(str::to_owned);
        Self::UnknownCommand { given, nearest }
    }

    pub(crate) fn not_built(what: impl Into<String>) -> Self {
        Self::NotBuilt { what: what.into() }
    }

    /// Refuses the first rule between flags that is broken.
    pub(crate) fn first_broken(
        rules: impl IntoIterator<Item = (bool, &'static str)>,
    ) -> Result<(), Self> {
        let broken = rules.into_iter().find(|(is_broken, _)| *is_broken);
        broken.map_or(Ok(()), |(_, rule)| Err(Self::Together(rule)))
    }
}

/// What follows an unknown command: the one that was meant, or where all are listed.
struct DidYouMean<'a>(Option<&'a str>);

impl fmt::Display for DidYouMean<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(nearest) => write!(formatter, "; did you mean {nearest}?"),
            None => formatter.write_str("; see servemark --help"),
        }
    }
}

/// What to print instead of running: the help that was asked for, or what is wrong.
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

    /// The text that clap wrote, which knows the usage line better.
    pub(crate) fn from_clap(error: &clap::Error) -> Self {
        Self { text: error.to_string(), cause: None, is_help: !error.use_stderr() }
    }

    /// 0 if this is help that was asked for, else 2.
    pub fn exit_code(&self) -> u8 {
        if self.is_help { 0 } else { 2 }
    }

    /// Whether this is what the user asked for: help or the version.
    pub fn is_help(&self) -> bool {
        self.is_help
    }

    /// What is wrong, where it is told by type.
    pub fn cause(&self) -> Option<&CliError> {
        self.cause.as_ref()
    }
}
