//! The engine `candle`, which is part of this program: when it is selected, its arguments, and the
//! defaults of a short run.

use std::num::NonZeroUsize;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{CommandFactory, Parser};
use servemark_engine::{CandleSpec, LoadFormat};
use servemark_tokenizer::hub_name;

use super::args::{OfflineArgs, TargetArgs};
use crate::argparse::{Flag, ParsedCommandLine, flags};
use crate::error::{CliError, UsageError};
use crate::own::WorkerArgs;

/// Arguments of the engine `candle`, which have the names that SGLang's servers give them.
#[derive(Debug, Parser)]
#[command(name = "candle", disable_help_flag = true, args_override_self = true)]
struct CandleArgs {
    #[arg(long, value_parser = PossibleValuesParser::new(["auto", "dummy"]))]
    load_format: Option<String>,
    #[arg(long)]
    max_running_requests: Option<NonZeroUsize>,
    #[arg(long)]
    chunked_prefill_size: Option<NonZeroUsize>,
    #[arg(long)]
    random_seed: Option<u64>,
}

flags! { CandleArgs {
    LOAD_FORMAT = "--load-format";
    MAX_RUNNING_REQUESTS = "--max-running-requests";
    CHUNKED_PREFILL_SIZE = "--chunked-prefill-size";
    RANDOM_SEED = "--random-seed";
}}

/// Selects the engine `candle` if no flag asks for an engine in Python. If it is selected, sets the
/// defaults of a short run, which shows a batch filling up and a range of lengths.
pub(super) fn choose_the_rest(
    args: &mut OfflineArgs,
    given: &ParsedCommandLine,
    python: Option<&str>,
) {
    let open = |flag: Flag| !given.is(flag);
    if python.is_none() && OF_WORKERS.into_iter().all(open) {
        NAME.clone_into(&mut args.target.engine);
    }
    if args.target.engine != NAME {
        return;
    }
    if open(OfflineArgs::RESULT_FILENAME) {
        "servemark_candle.jsonl".clone_into(&mut args.result_filename);
    }
    if open(OfflineArgs::DATASET_NAME) && open(OfflineArgs::DATASET_PATH) {
        "random-ids".clone_into(&mut args.dataset_name);
    }
    if open(OfflineArgs::NUM_PROMPTS) {
        args.num_prompts = 128;
    }
    if open(OfflineArgs::RANDOM_INPUT_LEN) {
        args.random_input_len = 128;
    }
    if open(OfflineArgs::RANDOM_OUTPUT_LEN) {
        args.random_output_len = 64;
    }
    if open(OfflineArgs::RANDOM_RANGE_RATIO) {
        args.random_range_ratio = 0.5;
    }
}

/// Returns the warning about a model that is made up because none is named.
pub(super) fn remark(target: &TargetArgs) -> Option<String> {
    let is_made_up = target.candle.as_ref().is_some_and(|spec| spec.model.is_none());
    is_made_up.then(|| MADE_UP.to_owned())
}

/// Parses the arguments of the engine `candle`; `None` if another engine is selected.
pub(super) fn spec(
    program: &str,
    target: &TargetArgs,
    leftovers: &[String],
) -> Result<Option<CandleSpec>, UsageError> {
    if target.engine != NAME {
        return Ok(None);
    }
    let refuse = |error| UsageError::refused(program, error);
    let mut command = CandleArgs::command();
    command.build();
    let names: Vec<&str> = CandleArgs::FLAGS.iter().map(|declared| declared.flag.name()).collect();
    let given = ParsedCommandLine::read(command, &names, &[], leftovers).map_err(refuse)?;
    if !given.reading.leftovers.is_empty() {
        let unknown = given.reading.leftovers.join(" ");
        let unknown = format!("{unknown} (the engine {CANDLE_FLAGS})");
        return Err(refuse(given.reading.unrecognized(&[unknown])));
    }
    let (args, _): (CandleArgs, _) = given.typed(program)?;
    args.spec(target).map(Some).map_err(refuse)
}

impl CandleArgs {
    fn spec(&self, target: &TargetArgs) -> Result<CandleSpec, CliError> {
        let mut spec =
            CandleSpec { model: target.model_name().map(Into::into), ..CandleSpec::default() };
        let is_model = |path: &str| Path::new(path).is_dir() || hub_name(path).is_some();
        if target.model_name().is_some_and(|model| !is_model(model)) {
            return Err(CliError::setting(TargetArgs::MODEL_PATH, NO_FOLDER));
        }
        spec.load_format = match self.load_format.as_deref() {
            Some("auto") if spec.model.is_none() => {
                return Err(CliError::setting(Self::LOAD_FORMAT, "auto needs a --model-path"));
            }
            Some("dummy") => LoadFormat::Dummy,
            _ => LoadFormat::Auto,
        };
        spec.max_running = self.max_running_requests.unwrap_or(spec.max_running);
        spec.max_step_tokens = self.chunked_prefill_size.unwrap_or(spec.max_step_tokens);
        spec.seed = self.random_seed.unwrap_or(spec.seed);
        Ok(spec)
    }
}

const NAME: &str = "candle";

/// Flags that name an engine or that only engines in Python need. If one of them is given, `candle`
/// is not selected by default.
const OF_WORKERS: [Flag; 8] = [
    OfflineArgs::BACKEND,
    TargetArgs::ENGINE,
    TargetArgs::ENGINE_ARGS,
    WorkerArgs::ENGINE_LOG,
    WorkerArgs::ENGINE_PATIENCE,
    TargetArgs::MODEL,
    TargetArgs::MODEL_PATH,
    WorkerArgs::PYTHON,
];

const CANDLE_FLAGS: &str = "candle takes --load-format, --max-running-requests, --chunked-prefill-size and \
                     --random-seed; --engine sglang and vllm take their own";

const NO_FOLDER: &str = "must be a folder with a config.json and safetensors files, or a model's \
                         name on the hub";

const MADE_UP: &str = "no model is named, so a small one is made up: its weights are random, its \
                       times are real and its words are not";
