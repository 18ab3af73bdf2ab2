//! Resolves tokenizers, models and data sets that are given by name to local files.

#[cfg(feature = "peers")]
use servemark_core::DatasetError;
use servemark_core::MonotonicClock;
use servemark_datasets::DatasetSpec;
#[cfg(feature = "peers")]
use servemark_datasets::{VllmData, VllmHubSpec, VllmSpec};
#[cfg(feature = "engine")]
use servemark_engine::{CandleSpec, EngineSpec, LoadFormat};
use servemark_hub::{DatasetSource, FoundFile, Hub, ModelPart};
use servemark_plan::BenchPlan;
use servemark_tokenizer::TokenizerSpec;
#[cfg(feature = "engine")]
use servemark_tokenizer::hub_name;

use crate::observer::RunEvent;
use crate::run::discover::TokenizerSource;
use crate::{ExecuteError, RunContext};

/// Local files that a run reads.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) tokenizer: TokenizerSource,
    /// The plan with the path of its data set filled in.
    pub(crate) plan: BenchPlan,
}

/// Resolves the plan's data sets and this tokenizer to local paths.
pub(crate) async fn gather(
    plan: &BenchPlan,
    context: &RunContext,
    tokenizer: &TokenizerSource,
    clock: MonotonicClock,
) -> Result<Files, ExecuteError> {
    let hub = Hub::new(&context.hub, clock, context.observer.as_ref());
    let tokenizer = match local_tokenizer(context, &hub, tokenizer).await? {
        TokenizerSource::At(spec) if plan.model.mistral_tokenizer => {
            TokenizerSource::At(spec.mistrals())
        }
        found => found,
    };
    let mut plan = plan.clone();
    fill(&mut plan.workload.dataset, context, &hub).await?;
    for earlier in &mut plan.workload.after {
        fill(&mut earlier.dataset, context, &hub).await?;
    }
    Ok(Files { tokenizer, plan })
}

async fn local_tokenizer(
    context: &RunContext,
    hub: &Hub<'_>,
    tokenizer: &TokenizerSource,
) -> Result<TokenizerSource, ExecuteError> {
    match tokenizer {
        TokenizerSource::At(spec) => Ok(TokenizerSource::At(local(context, hub, spec).await?)),
        other => Ok(other.clone()),
    }
}

/// Returns the tokenizer with a local path instead of a name.
pub(crate) async fn local(
    context: &RunContext,
    hub: &Hub<'_>,
    spec: &TokenizerSpec,
) -> Result<TokenizerSpec, ExecuteError> {
    let Some(name) = spec.hub_name() else { return Ok(spec.clone()) };
    context.emit(&RunEvent::LookingUp {
        what: &format!("the tokenizer of {name}"),
        place: hub.models_place(),
    });
    Ok(TokenizerSpec::new(resolved_path(context, hub.model(name, ModelPart::Tokenizer).await?)))
}

/// Returns the engine with a local folder instead of its model's name.
#[cfg(feature = "engine")]
pub(crate) async fn of_engine(
    engine: &EngineSpec,
    context: &RunContext,
    clock: MonotonicClock,
) -> Result<EngineSpec, ExecuteError> {
    let mut engine = engine.clone();
    if let EngineSpec::Candle(CandleSpec { model: Some(model), load_format, .. }) = &mut engine
        && let Some(name) = hub_name(&model.to_string_lossy())
    {
        let part = match load_format {
            LoadFormat::Auto => ModelPart::Weights,
            LoadFormat::Dummy => ModelPart::Shape,
        };
        let hub = Hub::new(&context.hub, clock, context.observer.as_ref());
        let what = format!("the model {name}");
        context.emit(&RunEvent::LookingUp { what: &what, place: hub.models_place() });
        let found = hub.model(name, part).await?;
        *model = resolved_path(context, found).into();
    }
    Ok(engine)
}

async fn fill(
    dataset: &mut DatasetSpec,
    context: &RunContext,
    hub: &Hub<'_>,
) -> Result<(), ExecuteError> {
    #[cfg(feature = "peers")]
    if let DatasetSpec::Vllm(VllmSpec { data: VllmData::Hub(spec), .. }) = dataset {
        return fill_by_name(spec, context, hub).await;
    }
    if let Some((name, path)) = dataset.missing_path()
        && let Some(source) = DatasetSource::of(name)
    {
        // evalscope's data sets have its name, or ModelScope's, before theirs.
        let prefixes = ["evalscope/", "modelscope/"];
        let shown = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        let (what, place) = (format!("the data set {shown}"), source.place());
        context.emit(&RunEvent::LookingUp { what: &what, place: &place });
        *path = Some(resolved_path(context, hub.dataset(&source).await?).into());
    }
    Ok(())
}

/// Resolves a data set to a local path; a path that does not exist is taken as a name on the hub.
#[cfg(feature = "peers")]
async fn fill_by_name(
    spec: &mut VllmHubSpec,
    context: &RunContext,
    hub: &Hub<'_>,
) -> Result<(), ExecuteError> {
    let path = spec.path.take().unwrap_or_else(|| spec.name.as_str().into());
    if path.exists() {
        spec.path = Some(path);
        return Ok(());
    }
    let repository = path.to_string_lossy().into_owned();
    let what = format!("the data set {repository}");
    let source = source(spec, repository)?;
    context.emit(&RunEvent::LookingUp { what: &what, place: &source.place() });
    spec.path = Some(resolved_path(context, hub.dataset(&source).await?).into());
    Ok(())
}

/// Returns the source of a data set on the hub: its files or its table.
#[cfg(feature = "peers")]
fn source(spec: &VllmHubSpec, repository: String) -> Result<DatasetSource, DatasetError> {
    if let Some(files) = spec.files() {
        return Ok(DatasetSource::Files { repository, files });
    }
    let (subset, split) = spec.part()?;
    let (subset, split) = (subset.map(str::to_owned), split.to_owned());
    Ok(DatasetSource::Table { repository, subset, split })
}

/// Returns the path. Reports to the user if the copy may be out of date because the hub could not
/// be asked.
pub(crate) fn resolved_path(context: &RunContext, found: FoundFile) -> String {
    if let Some(error) = found.stale {
        let what = "ask the hub for the newest version, so the copy in the cache is used";
        context.emit(&RunEvent::Missed { what, reason: error.to_string() });
    }
    found.path.to_string_lossy().into_owned()
}
