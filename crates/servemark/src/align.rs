//! Drawn prompts, cut to the length that they are to have by the server's own count of their tokens.
//!
//! Text that was made of so many tokens of one tokenizer may be more of another. vLLM's client asks
//! the server before it sends such text, and so do we; a server that does not count is believed to
//! count as we do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use servemark_client::{ClientError, ServerControl};
use servemark_core::{MonotonicClock, Prompt, Sample, Session};
use servemark_plan::BenchPlan;
use tokio::task::JoinSet;

use crate::RunContext;
use crate::audience::News;
use crate::discover::Names;
use crate::draw::Load;
use crate::server::Server;

/// The load with prompts of the length that they are to have.
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
    let asked = load.sessions.iter().take(plan.control.align_sample.get() as usize);
    match first_mismatch(asked, &server.control, model).await {
        Ok(None) => load,
        Ok(Some((counted, expected))) => {
            context.tell(&News::Aligning { counted, expected });
            let control = ServerControl::new(server.target.clone(), clock);
            cut(load, &Arc::new(Scissors { control, model: model.to_owned() })).await
        }
        Err(error) => {
            context.tell(&News::NotAligned { url: &url, model, error: &error });
            load
        }
    }
}

/// How many tokens the first prompt has that is not of the length that it is to have, and how many
/// it should have.
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

/// Cuts every prompt that is too long; one that cannot be cut stays as it is.
async fn cut(load: Load, scissors: &Arc<Scissors>) -> Load {
    let next = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..AT_ONCE.min(load.sessions.len()) {
        let (sessions, next) = (Arc::clone(&load.sessions), Arc::clone(&next));
        workers.spawn(Arc::clone(scissors).cut_all(sessions, next));
    }
    let cuts = workers.join_all().await;
    let mut sessions = load.sessions.to_vec();
    for (index, text) in cuts.into_iter().flatten() {
        sessions[index].first.prompt = text.into();
    }
    Load { sessions: sessions.into(), ..load }
}

/// Who cuts.
struct Scissors {
    control: ServerControl,
    model: String,
}

impl Scissors {
    /// Takes one session after the other and gives the prompts that were too long.
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

    /// A prompt's beginning, if all of it is too long.
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

/// How many prompts are asked about at once.
const AT_ONCE: usize = 64;
