//! A frame of OpenAI's two routes, with only the fields that concern the output.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use servemark_core::{DeltaKind, ServerTimes, Sink, Usage};

use crate::count::Count;
use crate::server_times;
use crate::wire::{Cached, SmallList, Text};

/// A frame of a stream, or a whole document.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<SmallList<Choice<'a>>>,
    usage: Option<WireUsage>,
    #[serde(borrow)]
    sglext: Option<SglangExtension<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<Text<'a>>,
    #[serde(borrow)]
    metrics: Option<&'a RawValue>,
    #[serde(borrow)]
    timings: Option<&'a RawValue>,
    #[serde(borrow)]
    nvext: Option<&'a RawValue>,
}

/// The output in a frame, always one piece even if it has several parts.
#[derive(Debug)]
pub(super) struct Output<'a> {
    /// The index of the choice; the first one if the frame adds to several.
    pub(super) index: u32,
    pub(super) kind: DeltaKind,
    pub(super) text: Cow<'a, str>,
}

impl<'a> Chunk<'a> {
    /// Whether this is an error object, wrapped or flat.
    pub(super) fn is_error(&self) -> bool {
        self.error.is_some() || self.object.as_ref().is_some_and(|object| object.0 == "error")
    }

    /// Returns the server's counts, which any frame may have.
    pub(super) fn usage(&self) -> Option<Usage> {
        let wire = self.usage.as_ref();
        let details = self.cached().map(Cached::details);
        let total = details.map(|details| details.total());
        let cached = total.or(wire.and_then(WireUsage::cached_tokens));
        let counts = wire.map(WireUsage::counts);
        let steps = self.verify_steps();
        if counts.is_none() && cached.is_none() && steps.is_none() {
            return None;
        }
        let usage = counts.unwrap_or_default().with_cached(cached).with_cached_details(details);
        Some(usage.with_verify_steps(steps))
    }

    /// Reports counts that are not JSON integers to `out`.
    pub(super) fn report_counts(&self, out: &mut dyn Sink) {
        if let Some(usage) = &self.usage {
            usage.report(out);
        }
        if let Some(cached) = self.cached() {
            cached.report(out);
        }
        let spec = self.sglext.as_ref().and_then(|sglext| sglext.spec_tokens_details.as_ref());
        if let Some(details) = spec {
            details.choices().iter().for_each(|it| it.spec_verify_ct.report("spec_verify_ct", out));
        }
    }

    /// Returns where cached tokens were stored. SGLang adds this on request
    /// (`return_cached_tokens_details`).
    pub(super) fn cached(&self) -> Option<&Cached<'a>> {
        self.sglext.as_ref()?.cached_tokens_details.as_ref()
    }

    /// Returns the number of steps of speculative decoding. SGLang adds it on request
    /// (`return_spec_tokens_details`).
    fn verify_steps(&self) -> Option<u32> {
        let choices = self.sglext.as_ref()?.spec_tokens_details.as_ref()?.choices();
        let steps = choices.iter().filter_map(|choice| choice.spec_verify_ct.tokens());
        steps.reduce(u32::saturating_add)
    }

    /// Returns the server's own times of the request: vLLM's `metrics`, llama.cpp's `timings`,
    /// Dynamo's `nvext` or the `meta_info` of SGLang's documents.
    pub(super) fn server_times(&self) -> Option<ServerTimes> {
        let of_choice = || self.choices().find_map(|choice| choice.meta_info);
        (self.metrics.and_then(server_times::of_vllm))
            .or_else(|| self.timings.and_then(server_times::of_llama_cpp))
            .or_else(|| self.nvext.and_then(server_times::of_dynamo))
            .or_else(|| of_choice().and_then(server_times::of_sglang))
    }

    /// Whether the frame has output and no other relevant field.
    pub(super) fn is_output_alone(&self) -> bool {
        self.usage.is_none()
            && self.sglext.is_none()
            && self.metrics.is_none()
            && self.timings.is_none()
            && self.nvext.is_none()
            && self.finish_reasons().next().is_none()
    }

    /// Returns the output in the frame. `None` for a role, an empty text or counts without output.
    pub(super) fn output(&'a self) -> Option<Output<'a>> {
        let mut pieces = self.choices().flat_map(|choice| {
            let full = choice.pieces().filter(|(_, text)| !text.is_empty());
            full.map(|(kind, text)| (choice.index, kind, text))
        });
        let (index, kind, text) = pieces.next()?;
        let first = Output { index, kind, text: Cow::Borrowed(text) };
        Some(pieces.fold(first, |output, (_, kind, text)| Output {
            kind: leading(output.kind, kind),
            text: output.text + text,
            ..output
        }))
    }

    /// Whether the frame has choices, as opposed to counts alone.
    pub(super) fn has_choices(&self) -> bool {
        self.choices().next().is_some()
    }

    /// Returns the finish reasons with the indices of their choices.
    pub(super) fn finish_reasons(&self) -> impl Iterator<Item = (u32, &str)> {
        self.choices().filter_map(|choice| Some((choice.index, &*choice.finish_reason.as_ref()?.0)))
    }

    fn choices(&self) -> impl Iterator<Item = &Choice<'a>> {
        self.choices.iter().flat_map(SmallList::iter)
    }
}

/// Returns the kind of a frame that holds pieces of both kinds. Content takes precedence, because
/// it begins the actual answer, then tool calls.
fn leading(one: DeltaKind, other: DeltaKind) -> DeltaKind {
    match (one, other) {
        (DeltaKind::Content, _) | (_, DeltaKind::Content) => DeltaKind::Content,
        (DeltaKind::ToolCall, _) | (_, DeltaKind::ToolCall) => DeltaKind::ToolCall,
        _ => one,
    }
}

#[derive(Debug, Deserialize)]
struct Choice<'a> {
    #[serde(default)]
    index: u32,
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    delta: Option<Message<'a>>,
    /// The message of a whole document; boxed because it would enlarge every frame of a stream.
    #[serde(borrow)]
    message: Option<Box<Message<'a>>>,
    #[serde(borrow)]
    finish_reason: Option<Text<'a>>,
    #[serde(borrow)]
    meta_info: Option<&'a RawValue>,
}

impl Choice<'_> {
    fn pieces(&self) -> impl Iterator<Item = (DeltaKind, &str)> {
        let text = self.text.as_ref().map(|text| (DeltaKind::Content, &*text.0));
        let messages = self.delta.iter().chain(self.message.as_deref());
        text.into_iter().chain(messages.flat_map(Message::pieces))
    }
}

/// A message of the assistant, or a piece of one.
#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    reasoning: Option<Text<'a>>,
    #[serde(borrow)]
    content: Option<Text<'a>>,
    #[serde(borrow)]
    tool_calls: Option<SmallList<ToolCall<'a>>>,
}

impl Message<'_> {
    /// Returns reasoning, then content, in the order in which the peers join them, then tool calls.
    fn pieces(&self) -> impl Iterator<Item = (DeltaKind, &str)> {
        let reasoning = self.reasoning().map(|text| (DeltaKind::Reasoning, text));
        let content = self.content.as_ref().map(|text| (DeltaKind::Content, &*text.0));
        let calls = self.tool_calls.iter().flat_map(SmallList::iter).flat_map(ToolCall::pieces);
        let calls = calls.map(|text| (DeltaKind::ToolCall, text));
        reasoning.into_iter().chain(content).chain(calls)
    }

    /// Returns the reasoning, which servers send under either name. A server that uses both names
    /// sends the same text twice.
    fn reasoning(&self) -> Option<&str> {
        let names = [&self.reasoning_content, &self.reasoning];
        names.into_iter().flatten().map(|text| &*text.0).find(|text| !text.is_empty())
    }
}

#[derive(Debug, Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<Text<'a>>,
}

impl ToolCall<'_> {
    fn pieces(&self) -> impl Iterator<Item = &str> {
        let texts = self.function.iter().flat_map(|function| [&function.name, &function.arguments]);
        texts.flatten().map(|text| &*text.0)
    }
}

#[derive(Debug, Deserialize)]
struct WireUsage {
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
    prompt_tokens_details: Option<PromptDetails>,
}

impl WireUsage {
    fn counts(&self) -> Usage {
        Usage::new(self.prompt_tokens.tokens(), self.completion_tokens.tokens())
    }

    fn cached_tokens(&self) -> Option<u32> {
        self.prompt_tokens_details.as_ref()?.cached_tokens.tokens()
    }

    fn report(&self, out: &mut dyn Sink) {
        self.prompt_tokens.report("prompt_tokens", out);
        self.completion_tokens.report("completion_tokens", out);
        if let Some(details) = &self.prompt_tokens_details {
            details.cached_tokens.report("cached_tokens", out);
        }
    }
}

#[derive(Debug, Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Count,
}

#[derive(Debug, Deserialize)]
struct SglangExtension<'a> {
    #[serde(borrow)]
    cached_tokens_details: Option<Cached<'a>>,
    spec_tokens_details: Option<SpecDetails>,
}

/// Details of the only choice, or of each one.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum SpecDetails {
    Each(Vec<SpecOfChoice>),
    One(SpecOfChoice),
}

#[derive(Debug, Deserialize)]
struct SpecOfChoice {
    #[serde(default)]
    spec_verify_ct: Count,
}

impl SpecDetails {
    fn choices(&self) -> &[SpecOfChoice] {
        match self {
            Self::Each(choices) => choices,
            Self::One(choice) => std::slice::from_ref(choice),
        }
    }
}
