//! Parsing that both commands share, and the conversion to the arguments of the serving benchmark.

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory, Parser};
use serde_json::{Value, json};
use servemark_backends::BackendSpec;
use servemark_core::{IfTaken, JsonObject};
use servemark_plan::Layout;

use super::engine;
use crate::argparse::Limit::Where;
use crate::argparse::{
    Declared, Effects, Flag, Flexible, Group, Limit, Occurrence, ParsedCommandLine, PeerFlags,
    texts, with_config,
};
use crate::environment::Environment;
use crate::error::{CliError, UsageError};
use crate::own::{
    ConnectionArgs, ProtocolArgs, ReuseArgs, SimulatorArgs, ThreadArgs, WorkerArgs, with_exit_codes,
};
use crate::parsed::Parsed;
use crate::vllm::args::{ExtrasArgs, OutputArgs, PEER, TargetArgs, VllmArgs};
use crate::vllm::{ONE_RUN, simulate, understand};

/// A parsed command line of one of the commands.
pub(super) struct Line<A> {
    pub(super) args: A,
    pub(super) given: ParsedCommandLine,
    pub(super) warnings: Vec<String>,
}

impl<A: Parser> Line<A> {
    /// Reads a command line. If a server is named, the engine's arguments are refused by name.
    /// `flags` are those of the command alone.
    pub(super) fn read(
        program: &str,
        peer: PeerFlags,
        (command, flags): (Command, &'static [Declared]),
        args: impl IntoIterator<Item = OsString>,
        environment: &Environment,
    ) -> Result<Self, UsageError> {
        let refuse = |error| UsageError::refused(program, error);
        let has_flag = |flag: &str| {
            engine::is_negated(flag) || command.get_arguments().any(|arg| is_named(arg, flag))
        };
        let flexible = texts(args)
            .and_then(|args| with_config(args, environment, has_flag))
            .and_then(Flexible::take_back)
            .map_err(refuse)?;
        let (command, peer) = (flexible.searched(command), peer.names());
        let args = engine::spelled_out(flexible.args, &peer).map_err(refuse)?;
        let given = ParsedCommandLine::read(command, &peer, &[], &args).map_err(refuse)?;
        let (args, _) = given.typed(program)?;
        let mut line = Self { args, given, warnings: flexible.warnings };
        line.check(flags).map_err(refuse)?;
        Ok(line)
    }

    fn check(&mut self, flags: &'static [Declared]) -> Result<(), CliError> {
        let effects = Effects::of(&self.given);
        let groups = [GROUPS, &[Group::of(flags)]].concat();
        effects.check(&groups, &mut self.warnings)?;
        if !self.asks_server() {
            return Ok(());
        }
        engine::refuse(&self.given.reading.leftovers)?;
        self.given.reading.refuse_leftovers()
    }

    /// Returns whether a server is named, which is then measured. Otherwise an engine is started.
    pub(super) fn asks_server(&self) -> bool {
        asks_server(&Effects::of(&self.given))
    }

    /// Returns the engine's arguments: those that are not this command's, and the model.
    pub(super) fn argv(&self) -> Vec<String> {
        let given = self.given.reading.given.iter();
        let shared = given.filter(|occurrence| engine::is_flag(&occurrence.flag)).flat_map(to_args);
        let default =
            (!self.given.is(TargetArgs::MODEL)).then(|| format!("{}={MODEL}", TargetArgs::MODEL));
        default.into_iter().chain(shared).chain(self.given.reading.leftovers.clone()).collect()
    }

    /// Returns the arguments of the serving benchmark, with the flags that it has as well.
    pub(super) fn serving(&self, program: &str) -> Result<Serving, UsageError> {
        let own = A::command();
        let is_shared = |name: &str| !own.get_arguments().any(|arg| is_named(arg, name));
        let given = self.given.shared(VllmArgs::whole_command(program), &PEER.names(), is_shared);
        let (mut args, _): (VllmArgs, _) = given.typed(program)?;
        simulate::choose_the_rest(&mut args, &given);
        Ok(Serving { args, given })
    }
}

/// Arguments of the serving benchmark with the same prompts.
#[derive(Clone)]
pub(super) struct Serving {
    pub(super) args: VllmArgs,
    given: ParsedCommandLine,
}

impl Serving {
    /// Returns the plan of the serving benchmark, with answers that are not streamed.
    pub(super) fn parsed(&self, environment: &Environment) -> Result<Parsed, CliError> {
        if !self.args.extras.asks_for_one_run() {
            return Err(CliError::Together(ONE_RUN));
        }
        let mut parsed = understand(&self.args, &self.given, environment)?;
        let plan = &mut parsed.plan;
        if let BackendSpec::Vllm(spec) = &mut plan.wire {
            spec.common.stream = false;
        }
        plan.scoring.layouts.retain(|layout| *layout != Layout::Vllm);
        if environment.variable("SAVE_TO_PYTORCH_BENCHMARK_FORMAT").is_some() {
            parsed.warnings.push(NO_RECORD.to_owned());
        }
        Ok(parsed)
    }
}

/// Interface that is called. Closed: these are the backends of vLLM's benchmark.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Callee {
    /// vLLM's engine, which is given texts.
    Vllm,
    /// vLLM's engine, which is given conversations.
    VllmChat,
    /// A model of Transformers.
    Transformers,
}

/// How the engine is called.
#[cfg_attr(not(feature = "engine"), expect(dead_code, reason = "engines are not built"))]
pub(super) struct Calls {
    pub(super) callee: Callee,
    /// Arguments of the engine, as a command line.
    pub(super) argv: Vec<String>,
    /// Arguments of the engine by name.
    pub(super) args: JsonObject,
    /// Settings of each call besides its requests.
    pub(super) call: JsonObject,
    /// Number of outputs of a prompt.
    pub(super) n: i64,
    /// Whether the asynchronous engine is called.
    pub(super) streams: bool,
}

/// Returns a flag with its values as arguments.
fn to_args(Occurrence { flag, values }: &Occurrence) -> Vec<String> {
    match values.as_slice() {
        [value] => vec![format!("{flag}={value}")],
        values => [flag].into_iter().chain(values).cloned().collect(),
    }
}

fn is_named(arg: &Arg, name: &str) -> bool {
    arg.get_long() == name.strip_prefix("--")
}

/// Removes the output files of a run before the measurement, which is not reported.
pub(super) fn unlogged(mut parsed: Parsed) -> Parsed {
    parsed.plan.output.run_log = None;
    parsed.plan.output.run_log_if_taken = IfTaken::default();
    parsed.plan.output.steady_state_file = None;
    parsed
}

/// Returns a command with the flags of `bench serve` that it shares: those of vLLM's own command,
/// those of the engine in `of_engine`, those about the server, and Servemark's own. Any other flag
/// that an engine has under the same name is the engine's.
pub(super) fn with_serve_flags(
    command: Command,
    program: &str,
    peer: PeerFlags,
    of_engine: &[Flag],
) -> Command {
    let (shared, serves) = (peer.names(), PEER.names());
    let is_own = |arg: &Arg| command.get_arguments().any(|own| own.get_long() == arg.get_long());
    let is_match = |arg: &&Arg| {
        let name = format!("--{}", arg.get_long().unwrap_or_default());
        let is_in = |flags: &[Flag]| flags.iter().any(|flag| flag.name() == name);
        let is_servemarks = !serves.contains(&&*name) && !engine::is_flag(&name);
        let is_shared = shared.contains(&&*name) || is_in(of_engine) || is_in(&SERVER);
        (is_shared || is_servemarks) && !is_own(arg)
    };
    let serve = VllmArgs::command();
    let args: Vec<Arg> = serve.get_arguments().filter(is_match).cloned().collect();
    let mut command = command.args(args).after_help(with_exit_codes(NOTES)).bin_name(program);
    command.build();
    command
}

/// Flags of the server and its address. In these commands they are Servemark's own.
const SERVER: [Flag; 7] = [
    TargetArgs::BASE_URL,
    OutputArgs::DISABLE_TQDM,
    TargetArgs::HEADER,
    TargetArgs::HOST,
    TargetArgs::INSECURE,
    TargetArgs::PORT,
    TargetArgs::READY_CHECK_TIMEOUT_SEC,
];

pub(super) fn object<const N: usize>(members: [(&str, Value); N]) -> JsonObject {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns the sampling parameters of every request, with the values that both commands of vLLM
/// give their engine.
pub(super) fn sampling(n: i64) -> Value {
    json!({"n": n, "temperature": 1.0, "top_p": 1.0})
}

pub(super) fn asks_server(effects: &Effects<'_>) -> bool {
    [TargetArgs::BASE_URL, TargetArgs::HOST, TargetArgs::PORT, SimulatorArgs::SIMULATE]
        .into_iter()
        .any(|flag| effects.is(flag))
}

/// Groups of flags that only apply to a server, or only to a started engine.
const GROUPS: &[Group] = &[
    Group::of(&[
        Declared { flag: TargetArgs::HEADER, limits: &[SERVER_FLAGS] },
        Declared { flag: TargetArgs::INSECURE, limits: &[SERVER_FLAGS] },
        Declared { flag: TargetArgs::READY_CHECK_TIMEOUT_SEC, limits: &[SERVER_FLAGS] },
        Declared { flag: ExtrasArgs::ALIGN_SAMPLE, limits: &[SERVER_FLAGS] },
        Declared { flag: SimulatorArgs::SIMULATE_FAULT, limits: &[SERVER_FLAGS] },
    ]),
    Group::of(ConnectionArgs::FLAGS).limited(&[SERVER_FLAGS], &[]),
    Group::of(ProtocolArgs::FLAGS).limited(&[SERVER_FLAGS], &[]),
    Group::of(ReuseArgs::FLAGS).limited(&[SERVER_FLAGS], &[]),
    Group::of(ThreadArgs::FLAGS).limited(&[SERVER_FLAGS], &[]),
    Group::of(WorkerArgs::FLAGS).limited(&[STARTED], &[]),
];

/// Limit of flags about a server.
const SERVER_FLAGS: Limit = Where(
    asks_server,
    "where no server is named (--base-url, --host, --port, --simulate): an engine is started",
);

/// Limit of flags about an engine that is started.
const STARTED: Limit =
    Where(|effects| !asks_server(effects), "where a server is named: no engine is started");

/// Default model of vLLM's commands.
pub(super) const MODEL: &str = "Qwen/Qwen3-0.6B";

const NO_RECORD: &str = "SAVE_TO_PYTORCH_BENCHMARK_FORMAT has no effect here: the record repeats \
                         all of the engine's arguments, which only the engine knows";

const NOTES: &str = "\
Examples:
  vllm bench throughput --model org/model --input-len 512 --output-len 128
  vllm bench latency --model org/model --batch-size 8
  vllm bench latency --base-url http://gpu-box:8000 --json

As with vLLM, an engine is started and called, by the Python of --python or of the command. A flag that \
is not listed here is an argument of the engine and is passed on to it unchanged \
(--tensor-parallel-size 2 --dtype float32 --load-format dummy ...).

If a server is named (--base-url, --host, --port, or --simulate), it is measured over HTTP; the \
engine's arguments are those that it was started with, and are refused here. The API key is read \
from OPENAI_API_KEY.";
