//! Agent conversations with recorded lengths and generated text.

use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use servemark_core::{DatasetError, DrawContext, Task};
use servemark_rng::NumpyRandom;

use super::random::DrawSource;
use super::texts::file;
use super::{Conversation, EvalscopeData, EvalscopeName, EvalscopeSpec, RequestDraft};
use crate::{python_json, text_file};

/// Agent conversations of recorded lengths; their text is drawn at random.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct EvalscopeTrieSpec {
    /// Kind of work in the recorded conversations.
    pub workload: TrieWorkload,
    /// Path of the file; without one, the published data set is downloaded.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// Number of tokens in the common prefix of every turn, in addition to the turn's own tokens
    /// (`--prefix-length`).
    #[serde(default)]
    pub prefix_tokens: u32,
    /// Maximum number of turns; longer conversations are cut (`--max-turns`).
    #[serde(default)]
    pub most_turns: Option<NonZero<u32>>,
}

impl EvalscopeTrieSpec {
    pub(super) fn of(workload: TrieWorkload) -> EvalscopeData {
        EvalscopeData::Trie(Self { workload, path: None, prefix_tokens: 0, most_turns: None })
    }

    /// Makes the first `count` conversations of the file, one after the other.
    pub(super) fn converse(
        &self,
        of: &EvalscopeSpec,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Conversation>, DatasetError> {
        let name = self.workload.name().as_str();
        let source = DrawSource::begin(of, self.prefix_tokens, NonZero::<u32>::MIN, context)?;
        let path = file(name, self.path.as_deref(), Some(self.workload.published()))?;
        let text = text_file::read(&path)?;
        let task = Task::begin(context.progress, "making conversations", count as u64);
        let mut conversations = Vec::new();
        for (line, text) in text_file::lines(&text).take(count) {
            let bad = |why| text_file::malformed(&path, line, why);
            let trace = Trace::read(text).map_err(bad)?;
            let mut conversation = trace.write(&source, &mut context.random.numpy)?;
            let most = self.most_turns.map_or(usize::MAX, |most| most.get() as usize - 1);
            conversation.follow_ups.truncate(most);
            conversations.push(conversation);
            task.advance(1);
        }
        Ok(conversations)
    }
}

/// Recorded lengths of a conversation, in tokens, and its tool latencies, in seconds.
#[derive(Deserialize)]
struct Trace {
    input_prompt_length: u32,
    num_turns: usize,
    assistant_response_length: Vec<u32>,
    tool_call_output_length: Vec<u32>,
    tool_call_latency: Vec<f64>,
    final_assistant_response_length: u32,
}

impl Trace {
    fn read(text: &str) -> Result<Self, String> {
        let value = python_json::parse(text).map_err(|why| python_json::without_line(&why))?;
        let trace: Self = serde_json::from_value(value).map_err(|why| why.to_string())?;
        let lists = [trace.assistant_response_length.len(), trace.tool_call_output_length.len()];
        if lists != [trace.num_turns; 2] || trace.tool_call_latency.len() != trace.num_turns {
            return Err(format!("its lists do not have num_turns ({}) items", trace.num_turns));
        }
        let is_time = |latency: &f64| Duration::try_from_secs_f64(*latency).is_ok();
        if !trace.tool_call_latency.iter().all(is_time) {
            return Err("a tool_call_latency is not a time".to_owned());
        }
        Ok(trace)
    }

    /// Builds the conversation: a turn for the prompt and one for each tool output, which is sent
    /// one tool latency after the previous answer.
    fn write(
        &self,
        source: &DrawSource<'_>,
        numpy: &mut NumpyRandom,
    ) -> Result<Conversation, DatasetError> {
        let mut answers = self.assistant_response_length.iter().copied();
        let mut answers = answers.by_ref().chain([self.final_assistant_response_length]);
        let mut turn = |tokens: u32| {
            let tokens = tokens.max(1) as usize;
            let offset = numpy.randint(0, source.places().into()).unwrap_or_default();
            let text = source.text((offset.unsigned_abs(), 0), tokens, numpy)?;
            let max_tokens = answers.next();
            Ok(RequestDraft { max_tokens, ..source.turn_draft(&text) })
        };
        let first: Result<_, DatasetError> = turn(self.input_prompt_length);
        let first = first?;
        let tools = self.tool_call_latency.iter().zip(&self.tool_call_output_length);
        let follow_ups =
            tools.map(|(latency, tokens)| Ok((Duration::from_secs_f64(*latency), turn(*tokens)?)));
        let follow_ups = follow_ups.collect::<Result<_, DatasetError>>()?;
        Ok(Conversation { follow_ups, ..first.into() })
    }
}

/// Kind of work in the recorded conversations.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrieWorkload {
    /// Agentic coding.
    AgenticCoding,
    /// Questions about code.
    CodeQa,
    /// Office work.
    OfficeWork,
}

impl TrieWorkload {
    pub(super) fn name(self) -> EvalscopeName {
        match self {
            Self::AgenticCoding => EvalscopeName::TrieAgenticCoding,
            Self::CodeQa => EvalscopeName::TrieCodeQa,
            Self::OfficeWork => EvalscopeName::TrieOfficeWork,
        }
    }

    /// Returns the file's name in the published data set.
    fn published(self) -> &'static str {
        match self {
            Self::AgenticCoding => "agentic_coding_8k.jsonl",
            Self::CodeQa => "code_qa_8k.jsonl",
            Self::OfficeWork => "office_work_8k.jsonl",
        }
    }
}
