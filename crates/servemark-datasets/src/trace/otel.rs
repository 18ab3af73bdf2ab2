//! Agent spans that follow OpenTelemetry's conventions for generative AI.
//!
//! A model call is a follow-up if its messages continue those of an earlier call; in the run, the
//! new answer replaces the recorded one in its history. Every other call begins a session at its
//! recorded time. The time between an answer and the next call, mostly spent in tools, becomes the
//! pause before that call.

mod span;

use std::fs;
use std::path::{Path, PathBuf};

use servemark_core::{DatasetError, DrawContext, FollowUp, JsonObject, Sample, Session, parallel};

use self::span::Span;
use super::Trace;
use crate::instant;

/// Reads the first `count` sessions from a file, or from all JSON files of a folder.
pub(super) fn read(
    path: &Path,
    count: usize,
    context: &DrawContext<'_>,
) -> Result<Trace, DatasetError> {
    let spans: Vec<Vec<Span>> =
        files(path)?.iter().map(|file| span::read(file)).collect::<Result<_, _>>()?;
    let mut chains: Vec<Vec<Call<'_>>> = spans.iter().flat_map(|spans| chains(spans)).collect();
    chains.sort_by_key(|chain| chain[0].span.start);
    chains.truncate(count);
    let Some(start) = chains.first().map(|chain| chain[0].span.start) else {
        return Ok(Trace::new(Vec::new()));
    };
    let session = |chain: &Vec<Call<'_>>| {
        let session = session(chain, context)?;
        Ok(session.beginning(instant::since(start, chain[0].span.start)))
    };
    let sessions = parallel::map("tokenizing calls", &chains, context.progress, session);
    Ok(Trace::new(sessions.into_iter().collect::<Result<_, DatasetError>>()?))
}

fn files(path: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |source| DatasetError::Read { path: path.to_owned(), source };
    let entries = fs::read_dir(path).map_err(failed)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = entries.collect::<Result<_, _>>().map_err(failed)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}

/// A span with its position in a session.
struct Call<'a> {
    span: &'a Span,
    /// Messages added to the previous call's messages and answer.
    new: &'a [JsonObject],
}

/// Groups the spans of a file into sessions. Each span continues the call with the longest history
/// that it repeats, unless another span already continues that call.
fn chains(spans: &[Span]) -> Vec<Vec<Call<'_>>> {
    let mut in_order: Vec<&Span> = spans.iter().collect();
    in_order.sort_by_key(|span| span.start);
    let mut chains: Vec<Vec<Call<'_>>> = Vec::new();
    for span in in_order {
        let last = |chain: &[Call<'_>]| chain.last().and_then(|call| span.beyond(call.span));
        let best = (chains.iter_mut())
            .filter_map(|chain| last(chain).map(|new| (new, chain)))
            .min_by_key(|(new, _)| new.len());
        match best {
            Some((new, chain)) => chain.push(Call { span, new }),
            None => chains.push(vec![Call { span, new: &span.messages }]),
        }
    }
    chains
}

fn session(chain: &[Call<'_>], context: &DrawContext<'_>) -> Result<Session, DatasetError> {
    let sample = |call: &Call<'_>| -> Result<Sample, DatasetError> {
        let tokens = span::count(call.new, context.tokenizer)?;
        let output = call.span.output_tokens(context.tokenizer)?;
        Ok(Sample::new(call.new.to_vec(), tokens, output))
    };
    let turn = |pair: &[Call<'_>]| {
        let pause = instant::since(pair[0].span.end, pair[1].span.start);
        Ok(FollowUp::new(sample(&pair[1])?).after(pause))
    };
    let follow_ups = chain.windows(2).map(turn).collect::<Result<_, DatasetError>>()?;
    Ok(Session::from(sample(&chain[0])?).followed_by(follow_ups))
}
