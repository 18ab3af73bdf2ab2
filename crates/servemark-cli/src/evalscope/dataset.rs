//! The data set of a run: the source and the form of its prompts.

use std::num::NonZero;
use std::path::PathBuf;

use servemark_core::JsonObject;
use servemark_datasets::{
    DatasetSpec, EvalscopeData, EvalscopeName, EvalscopePictureMode, EvalscopePromptSpec,
    EvalscopeSpec, MaxTokens, TargetLength,
};
use servemark_plan::WorkloadSpec;

use super::args::{DatasetArgs, EvalscopeArgs, LoadArgs, PromptArgs, SamplingArgs, TurnsArgs};
use super::resolved::{ResolvedArgs, Step};
use super::settings::{NoSettings, TextSettings, TurnSettings, WorkloadSettings, read};
use super::{DrawPosition, load, refusal};
use crate::argparse::Flag;
use crate::environment::Environment;
use crate::error::CliError;
use crate::number::{at_least, some_at_least};

/// Returns the workload of a run, including the requests that lead to its measurement.
pub(super) fn workload(
    args: &EvalscopeArgs,
    resolved: &ResolvedArgs,
    step: Step,
    place: DrawPosition,
    environment: &Environment,
) -> Result<WorkloadSpec, CliError> {
    let mut spec = EvalscopeSpec::new(data(args, resolved, step, environment)?);
    spec.chat = resolved.chat;
    // evalscope tokenizes for APIs that generate, and overlooks the flag for the others.
    spec.tokenize = args.sampling.tokenize_prompt && resolved.api.generates();
    spec.tokenizer = args.has_tokenizer();
    // A drawn length must not be negative. For prompts from a file, a negative limit acts like
    // zero.
    let is_drawn = args.dataset.dataset.starts_with("random");
    let clamped = |length: i64| if is_drawn { length } else { length.max(0) };
    let PromptArgs { min_prompt_length, max_prompt_length, .. } = args.prompt;
    spec.shortest = at_least(PromptArgs::MIN_PROMPT_LENGTH, 0, clamped(min_prompt_length))?;
    spec.longest = at_least(PromptArgs::MAX_PROMPT_LENGTH, 0, clamped(max_prompt_length))?;
    spec.max_tokens = match resolved.max_tokens {
        MaxTokens::Between { least, most, .. } => {
            MaxTokens::Between { least, most, tested: resolved.tests_connection(args) }
        }
        tokens @ MaxTokens::Fixed(_) => tokens,
    };
    spec.offset = place.offset;
    let mut dataset = DatasetSpec::Evalscope(spec);
    refusal::check_source(args.dataset.data_source.as_deref(), &mut dataset)?;
    let mut workload = WorkloadSpec::new(dataset, requests(args, resolved, step)?);
    workload.seed = place.seed;
    Ok(workload)
}

/// Returns the number of requests to draw. For recorded requests it is `--number`, or zero if all
/// are drawn, and the first of them lead to the measurement. For other data sets, the requests that
/// lead to the measurement are drawn in addition.
fn requests(args: &EvalscopeArgs, resolved: &ResolvedArgs, step: Step) -> Result<usize, CliError> {
    let number: usize = at_least(LoadArgs::NUMBER, 1, step.number)?;
    if resolved.replays(args) {
        return Ok(if args.load.number.is_some() { number } else { 0 });
    }
    Ok(number + load::lead_in(&args.load, step)?)
}

fn data(
    args: &EvalscopeArgs,
    resolved: &ResolvedArgs,
    step: Step,
    environment: &Environment,
) -> Result<EvalscopeData, CliError> {
    if let Some(prompt) = args.own_prompt() {
        let text = text_or_file(PromptArgs::PROMPT, prompt, environment)?;
        return Ok(EvalscopeData::Prompt(EvalscopePromptSpec::new(text)));
    }
    let mut data = EvalscopeData::from_name(resolved.dataset);
    read_from(&mut data, args.dataset.dataset_path.as_ref().map(Into::into));
    shape(&mut data, args)?;
    converse(&mut data, args, step)?;
    set_apart(&mut data, args, resolved, step)?;
    Ok(data)
}

/// Sets the path of a data set that has a file.
fn read_from(data: &mut EvalscopeData, path: Option<PathBuf>) {
    match data {
        EvalscopeData::Texts(spec) => spec.path = path,
        EvalscopeData::Pictured(spec) => spec.path = path,
        EvalscopeData::Decisions(spec) => spec.path = path,
        EvalscopeData::Embedding(spec) => spec.path = path,
        EvalscopeData::Rerank(spec) => spec.path = path,
        EvalscopeData::Turns(spec) => spec.path = path,
        EvalscopeData::SweSmith(spec) => spec.path = path,
        EvalscopeData::Trie(spec) => spec.path = path,
        EvalscopeData::Workload(spec) => spec.path = path,
        _ => {}
    }
}

/// Sets the form of single requests: prefixes, pictures and batches.
fn shape(data: &mut EvalscopeData, args: &EvalscopeArgs) -> Result<(), CliError> {
    let prompt = &args.prompt;
    let prefix = at_least(PromptArgs::PREFIX_LENGTH, 0, prompt.prefix_length)?;
    match data {
        EvalscopeData::Random(spec) => {
            spec.prefix_tokens = prefix;
            spec.prefixes = some(PromptArgs::PREFIX_COUNT, prompt.prefix_count)?;
        }
        EvalscopeData::RandomVl(spec) => {
            spec.prefix_tokens = prefix;
            spec.images = some(PromptArgs::IMAGE_NUM, prompt.image_num)?;
            spec.width = some(PromptArgs::IMAGE_WIDTH, prompt.image_width)?;
            spec.height = some(PromptArgs::IMAGE_HEIGHT, prompt.image_height)?;
            spec.mode = picture_mode(&prompt.image_format)?;
        }
        EvalscopeData::RandomTurns(spec) => spec.prefix_tokens = prefix,
        EvalscopeData::Trie(spec) => spec.prefix_tokens = prefix,
        EvalscopeData::RandomEmbedding(spec) => spec.batch = batch(args, spec.batch)?,
        EvalscopeData::Embedding(spec) => spec.batch = batch(args, spec.batch)?,
        EvalscopeData::RandomRerank(spec) => {
            spec.documents = whole(args, "num_documents", spec.documents)?;
            if let Some(ratio) = args.sampling.extra_args.get("document_length_ratio") {
                let why = || {
                    CliError::setting(
                        SamplingArgs::EXTRA_ARGS,
                        format!("document_length_ratio must be a number, not {ratio}"),
                    )
                };
                spec.length_ratio = ratio.as_f64().ok_or_else(why)?;
            }
        }
        _ => {}
    }
    Ok(())
}

/// Parses the colour mode of pictures. Pillow, which draws evalscope's pictures, fails with any
/// other of its modes.
fn picture_mode(name: &str) -> Result<EvalscopePictureMode, CliError> {
    EvalscopePictureMode::from_name(name).ok_or_else(|| {
        let why = format!("must be RGB, RGBA or P, which alone can be drawn as PNG, not {name}");
        CliError::setting(PromptArgs::IMAGE_FORMAT, why)
    })
}

/// Sets the number of turns of conversations.
fn converse(data: &mut EvalscopeData, args: &EvalscopeArgs, step: Step) -> Result<(), CliError> {
    match data {
        EvalscopeData::RandomTurns(spec) => {
            (spec.least_turns, spec.most_turns) = turns(args)?;
            spec.pool = pool(args, step)?;
        }
        EvalscopeData::SweSmith(spec) => {
            spec.least_turns = fewest_turns(args)?;
            spec.most_turns = some_turns(args.turns.max_turns)?;
        }
        EvalscopeData::Trie(spec) => spec.most_turns = some_turns(args.turns.max_turns)?,
        EvalscopeData::Turns(spec) => spec.most_turns = some_turns(args.turns.max_turns)?,
        _ => {}
    }
    Ok(())
}

/// Applies the data set's own settings (`--dataset-args`). Refuses unknown keys.
fn set_apart(
    data: &mut EvalscopeData,
    args: &EvalscopeArgs,
    resolved: &ResolvedArgs,
    step: Step,
) -> Result<(), CliError> {
    let own = resolved.dataset_args.as_ref();
    match data {
        EvalscopeData::Texts(spec) => spec.target = target(resolved.dataset, own)?,
        EvalscopeData::SweSmith(spec) => {
            let settings: TurnSettings = read(own)?;
            spec.first_turn = settings.first_turn_length.unwrap_or(spec.first_turn);
            spec.later_turns = settings.subsequent_turn_length.unwrap_or(spec.later_turns);
            spec.chars_per_token = settings.chars_per_token.unwrap_or(spec.chars_per_token);
        }
        EvalscopeData::Workload(spec) => {
            let settings: WorkloadSettings = read(own)?;
            spec.speed = speed(settings.speed.unwrap_or(spec.speed))?;
            spec.model = settings.model_override;
            spec.models = settings.model_mapping.unwrap_or_default();
            spec.matches_outputs = settings.match_output_length;
            spec.own_headers = own_headers(args);
            if resolved.keeps_marks(args) {
                spec.marked_warm_ups = Some(load::lead_in(&args.load, step)?);
            }
        }
        _ if takes_turn_settings(resolved.dataset) => {
            let _: TurnSettings = read(own)?;
        }
        _ => {
            let NoSettings {} = read(own)?;
        }
    }
    Ok(())
}

/// Returns whether a data set of conversations accepts the settings of agents' conversations and
/// does not use them.
fn takes_turn_settings(name: EvalscopeName) -> bool {
    [
        EvalscopeName::RandomMultiTurn,
        EvalscopeName::ShareGptEnMultiTurn,
        EvalscopeName::ShareGptZhMultiTurn,
    ]
    .contains(&name)
}

/// Returns a text as it is given, or the content of the file whose path follows an `@`.
pub(super) fn text_or_file(
    flag: Flag,
    text: &str,
    environment: &Environment,
) -> Result<String, CliError> {
    let Some(path) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let read = environment.read(path);
    read.map_err(|error| CliError::setting(flag, format!("{path} cannot be read: {error}")))
}

/// Returns the length that texts are to have; `None` if the settings give none. The user's own
/// texts (`custom`) have no such setting.
fn target(name: EvalscopeName, own: Option<&JsonObject>) -> Result<Option<TargetLength>, CliError> {
    if name == EvalscopeName::Custom {
        return read::<NoSettings>(own).map(|NoSettings {}| None);
    }
    let settings: TextSettings = read(own)?;
    let refuse = |why: &str| Err(CliError::setting(DatasetArgs::DATASET_ARGS, why));
    match (settings.target_input_len, &settings.prefix_file) {
        (Some(0), _) => refuse("target_input_len must be > 0, got 0"),
        (None, Some(_)) => refuse("prefix_file requires target_input_len to be set"),
        (None, None) => Ok(None),
        (Some(tokens), _) => {
            let mut target = TargetLength::new(tokens);
            target.short = settings.input_len_mode;
            target.prefix_file = settings.prefix_file.map(Into::into);
            target.prefix_role = settings.prefix_role;
            Ok(Some(target))
        }
    }
}

type Count = NonZero<u32>;

fn some(flag: Flag, count: i64) -> Result<Count, CliError> {
    let count: u32 = at_least(flag, 1, count)?;
    Ok(Count::new(count).unwrap_or(Count::MIN))
}

fn fewest_turns(args: &EvalscopeArgs) -> Result<Count, CliError> {
    some(TurnsArgs::MIN_TURNS, args.turns.min_turns)
}

fn some_turns(most: Option<i64>) -> Result<Option<Count>, CliError> {
    let most: Option<u32> = some_at_least(TurnsArgs::MAX_TURNS, 1, most)?;
    Ok(most.and_then(Count::new))
}

fn turns(args: &EvalscopeArgs) -> Result<(Count, Count), CliError> {
    let least = fewest_turns(args)?;
    let most = some_turns(args.turns.max_turns)?.ok_or(CliError::Together(
        "random_multi_turn requires --max-turns to be set. Please specify the maximum number of \
         turns per conversation.",
    ))?;
    if most < least {
        let rule = format!("--max-turns ({most}) must be >= --min-turns ({least}).");
        return Err(CliError::Peer(rule));
    }
    Ok((least, most))
}

/// Returns the minimum number of conversations whose lengths are drawn, as evalscope draws them.
fn pool(args: &EvalscopeArgs, step: Step) -> Result<usize, CliError> {
    let (number, parallel): (usize, usize) = (
        at_least(LoadArgs::NUMBER, 1, step.number)?,
        at_least(LoadArgs::PARALLEL, 1, step.parallel)?,
    );
    Ok((4 * parallel).max(number + load::lead_in(&args.load, step)? + 1))
}

/// Returns the number of texts in a request; as in evalscope, the key `batch_size` of
/// `--extra-args` gives it. Returns `None` if `usual` is `None`.
fn batch(args: &EvalscopeArgs, usual: Option<Count>) -> Result<Option<Count>, CliError> {
    let Some(usual) = usual else { return Ok(None) };
    let size = whole(args, "batch_size", usual.get())?;
    let none = || CliError::setting(SamplingArgs::EXTRA_ARGS, "batch_size must be 1 or more");
    Count::new(size).ok_or_else(none).map(Some)
}

fn whole(args: &EvalscopeArgs, key: &str, usual: u32) -> Result<u32, CliError> {
    let Some(value) = args.sampling.extra_args.get(key) else { return Ok(usual) };
    let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
    let why = || format!("{key} must be a whole number, not {value}");
    number.ok_or_else(|| CliError::setting(SamplingArgs::EXTRA_ARGS, why()))
}

fn speed(speed: f64) -> Result<f64, CliError> {
    let why = || format!("speed must be > 0, got {speed}");
    (speed > 0.0)
        .then_some(speed)
        .ok_or_else(|| CliError::setting(DatasetArgs::DATASET_ARGS, why()))
}

/// Returns the names of the headers that the run itself sends and that recorded headers do not
/// replace.
fn own_headers(args: &EvalscopeArgs) -> Vec<String> {
    let given = args.target.headers.iter().flatten();
    let names = given.filter_map(|pair| pair.split_once('=')).map(|(name, _)| name.trim());
    let key = args.target.api_key.iter().map(|_| "Authorization");
    names.chain(key).map(str::to_owned).collect()
}
