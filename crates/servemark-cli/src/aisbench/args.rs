//! The flags of `ais_bench`: AISBench's in its order, then our own.
//!
//! Names, defaults and choices are those of AISBench v3.1; a test compares them with a recording of
//! its parser.

mod own;

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, Command, CommandFactory, Parser};

pub(super) use self::own::OwnArgs;
use crate::argparse::Limit::{Needs, Never, Unless};
use crate::argparse::{Group, LIST, Limit, PeerFlags, flags};
use crate::error::CliError;
use crate::number::at_least;
use crate::own::{
    AskingArgs, ConnectionArgs, JudgingArgs, ProtocolArgs, ReuseArgs, RunArgs, ShardArgs,
    SimulatorArgs, StoppingArgs, TelemetryArgs, ThreadArgs, TrustArgs, with_online_notes,
};
use crate::python;
use crate::until::{UntilArgs, UntilFlag};

/// Run a performance task of AISBench: its command line and its config files, and more
#[derive(Clone, Debug, Parser)]
#[command(
    name = "ais_bench",
    version,
    disable_version_flag = true,
    args_override_self = true,
    max_term_width = 100
)]
#[expect(clippy::option_option, reason = "clap's form of a flag with an optional value")]
#[expect(clippy::struct_excessive_bools, reason = "the peer's switches, one to one")]
pub(super) struct AisbenchArgs {
    /// The configs of models, by their files' names
    #[arg(long, value_name = "NAMES", num_args = 1.., action = ArgAction::Set, value_delimiter = LIST)]
    pub(super) models: Option<Vec<String>>,
    /// The configs of data sets, by their files' names
    #[arg(long, value_name = "NAMES", num_args = 1.., action = ArgAction::Set, value_delimiter = LIST)]
    pub(super) datasets: Option<Vec<String>>,
    /// The config of the summary: default_perf or stable_stage
    #[arg(long, value_name = "NAME")]
    pub(super) summarizer: Option<String>,
    /// Run in one process and log to the terminal: no effect, Servemark always does
    #[arg(long)]
    pub(super) debug: bool,
    /// Print where the configs are and stop
    #[arg(long)]
    pub(super) search: bool,
    /// Print what would be run and stop
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Mode: perf measures, perf_viz prints the results of an earlier run (--reuse); one of the two
    /// must be given, the others measure no performance and are refused
    #[arg(long, value_name = "MODE", default_value = "all",
          value_parser = PossibleValuesParser::new(MODES))]
    pub(super) mode: String,
    /// Continue the run in this folder of --work-dir: score its finished tasks from their run logs
    /// and run the others (with --mode perf_viz none is run); without a name the latest folder
    #[arg(long, value_name = "NAME", num_args = 0..=1)]
    pub(super) reuse: Option<Option<String>>,
    /// The folder of all runs; by default outputs/default
    #[arg(long, value_name = "PATH")]
    pub(super) work_dir: Option<String>,
    /// The folder of configs
    #[arg(long, value_name = "PATH", default_value = USUAL_FOLDER)]
    pub(super) config_dir: String,
    /// Number of tasks that run at once: no effect, tasks run one after the other here, so that
    /// none disturbs another
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(super) max_num_workers: i64,
    /// Number of tasks on a GPU: no effect, because a server is measured
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(super) max_workers_per_gpu: i64,
    /// Number of rows of a data set to send; by default all
    #[arg(long, value_name = "N", value_parser = count)]
    pub(super) num_prompts: Option<i64>,
    /// Number of requests that are sent before the measurement
    #[arg(long, value_name = "N", default_value = "1", value_parser = python::int)]
    pub(super) num_warmups: i64,
    /// Look for anomalous answers: no effect on performance runs
    #[arg(long, overrides_with = "no_response_anomaly")]
    pub(super) response_anomaly: bool,
    #[arg(long, hide = true)]
    pub(super) no_response_anomaly: bool,
    /// Answers that --response-anomaly keeps: no effect on performance runs
    #[arg(long, value_name = "WHICH", value_parser = PossibleValuesParser::new(["all", "anomalies", "none"]))]
    pub(super) response_anomaly_payload_retention: Option<String>,
    /// Let every client send one request after the other until --pressure-time is over
    #[arg(long)]
    pub(super) pressure: bool,
    /// Seconds for which --pressure sends requests
    #[arg(long, value_name = "SECONDS", default_value = "15", value_parser = python::int)]
    pub(super) pressure_time: i64,
    /// Read the server's counters of speculative decoding before and after the run
    #[arg(long)]
    pub(super) spec_decode: bool,
    /// Send data sets of one class as one: no effect, the performance mode always does
    #[arg(long)]
    pub(super) merge_ds: bool,
    /// Keep how answers were judged: no effect on performance runs
    #[arg(long)]
    pub(super) dump_eval_details: bool,
    /// Keep how many answers could be extracted: no effect on performance runs
    #[arg(long)]
    pub(super) dump_extract_rate: bool,
    /// A file of your own questions: .jsonl or .csv
    #[arg(long, value_name = "PATH")]
    pub(super) custom_dataset_path: Option<String>,
    /// The file that sets how many questions of --custom-dataset-path are sent, and how long their
    /// answers are
    #[arg(long, value_name = "PATH")]
    pub(super) custom_dataset_meta_path: Option<String>,
    /// Whether the questions of --custom-dataset-path have choices (mcq) or not (qa)
    #[arg(long, value_name = "TYPE", value_parser = PossibleValuesParser::new(["mcq", "qa"]))]
    pub(super) custom_dataset_data_type: Option<String>,
    /// Form of the questions of --custom-dataset-path
    #[arg(long, value_name = "METHOD", value_parser = PossibleValuesParser::new(["gen"]))]
    pub(super) custom_dataset_infer_method: Option<String>,
    #[command(flatten)]
    pub(super) own: OwnArgs,
    #[command(flatten)]
    pub(super) run: RunArgs,
    #[command(flatten)]
    pub(super) until: UntilFlag,
    #[command(flatten)]
    pub(super) shards: ShardArgs,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
    #[command(flatten)]
    pub(super) trust: TrustArgs,
    #[command(flatten)]
    pub(super) telemetry: TelemetryArgs,
    #[command(flatten)]
    pub(super) simulator: SimulatorArgs,
}

flags! { AisbenchArgs {
    MODELS = "--models";
    DATASETS = "--datasets";
    SUMMARIZER = "--summarizer";
    DEBUG = "--debug" => [Never(
        "here: a run is always one process, and says on the terminal what it does",
    )];
    SEARCH = "--search";
    DRY_RUN = "--dry-run";
    MODE = "--mode";
    REUSE = "--reuse";
    WORK_DIR = "--work-dir";
    CONFIG_DIR = "--config-dir";
    MAX_NUM_WORKERS = "--max-num-workers"
        => [Never("here: tasks run one after the other, so that none disturbs another")];
    MAX_WORKERS_PER_GPU = "--max-workers-per-gpu" => [Never("on models of a service")];
    NUM_PROMPTS = "--num-prompts";
    NUM_WARMUPS = "--num-warmups";
    RESPONSE_ANOMALY = "--response-anomaly" => [OF_ACCURACY];
    NO_RESPONSE_ANOMALY = "--no-response-anomaly" => [OF_ACCURACY];
    RESPONSE_ANOMALY_PAYLOAD_RETENTION = "--response-anomaly-payload-retention" => [OF_ACCURACY];
    PRESSURE = "--pressure";
    PRESSURE_TIME = "--pressure-time" => [Needs(Self::PRESSURE)];
    SPEC_DECODE = "--spec-decode";
    MERGE_DS = "--merge-ds" => [Never(
        "in the performance mode, in which data sets of one class are one in any case",
    )];
    DUMP_EVAL_DETAILS = "--dump-eval-details" => [OF_ACCURACY];
    DUMP_EXTRACT_RATE = "--dump-extract-rate" => [OF_ACCURACY];
    CUSTOM_DATASET_PATH = "--custom-dataset-path" => [Unless(Self::DATASETS)];
    CUSTOM_DATASET_META_PATH = "--custom-dataset-meta-path" => [Needs(Self::CUSTOM_DATASET_PATH)];
    CUSTOM_DATASET_DATA_TYPE = "--custom-dataset-data-type" => [Needs(Self::CUSTOM_DATASET_PATH)];
    CUSTOM_DATASET_INFER_METHOD = "--custom-dataset-infer-method"
        => [Needs(Self::CUSTOM_DATASET_PATH)];
}}

impl AisbenchArgs {
    /// Refuses counts that AISBench refuses, even if they have no effect.
    pub(super) fn check_counts(&self) -> Result<(), CliError> {
        let counts = [
            (Self::MAX_NUM_WORKERS, 1, self.max_num_workers),
            (Self::MAX_WORKERS_PER_GPU, 1, self.max_workers_per_gpu),
            (Self::NUM_PROMPTS, 1, self.num_prompts.unwrap_or(1)),
            (Self::NUM_WARMUPS, 0, self.num_warmups),
            (Self::PRESSURE_TIME, 1, self.pressure_time),
        ];
        counts
            .into_iter()
            .try_for_each(|(flag, least, count)| at_least::<i64>(flag, least, count).map(drop))?;
        if self.pressure_time > A_DAY {
            let why = format!("must be {A_DAY} seconds or fewer, not {}", self.pressure_time);
            return Err(CliError::setting(Self::PRESSURE_TIME, why));
        }
        Ok(())
    }

    /// All flags with the limits on their effects.
    pub(super) const GROUPS: &'static [Group] = &[
        Group::of(Self::FLAGS),
        Group::of(OwnArgs::FLAGS),
        Group::of(RunArgs::FLAGS),
        Group::of(JudgingArgs::FLAGS),
        Group::of(UntilArgs::FLAGS),
        Group::of(StoppingArgs::FLAGS),
        Group::of(AskingArgs::FLAGS),
        Group::of(ShardArgs::FLAGS),
        Group::of(ThreadArgs::FLAGS),
        Group::of(ConnectionArgs::FLAGS),
        Group::of(ProtocolArgs::FLAGS),
        Group::of(ReuseArgs::FLAGS),
        Group::of(TrustArgs::FLAGS),
        Group::of(TelemetryArgs::FLAGS),
        Group::of(SimulatorArgs::FLAGS),
    ];

    /// Returns the complete clap command; help and messages call the program `program`.
    pub(super) fn whole_command(program: &str) -> Command {
        let mut command = Self::command().after_help(with_online_notes(NOTES)).bin_name(program);
        command.build();
        command
    }
}

/// Parses a number of rows. AISBench accepts the word `none`, in any case, for all rows.
fn count(text: &str) -> Result<i64, String> {
    if text.eq_ignore_ascii_case("none") { Ok(i64::MAX) } else { python::limit(text) }
}

/// Default folder of configs. It need not exist.
pub(super) const USUAL_FOLDER: &str = "configs";

const MODES: [&str; 8] =
    ["all", "infer", "eval", "viz", "perf", "perf_viz", "judge", "infer_judge"];

const NOTES: &str = "\
usage: ais_bench [CONFIG] [OPTIONS]; CONFIG is a file in Python that only assigns data, or in \
TOML. Short names are -m for --mode, -r for --reuse, -w for --work-dir and -s for --search.

AISBench's flags may be abbreviated as Python allows it; ours may not. The API key is read from \
the config, else from OPENAI_API_KEY.

Example:
  servemark ais_bench --models vllm_api_stream_chat --datasets synthetic_gen_string -m perf \\
    --host-ip 10.0.0.7 --host-port 8000 --batch-size 64 --set datasets.config.RequestCount=500";

/// AISBench's flags.
pub(super) const PEER: PeerFlags =
    PeerFlags::recorded(include_str!("../../flags/aisbench/flags.txt"));

const OF_ACCURACY: Limit = Never("in the performance mode");

/// Maximum of `--pressure-time` in AISBench, in seconds.
const A_DAY: i64 = 24 * 60 * 60;
