//! Decodes the answer to several prompts. Each event has an `index` that selects its prompt.

use serde::Deserialize;
use serde_json::value::RawValue;
use servemark_core::{Delta, ErrorKind, RequestError, Sample, Sink};
use servemark_sse::Event;

use super::BatchServer;
use crate::wire::{Frame, Text, in_stream, parse};
use crate::{Decoder, Flow, GenerateDecoder};

/// Decodes the answer to several prompts. The records show which prompts were answered.
#[derive(Clone, Debug)]
pub struct BatchDecoder {
    answers: Answers,
    is_over: bool,
}

#[derive(Clone, Debug)]
enum Answers {
    /// A decoder for each prompt, as for a single answer of `/generate`.
    Sglang(Vec<GenerateDecoder>),
    /// Whether the choice of each prompt is finished.
    Vllm(Vec<bool>),
}

impl BatchDecoder {
    /// Returns a decoder for the answer to a sample.
    pub(super) fn new(server: BatchServer, sample: &Sample) -> Self {
        let prompts = sample.prompt.records();
        let answers = match server {
            BatchServer::Sglang => Answers::Sglang(vec![GenerateDecoder::new(sample); prompts]),
            BatchServer::Vllm => Answers::Vllm(vec![false; prompts]),
        };
        Self { answers, is_over: false }
    }

    /// Returns the number of prompts whose answers are not finished.
    fn open(&self) -> usize {
        match &self.answers {
            Answers::Sglang(decoders) => {
                decoders.iter().filter(|decoder| !decoder.is_finished()).count()
            }
            Answers::Vllm(finished) => finished.iter().filter(|is_finished| !**is_finished).count(),
        }
    }
}

impl Decoder for BatchDecoder {
    fn event(&mut self, event: Event<'_>, out: &mut dyn Sink) -> Result<Flow, RequestError> {
        match Frame::of_event(event)? {
            Frame::Blank => Ok(Flow::Continue),
            Frame::Done => {
                self.is_over = true;
                Ok(Flow::Done)
            }
            Frame::Json(json) => {
                match &mut self.answers {
                    Answers::Sglang(decoders) => generated(decoders, event, out),
                    Answers::Vllm(finished) => completed(finished, json, out),
                }?;
                Ok(Flow::Continue)
            }
        }
    }

    /// Decodes a list of answers in the order of the prompts.
    fn document(&mut self, body: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
        let Answers::Sglang(decoders) = &mut self.answers else {
            let message = "expected an event stream, got one document";
            return Err(RequestError::new(ErrorKind::Decode, message));
        };
        if !body.trim_ascii_start().starts_with(b"[") {
            return Err(in_stream(body));
        }
        let items: Vec<&RawValue> = parse(body)?;
        let count = decoders.len();
        self.is_over = true;
        for (place, item) in items.iter().enumerate() {
            let decoder = decoders.get_mut(place).ok_or_else(|| unexpected_index(place, count))?;
            out.prompt(place);
            decoder.document(item.get().as_bytes(), out)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), RequestError> {
        let open = self.open();
        if self.is_over || open == 0 {
            return Ok(());
        }
        let story = format!("the answer stopped while {open} of its prompts were open");
        Err(RequestError::new(ErrorKind::Truncated, story))
    }
}

/// Decodes an event of `/generate`. An event without an index is an error of the whole batch.
fn generated(
    decoders: &mut [GenerateDecoder],
    event: Event<'_>,
    out: &mut dyn Sink,
) -> Result<(), RequestError> {
    let Some(index) = index_of(event.data())? else { return Err(in_stream(event.data())) };
    let count = decoders.len();
    let decoder = decoders.get_mut(index).ok_or_else(|| unexpected_index(index, count))?;
    out.prompt(index);
    decoder.event(event, out).map(drop)
}

#[derive(Debug, Deserialize)]
struct Indexed {
    index: Option<usize>,
}

/// Returns the index of an event's prompt. SGLang writes it as the last key, after all text so far,
/// so it is looked up from the end before the event is parsed.
fn index_of(data: &[u8]) -> Result<Option<usize>, RequestError> {
    if let Some(index) = last_index(data) {
        return Ok(Some(index));
    }
    parse::<Indexed>(data).map(|indexed| indexed.index)
}

fn last_index(data: &[u8]) -> Option<usize> {
    let rest = data.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end();
    let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, number) = rest.split_at(rest.len() - digits);
    // The key must follow a closing brace and a comma; otherwise it could be the end of a text that
    // looks like a key.
    let before = before.trim_ascii_end().strip_suffix(b":")?.strip_suffix(b"\"index\"")?;
    let is_key = before.trim_ascii_end().ends_with(b"},");
    std::str::from_utf8(number).ok().filter(|_| is_key)?.parse().ok()
}

fn unexpected_index(index: usize, prompts: usize) -> RequestError {
    let story = format!("the answer names a prompt {index} of a batch of {prompts}");
    RequestError::new(ErrorKind::Decode, story)
}

#[derive(Debug, Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    choices: Vec<Choice<'a>>,
}

#[derive(Debug, Deserialize)]
struct Choice<'a> {
    index: usize,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
}

/// Decodes an event of `/v1/completions`.
fn completed(finished: &mut [bool], json: &[u8], out: &mut dyn Sink) -> Result<(), RequestError> {
    let chunk: Chunk<'_> = parse(json)?;
    if chunk.error.is_some() {
        return Err(in_stream(json));
    }
    let count = finished.len();
    for choice in &chunk.choices {
        let is_finished =
            finished.get_mut(choice.index).ok_or_else(|| unexpected_index(choice.index, count))?;
        out.prompt(choice.index);
        // vLLM sends no token counts here; its own benchmark counts every event of a choice as
        // output.
        out.delta(Delta::content(choice.text.as_ref().map_or("", |text| &text.0)));
        if let Some(reason) = &choice.finish_reason {
            out.finish_reason(&reason.0);
            *is_finished = true;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
