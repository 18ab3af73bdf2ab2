//! Cuts a text into prompts.

use servemark_core::MonotonicClock;
use servemark_datasets::{TextSlice, TextSlicesSpec};
use servemark_hub::{DatasetSource, Hub};
use servemark_tokenizer::TokenizerSpec;

use crate::run::drawing::drawing;
use crate::run::files;
use crate::runtime::on_this_thread;
use crate::{ExecuteError, RunContext};

/// Cuts `count` prompts out of a text, using a tokenizer. The text may be a URL, and the
/// tokenizer may be a name on a hub.
pub fn cut_text(
    spec: &TextSlicesSpec,
    count: usize,
    tokenizer: &TokenizerSpec,
    context: &RunContext,
) -> Result<Vec<TextSlice>, ExecuteError> {
    let gathering = gather(spec, tokenizer, context);
    let (spec, tokenizer) = on_this_thread(context.unless_stopped(gathering))?;
    let cut = move |context: &RunContext| {
        Ok(spec.cut(count, &tokenizer.load()?, context.observer.as_ref())?)
    };
    on_this_thread(drawing(context, cut))
}

/// Resolves the text and the tokenizer to local files.
async fn gather(
    spec: &TextSlicesSpec,
    tokenizer: &TokenizerSpec,
    context: &RunContext,
) -> Result<(TextSlicesSpec, TokenizerSpec), ExecuteError> {
    let clock = MonotonicClock::start();
    let hub = Hub::new(&context.hub, clock, context.observer.as_ref());
    let tokenizer = files::local(context, &hub, tokenizer).await?;
    let mut spec = spec.clone();
    let path = spec.path.to_string_lossy();
    if ["http://", "https://"].iter().any(|scheme| path.starts_with(scheme)) {
        let source = DatasetSource::web(path);
        spec.path = files::resolved_path(context, hub.dataset(&source).await?).into();
    }
    Ok((spec, tokenizer))
}
