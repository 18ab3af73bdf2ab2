//! Cuts drawn prompts to their planned length by the server's own token count.
//!
//! Text that was drawn to have a given number of tokens with one tokenizer may have more tokens
//! with another. Like vLLM's client, this module asks the server's `/tokenize` route before the
//! run; if the server has no such route, the drawn lengths are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use servemark_client::{ClientError, ServerControl};
use servemark_core::{MonotonicClock, Prompt, Sample, Session};
use servemark_plan::BenchPlan;
use tokio::task::JoinSet;

use crate::RunContext;
use crate::observer::RunEvent;
use crate::run::discover::Names;
use crate::run::draw::Load;
use crate::run::server::Server;

/// Returns the load with prompts cut to their planned lengths, if the plan asks for it.
pub(crate) async fn align(
    plan: &BenchPlan,
    context: &RunContext,
    server: &Server,
    names: &Names,
    load: Load,
    clock: MonotonicClock,
) -> Load {
    if !plan.control.align_prompts {
        return load;
    }
    let (url, model) = (server.url(), names.model.as_str());
    let requested = load.sessions.iter().take(plan.control.align_sample.get() as usize);
    match first_mismatch(requested, &server.control, model).await {
        Ok(None) => load,
        Ok(Some((counted, expected))) => {
            context.emit(&RunEvent::Aligning { counted, expected });
            let control = ServerControl::new(server.target.clone(), clock);
            cut(load, &Arc::new(PromptTruncator { control, model: model.to_owned() })).await
        }
        Err(error) => {
            context.emit(&RunEvent::NotAligned { url: &url, model, error: &error });
            load
        }
    }
}

/// Returns the server's token count and the planned count of the first prompt for which they
/// differ.
async fn first_mismatch(
    sessions: impl Iterator<Item = &Session>,
    control: &ServerControl,
    model: &str,
) -> Result<Option<(usize, usize)>, ClientError> {
    for Session { first: sample, .. } in sessions {
        let Prompt::Text(text) = &sample.prompt else { continue };
        let counted = control.tokenize(model, text).await?.len();
        if counted != sample.prompt_tokens as usize {
            return Ok(Some((counted, sample.prompt_tokens as usize)));
        }
    }
    Ok(None)
}

/// Cuts every prompt that is too long; a prompt that cannot be cut is left unchanged.
async fn cut(load: Load, truncator: &Arc<PromptTruncator>) -> Load {
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..AT_ONCE.min(load.sessions.len()) {
        let (sessions, next) = (Arc::clone(&load.sessions), Arc::clone(&next));
        workers.spawn(Arc::clone(truncator).cut_all(sessions, next));
    }
    let cuts = workers.join_all().await;
    let mut sessions = load.sessions.to_vec();
    for (index, text) in cuts.into_iter().flatten() {
        sessions[index].first.prompt = text.into();
    }
    Load { sessions: sessions.into(), ..load }
}

/// Tokenizes prompts on the server and cuts those that are too long.
struct PromptTruncator {
    control: ServerControl,
    model: String,
}

impl PromptTruncator {
    /// Takes sessions from the shared index `next` until none is left; returns the index and the
    /// new text of each cut prompt.
    async fn cut_all(
        self: Arc<Self>,
        sessions: Arc<[Session]>,
        next: Arc<AtomicUsize>,
    ) -> Vec<(usize, String)> {
        let mut cuts = Vec::new();
        loop {
            let index = next.fetch_add(1, Relaxed);
            let Some(session) = sessions.get(index) else { return cuts };
            if let Ok(Some(text)) = self.cut(&session.first).await {
                cuts.push((index, text));
            }
        }
    }

    /// Returns the beginning of a prompt if the prompt is too long.
    async fn cut(&self, sample: &Sample) -> Result<Option<String>, ClientError> {
        let Prompt::Text(text) = &sample.prompt else { return Ok(None) };
        let tokens = self.control.tokenize(&self.model, text).await?;
        match tokens.get(..sample.prompt_tokens as usize) {
            Some(kept) if kept.len() < tokens.len() => {
                self.control.detokenize(&self.model, kept).await.map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// Number of concurrent tokenize requests.
const AT_ONCE: usize = 64;
