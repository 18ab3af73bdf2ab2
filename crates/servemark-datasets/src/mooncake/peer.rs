//! Prompts that SGLang 0.5.23 makes from a row: a fixed number of words per block, regardless of
//! the row's length, in a conversation with invented answers.

use servemark_core::{
    DatasetError, DrawContext, JsonObject, Sample, SpecialTokens, Tokenizer, TokenizerError,
    parallel,
};

use super::Row;

/// Returns the requests of all rows, with the rounds of a row together.
pub(super) fn samples(
    rows: &[Row],
    rounds: u32,
    context: &DrawContext<'_>,
) -> Result<Vec<Sample>, DatasetError> {
    let of_row = |row: &Row| -> Result<Vec<Sample>, TokenizerError> {
        (1..=rounds).map(|round| sample(row, round, context.tokenizer)).collect()
    };
    let samples = parallel::map("tokenizing prompts", rows, context.progress, of_row);
    let samples: Vec<Vec<Sample>> = samples.into_iter().collect::<Result<_, _>>()?;
    Ok(samples.into_iter().flatten().collect())
}

/// Returns SGLang's warm-up request. It is longer than the measured requests and made from the
/// file's first row, which may not be the earliest.
pub(super) fn warm_up(row: &Row, tokenizer: &dyn Tokenizer) -> Result<Sample, TokenizerError> {
    let text =
        question(row, WORDS_A_BLOCK_OF_WARM_UP, "Can you tell me a detailed story in 1000 words?");
    let tokens = tokenizer.count(&text, SpecialTokens::Add)?;
    Ok(Sample::new(text, tokens, row.output_tokens))
}

fn sample(row: &Row, round: u32, tokenizer: &dyn Tokenizer) -> Result<Sample, TokenizerError> {
    let messages = conversation(row, round);
    let text = tokenizer.apply_chat_template(&messages).unwrap_or_else(|_| plain(&messages));
    let tokens = tokenizer.count(&text, SpecialTokens::Add)?;
    Ok(Sample::new(text, tokens, row.output_tokens))
}

/// Returns the messages up to a round's question: alternating questions and invented answers.
fn conversation(row: &Row, round: u32) -> Vec<JsonObject> {
    let base = question(row, WORDS_A_BLOCK, "Tell me a story based on this context.");
    let answer = ["story"].repeat(row.output_tokens as usize).join(" ");
    let ask = |round: u32| message("user", format!("Round {round}: {base}"));
    let earlier = (1..round).flat_map(|round| [ask(round), message("assistant", answer.clone())]);
    earlier.chain([ask(round)]).collect()
}

/// Returns the words of all blocks, followed by the question.
fn question(row: &Row, words_a_block: usize, drafts: &str) -> String {
    let words = ["hi"].repeat(words_a_block).join(" ");
    let blocks = row.hash_ids.iter().map(|id| format!("{id}{words}"));
    blocks.chain([drafts.to_owned()]).collect()
}

fn message(role: &str, content: String) -> JsonObject {
    [("role", role.to_owned()), ("content", content)]
        .into_iter()
        .map(|(key, text)| (key.to_owned(), text.into()))
        .collect()
}

/// Formats messages as text, for a missing or failing chat template.
fn plain(messages: &[JsonObject]) -> String {
    let text = |message: &JsonObject, key: &str| {
        message.get(key).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
    };
    let line = |message| format!("{}: {}", text(message, "role"), text(message, "content"));
    messages.iter().map(line).collect::<Vec<_>>().join("\n")
}

const WORDS_A_BLOCK: usize = 128;
const WORDS_A_BLOCK_OF_WARM_UP: usize = 512;
