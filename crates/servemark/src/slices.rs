//! A text cut into prompts, before there is any run.

use servemark_core::MonotonicClock;
use servemark_datasets::{TextSlice, TextSlicesSpec};
use servemark_hub::{DatasetSource, Hub};
use servemark_tokenizer::TokenizerSpec;

use crate::drawing::drawing;
use crate::execute::on_this_thread;
use crate::{ExecuteError, RunContext, files};

/// Cuts `count` prompts out of a text, which may be on the web, with a tokenizer that may be on a
/// hub.
pub fn cut_text(
    spec: &TextSlicesSpec,
    count: usize,
    tokenizer: &TokenizerSpec,
    context: &RunContext,
) -> Result<Vec<TextSlice>, ExecuteError> {
    let gathering = gather(spec, tokenizer, context);
    let (spec, tokenizer) = on_this_thread(context.unless_stopped(gathering))?;
    let cut = move |context: &RunContext| {
        Ok(spec.cut(count, &tokenizer.load()?, context.audience.as_ref())?)
    };
    on_this_thread(drawing(context, cut))
}

/// Both as files of this machine.
async fn gather(
    spec: &TextSlicesSpec,
    tokenizer: &TokenizerSpec,
    context: &RunContext,
) -> Result<(TextSlicesSpec, TokenizerSpec), ExecuteError> {
    let clock = MonotonicClock::start();
    let hub = Hub::new(&context.hub, clock, context.audience.as_ref());
    let tokenizer = files::local(context, &hub, tokenizer).await?;
    let mut spec = spec.clone();
    let path = spec.path.to_string_lossy();
    if ["http://", "https://"].iter().any(|scheme| path.starts_with(scheme)) {
        let source = DatasetSource::web(path);
        spec.path = files::settled(context, hub.dataset(&source).await?).into();
    }
    Ok((spec, tokenizer))
}
