//! Conversion of rows with images or videos to requests.

use servemark_core::{DatasetError, Medium, Sample, SpecialTokens};

use super::Asker;
use super::collection::Kind;
use super::text::{has_answer, lengths};
use crate::table::{Cell, Record};
use crate::vllm::limits::CONVERSATION;
use crate::vllm::{media, shape};

/// Builds a row's request, or returns `None` if the row is left out.
pub(super) fn ask(asker: &Asker<'_>, row: &Record) -> Result<Option<Sample>, DatasetError> {
    match asker.spec.name.kind() {
        Kind::MmStar => {
            let question = row.text("question")?;
            let question = question.split("Options:").next().unwrap_or_default().trim();
            showing(asker, question, picture(row, "image")?).map(Some)
        }
        Kind::Mmvu => {
            let question = format!("{} {}", row.text("question")?, choices(row)?);
            showing(asker, &question, video(asker, row)?).map(Some)
        }
        Kind::PicturedConversation => conversation(asker, row),
        Kind::VisionArenaBench => {
            let question = row.text("turns.0.0.content")?;
            showing(asker, question, picture(row, "images.0")?).map(Some)
        }
        _ => {
            let question = row.text("conversation.0.0.content")?;
            showing(asker, question, picture(row, "images.0")?).map(Some)
        }
    }
}

fn showing(asker: &Asker<'_>, text: &str, medium: Medium) -> Result<Sample, DatasetError> {
    let tokens = asker.tokenizer.count(text, SpecialTokens::Add)?;
    let mut sample = Sample::new(text, tokens, asker.output_tokens());
    sample.media = vec![medium];
    Ok(shape(sample, asker.spec.shape))
}

fn conversation(asker: &Asker<'_>, row: &Record) -> Result<Option<Sample>, DatasetError> {
    if !has_answer(row) {
        return Ok(None);
    }
    let (question, answer) =
        (row.text("conversations.0.value")?, row.text("conversations.1.value")?);
    let Some((tokens, output)) = lengths(asker, question, answer, CONVERSATION)? else {
        return Ok(None);
    };
    let mut sample = Sample::new(question, tokens, output);
    sample.media = vec![picture(row, "image")?];
    Ok(Some(shape(sample, asker.spec.shape)))
}

fn picture(row: &Record, path: &str) -> Result<Medium, DatasetError> {
    let cell = row.cell.at(path);
    let cell = cell.ok_or_else(|| row.malformed(format!("it has no image under {path}")))?;
    media::picture(cell).map_err(|why| row.malformed(why))
}

/// Formats a question's choices, each with its letter.
fn choices(row: &Record) -> Result<String, DatasetError> {
    let choices = row.cell.get("choices").and_then(Cell::parts);
    let choices = choices.ok_or_else(|| row.malformed("it has no choices".to_owned()))?;
    let choice = |(name, cell): &(String, Cell)| {
        // Python formats a missing choice as `None`.
        format!("{name}.{}", cell.text().unwrap_or("None"))
    };
    Ok(choices.iter().map(choice).collect::<Vec<_>>().join(" "))
}

/// Returns the video from the data set's local folder, or from its URL if there is no such folder.
fn video(asker: &Asker<'_>, row: &Record) -> Result<Medium, DatasetError> {
    let address = row.text("video")?;
    let on_hub = format!("https://huggingface.co/datasets/{}/resolve/main", asker.spec.name);
    let here = asker.folder.to_string_lossy();
    let place =
        if asker.folder.is_dir() { address.replace(&on_hub, &here) } else { address.into() };
    Ok(Medium::video(media::video_link(&place)))
}
