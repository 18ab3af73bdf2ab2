//! Converts the flags of data sets with pictures, videos or recordings, and of those of the hub.

use servemark_datasets::{
    Bounds, HubDataset, HubReading, MediaBucket, MediaDraws, MediaLimits, PictureReader,
    PromptFormat, PromptShape, SpeechPrompt, VllmCustomAudioSpec, VllmCustomImageSpec, VllmHubSpec,
    VllmRandomMmSpec,
};

use super::args::{CorporaArgs, DatasetArgs, RandomArgs, TargetArgs, VllmArgs};
use super::buckets::Buckets;
use super::rows::{custom_output, lengths, order, path, prompt_format, too_few};
use crate::error::CliError;
use crate::number::{at_least, some_at_least};

/// Returns the data set of random texts with random pictures and videos.
pub(super) fn random_mm(args: &VllmArgs) -> Result<VllmRandomMmSpec, CliError> {
    check_route(args, &["openai-chat", "openai-audio"], |_| false)?;
    let spec = VllmRandomMmSpec {
        lengths: lengths(args)?,
        prefix_tokens: at_least(RandomArgs::RANDOM_PREFIX_LEN, 0, args.random.random_prefix_len)?,
        media: media(&args.random)?,
        shape: shape(args),
    };
    Ok(spec)
}

fn media(args: &RandomArgs) -> Result<MediaDraws, CliError> {
    let mut media = MediaDraws::default();
    let items = args.random_mm_base_items_per_request;
    media.items = at_least(RandomArgs::RANDOM_MM_BASE_ITEMS_PER_REQUEST, 0, items)?;
    media.spread = args.random_mm_num_mm_items_range_ratio;
    let flag = RandomArgs::RANDOM_MM_LIMIT_MM_PER_PROMPT;
    media.limits =
        serde_json::from_value::<MediaLimits>(args.random_mm_limit_mm_per_prompt.clone())
            .map_err(|error| CliError::setting(flag, format!("cannot be used: {error}")))?;
    let Buckets(buckets) = &args.random_mm_bucket_config;
    media.buckets = buckets.iter().map(bucket).collect::<Result<_, _>>()?;
    Ok(media)
}

fn bucket(([height, width, frames], weight): &([i64; 3], f64)) -> Result<MediaBucket, CliError> {
    let side = |side: i64| at_least(RandomArgs::RANDOM_MM_BUCKET_CONFIG, 1, side);
    let (height, width, frames) = (side(*height)?, side(*width)?, side(*frames)?);
    Ok(MediaBucket { height, width, frames, weight: *weight })
}

/// Returns the data set of a file of prompts with pictures.
pub(super) fn custom_image(args: &VllmArgs) -> Result<VllmCustomImageSpec, CliError> {
    let mut spec =
        VllmCustomImageSpec { path: path(&args.dataset), ..VllmCustomImageSpec::default() };
    let output = args.dataset.output_len.unwrap_or(args.corpora.custom_output_len);
    spec.output_tokens = at_least(CorporaArgs::CUSTOM_OUTPUT_LEN, 0, output)?;
    if args.corpora.custom_ensure_client_side_data {
        spec.pictures = PictureReader::Client;
    }
    spec.shape = shape(args);
    (spec.order, spec.too_few) = (order(&args.dataset), too_few(&args.dataset));
    Ok(spec)
}

/// Returns the data set of a file of prompts with recordings. Chat messages are not rendered with a
/// template.
pub(super) fn custom_audio(args: &VllmArgs) -> Result<VllmCustomAudioSpec, CliError> {
    let mut spec = VllmCustomAudioSpec {
        path: path(&args.dataset),
        output: custom_output(args)?,
        ..VllmCustomAudioSpec::default()
    };
    spec.prompt_format = prompt_format(&args.dataset);
    if args.dataset.enable_multimodal_chat {
        spec.prompt_format = PromptFormat::Raw;
        spec.shape = PromptShape::Message;
    }
    (spec.order, spec.too_few) = (order(&args.dataset), too_few(&args.dataset));
    Ok(spec)
}

/// Returns a data set of the hub.
pub(super) fn hub(args: &VllmArgs) -> Result<VllmHubSpec, CliError> {
    let corpora = &args.corpora;
    let name = hub_name(args)?;
    check_hub_route(args, name)?;
    let mut spec = VllmHubSpec::new(name);
    let given = args.dataset.dataset_path.as_ref();
    spec.path = given.filter(|path| *path != name.as_str()).map(Into::into);
    spec.subset.clone_from(&corpora.hf_subset);
    spec.split.clone_from(&corpora.hf_split);
    if corpora.no_stream {
        spec.reading = HubReading::Whole;
    }
    let output = args.dataset.output_len.or(corpora.hf_output_len);
    spec.output_tokens = some_at_least(CorporaArgs::HF_OUTPUT_LEN, 1, output)?;
    spec.prompt_format = prompt_format(&args.dataset);
    spec.shape = shape(args);
    (spec.order, spec.too_few) = (order(&args.dataset), too_few(&args.dataset));
    spec.distance = Bounds::new(corpora.blazedit_min_distance, corpora.blazedit_max_distance);
    spec.audio_seconds = Bounds::new(corpora.asr_min_audio_len_sec, corpora.asr_max_audio_len_sec);
    let tokenizer = args.target.tokenizer.as_ref().or(args.target.model.as_ref());
    spec.speech_prompt =
        tokenizer.map_or(SpeechPrompt::None, |name| SpeechPrompt::of_tokenizer(name));
    spec.categories = categories(corpora);
    Ok(spec)
}

/// Returns the data set with the name `--hf-name`, or else with the name in `--dataset-path`.
fn hub_name(args: &VllmArgs) -> Result<HubDataset, CliError> {
    let (path, name) = (args.dataset.dataset_path.as_deref(), args.corpora.hf_name.as_deref());
    let flag = if name.is_some() { CorporaArgs::HF_NAME } else { DatasetArgs::DATASET_PATH };
    let known: Result<HubDataset, _> = name.or(path).unwrap_or_default().parse();
    let known =
        known.map_err(|error| CliError::setting(flag, format!("cannot be used: {error}")))?;
    if known.needs_its_path() && path != Some(known.as_str()) {
        let why = format!("must be {known}: vLLM knows this data set by no other name");
        return Err(CliError::setting(DatasetArgs::DATASET_PATH, why));
    }
    Ok(known)
}

fn check_hub_route(args: &VllmArgs, name: HubDataset) -> Result<(), CliError> {
    if name.calls_tools() {
        return check_route(args, &["openai-chat"], |_| false);
    }
    if name.is_multimodal() {
        let embeds = |backend: &str| backend.contains("embeddings-");
        return check_route(args, &["openai-chat", "openai-audio"], embeds);
    }
    Ok(())
}

/// Refuses a data set whose contents the route of the backend cannot carry.
fn check_route(args: &VllmArgs, routes: &[&str], also: fn(&str) -> bool) -> Result<(), CliError> {
    let backend = args.target.backend.as_str();
    if routes.contains(&backend) || also(backend) {
        return Ok(());
    }
    let routes = routes.join(" or ");
    let why = format!("cannot send what this data set has; use --backend {routes}");
    Err(CliError::setting(TargetArgs::BACKEND, why))
}

fn categories(args: &CorporaArgs) -> Vec<String> {
    let named = args.bfcl_categories.as_deref().unwrap_or_default().split(',').map(str::trim);
    named.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Returns a warning if messages are sent to a route for texts, as vLLM's client does.
pub(super) fn remark(args: &VllmArgs) -> Option<String> {
    let backend = args.target.backend.as_str();
    let takes_messages = backend.ends_with("-chat") || backend.starts_with("openai-embeddings-");
    let is_lost =
        args.dataset.enable_multimodal_chat && !takes_messages && backend != "openai-audio";
    is_lost.then(|| {
        let (flag, backends) = (DatasetArgs::ENABLE_MULTIMODAL_CHAT, TargetArgs::BACKEND);
        format!(
            "{flag}: {backends} {backend} takes texts, and is sent messages as they stand, as by vLLM's \
             client; choose {backends} openai-chat"
        )
    })
}

/// Returns a warning if audio is put into messages as vLLM's client puts it, which servers refuse.
pub(super) fn bare_audio(args: &VllmArgs) -> Option<String> {
    let backend = args.target.backend.as_str();
    let mend = match args.dataset.dataset_name.as_str() {
        "custom_audio" if !args.dataset.enable_multimodal_chat => {
            DatasetArgs::ENABLE_MULTIMODAL_CHAT.to_string()
        }
        "hf" if hub_name(args).is_ok_and(HubDataset::is_audio) => {
            format!("{} openai-audio", TargetArgs::BACKEND)
        }
        _ => return None,
    };
    (backend != "openai-audio").then(|| {
        format!(
            "messages hold samples or paths in place of audio files, as by vLLM's client, which servers \
             refuse; {mend} sends files"
        )
    })
}

/// Returns whether prompts with pictures are sent as messages.
pub(super) fn shape(args: &VllmArgs) -> PromptShape {
    if args.dataset.enable_multimodal_chat { PromptShape::Message } else { PromptShape::Text }
}

#[cfg(test)]
mod tests {
    use crate::Environment;
    use crate::vllm::parse;

    fn dataset_json(line: &str) -> Result<String, String> {
        let words = shell(line).into_iter().chain(["--model".into(), "tiny".into()]);
        let parsed = parse("vllm bench serve", words, &Environment::default());
        let plan = parsed.map_err(|error| error.to_string())?.plan;
        Ok(serde_json::to_string(&plan.workload.dataset).unwrap())
    }

    /// Splits a command line without quotes at its blanks.
    fn shell(line: &str) -> Vec<std::ffi::OsString> {
        line.split(' ').filter(|word| !word.is_empty()).map(Into::into).collect()
    }

    #[track_caller]
    fn has(line: &str, part: &str) {
        let plan = dataset_json(line).unwrap();
        assert!(plan.contains(part), "{plan}");
    }

    #[track_caller]
    fn refuses(line: &str, part: &str) {
        let refusal = dataset_json(line).unwrap_err();
        assert!(refusal.contains(part), "{refusal}");
    }

    const CHAT: &str = "--backend openai-chat --endpoint /v1/chat/completions";

    #[test]
    fn pictures_of_noise_are_described() {
        let line = format!(
            "{CHAT} --dataset-name random-mm --random-mm-base-items-per-request 2 \
             --random-mm-bucket-config {{(8,9,1):1}} --input-len 7 --enable-multimodal-chat"
        );
        has(&line, r#""buckets":[{"height":8,"width":9,"frames":1,"weight":1.0}]"#);
        has(&line, r#""items":2"#);
        has(&line, r#""input_tokens":7"#);
        has(&line, r#""shape":"message""#);
    }

    #[test]
    fn pictures_need_a_route_that_shows_them() {
        refuses("--dataset-name random-mm", "use --backend openai-chat or openai-audio");
        refuses(
            "--dataset-name hf --dataset-path Lin-Chen/MMStar",
            "use --backend openai-chat or openai-audio",
        );
        let tools = "gorilla-llm/Berkeley-Function-Calling-Leaderboard";
        refuses(
            &format!("--dataset-name hf --dataset-path {tools}"),
            "cannot send what this data set has; use --backend openai-chat",
        );
    }

    #[test]
    fn a_copy_of_a_data_set_needs_its_name() {
        has(
            "--dataset-name hf --dataset-path openai/gsm8k",
            r#""name":"openai/gsm8k","path":null"#,
        );
        has(
            "--dataset-name hf --dataset-path copy --hf-name openai/gsm8k --output-len 3",
            r#""name":"openai/gsm8k","path":"copy""#,
        );
        refuses("--dataset-name hf --dataset-path copy", "there is no data set \"copy\"");
        refuses(
            "--dataset-name hf --dataset-path copy --hf-name vdaita/edit_5k_char",
            "must be vdaita/edit_5k_char",
        );
    }

    #[test]
    fn a_chats_recordings_come_with_bare_prompts() {
        let line = format!("{CHAT} --dataset-name custom_audio --dataset-path a.jsonl");
        has(&line, r#""prompt_format":"chat_template""#);
        has(&format!("{line} --enable-multimodal-chat"), r#""prompt_format":"raw""#);
    }
}
