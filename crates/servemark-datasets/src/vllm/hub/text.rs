//! Conversion of rows with text to requests.

use serde_json::json;
use servemark_core::{DatasetError, JsonObject, Sample, SpecialTokens};

use super::collection::Kind;
use super::{Asker, VllmHubSpec};
use crate::PromptFormat;
use crate::shaping::user_message;
use crate::table::{Cell, Record};
use crate::vllm::limits::{CONVERSATION, Limits};
use crate::vllm::shape;

/// Builds a row's request, or returns `None` if the row is left out.
pub(super) fn ask(asker: &Asker<'_>, row: &Record) -> Result<Option<Sample>, DatasetError> {
    match asker.spec.name.kind() {
        Kind::Aimo => answered(asker, row, "problem", "solution", AIMO),
        Kind::Conversation => conversation(asker, row),
        Kind::MlPerf => instructed(asker, row),
        Kind::Zeta => edited(asker, row),
        Kind::Blazedit if !is_close(asker.spec, row)? => Ok(None),
        Kind::Blazedit => text_sample(asker, &change(row)?).map(Some),
        Kind::Gsm8k => text_sample(asker, row.text("question")?).map(Some),
        Kind::HumanEval => text_sample(asker, row.text("prompt")?).map(Some),
        Kind::InstructCoder => text_sample(asker, &instruction(row)?).map(Some),
        _ => text_sample(asker, row.text("turns.0")?).map(Some),
    }
}

/// Builds the request of a text, raw or rendered with the chat template.
fn text_sample(asker: &Asker<'_>, text: &str) -> Result<Sample, DatasetError> {
    let prompt = match asker.spec.prompt_format {
        PromptFormat::Raw => text.to_owned(),
        PromptFormat::ChatTemplate => asker.tokenizer.apply_chat_template(&[user_message(text)])?,
    };
    let tokens = asker.tokenizer.count(&prompt, SpecialTokens::Add)?;
    Ok(Sample::new(prompt, tokens, asker.output_tokens()))
}

/// Builds the request of a question whose recorded answer gives the output length.
fn answered(
    asker: &Asker<'_>,
    row: &Record,
    question: &str,
    answer: &str,
    limits: Limits,
) -> Result<Option<Sample>, DatasetError> {
    let (question, answer) = (row.text(question)?, row.text(answer)?);
    let lengths = lengths(asker, question, answer, limits)?;
    Ok(lengths.map(|(prompt, output)| Sample::new(question, prompt, output)))
}

/// Returns the token counts of a question and its output, or `None` if they exceed the limits. With
/// a requested output length, the limits do not apply.
pub(super) fn lengths(
    asker: &Asker<'_>,
    question: &str,
    answer: &str,
    limits: Limits,
) -> Result<Option<(u32, u32)>, DatasetError> {
    let count = |text| asker.tokenizer.count(text, SpecialTokens::Add);
    let prompt = count(question)?;
    if let Some(output) = asker.spec.output_tokens {
        return Ok(Some((prompt, output)));
    }
    let output = count(answer)?;
    Ok(limits.hold(prompt, output).then_some((prompt, output)))
}

fn conversation(asker: &Asker<'_>, row: &Record) -> Result<Option<Sample>, DatasetError> {
    if !has_answer(row) {
        return Ok(None);
    }
    let (question, answer) = ("conversations.0.value", "conversations.1.value");
    let sample = answered(asker, row, question, answer, CONVERSATION)?;
    Ok(sample.map(|sample| shape(sample, asker.spec.shape)))
}

/// Returns whether a conversation has at least two turns.
pub(super) fn has_answer(row: &Record) -> bool {
    let turns = row.cell.get("conversations").and_then(Cell::items);
    turns.is_some_and(|turns| turns.len() >= 2)
}

/// Builds the request of an instruction. It is always rendered with the chat template, and the
/// limits apply even with a requested output length.
fn instructed(asker: &Asker<'_>, row: &Record) -> Result<Option<Sample>, DatasetError> {
    let message = |role: &str, text: &str| {
        let parts = [("role", role), ("content", text)];
        parts.map(|(key, text)| (key.to_owned(), json!(text))).into_iter().collect::<JsonObject>()
    };
    let messages =
        [message("system", row.text("system_prompt")?), message("user", row.text("question")?)];
    let tokenizer = asker.tokenizer;
    let prompt = tokenizer.apply_chat_template(&messages)?;
    let tokens = tokenizer.count(&prompt, SpecialTokens::Add)?;
    let output = match asker.spec.output_tokens {
        Some(output) => output,
        None => tokenizer.count(row.text("output")?, SpecialTokens::Omit)?,
    };
    let fits = CONVERSATION.hold(tokens, output);
    Ok(fits.then(|| Sample::new(prompt, tokens, output)))
}

/// Builds the request of a code edit: a user's edits and the excerpt to edit next. The output
/// length is always the row's own.
fn edited(asker: &Asker<'_>, row: &Record) -> Result<Option<Sample>, DatasetError> {
    let (events, excerpt, output) = (row.text("events")?, row.text("input")?, row.text("output")?);
    let prompt = format!(
        "### Instruction:\nYou are a code completion assistant and your task is to analyze user \
         edits and then rewrite an excerpt that the user provides, suggesting the appropriate \
         edits within the excerpt, taking into account the cursor location.\n\n### User Edits:\n\n\
         {events}\n\n### User Excerpt:\n\n{excerpt}\n\n### Response:\n\n"
    );
    let count = |text: &str| asker.tokenizer.count(text, SpecialTokens::Add);
    let (tokens, output) = (count(&prompt)?, count(from_mark(output))?);
    Ok(Some(Sample::new(prompt, tokens, output)))
}

/// Returns the text from the marker on, or the last character if there is no marker, as vLLM does.
fn from_mark(text: &str) -> &str {
    let last = || text.char_indices().next_back().map_or(0, |(at, _)| at);
    &text[text.find("<|editable_region_start|>").unwrap_or_else(last)..]
}

fn instruction(row: &Record) -> Result<String, DatasetError> {
    let (input, instruction) = (row.text("input")?, row.text("instruction")?);
    Ok(format!("{input}\n\n{instruction} Just output the code, do not include any explanation."))
}

fn is_close(spec: &VllmHubSpec, row: &Record) -> Result<bool, DatasetError> {
    let distance = row.cell.get("norm_distance").and_then(Cell::number);
    let missing = || row.malformed("it has no number under norm_distance".to_owned());
    distance.map(|distance| spec.distance.hold(distance)).ok_or_else(missing)
}

fn change(row: &Record) -> Result<String, DatasetError> {
    let (code, change) = (row.text("code")?, row.text("change_request")?);
    Ok(format!(
        "Given a code file, please apply the change requests and generate the new file.\n\n\
         Original file:\n```python\n{code}\n```\n\nChange request:\n{change}\n\nPlease generate \
         the new code file in the \"New file\" section below."
    ))
}

const AIMO: Limits = Limits { prompt: 2048, total: 32_000 };
