//! Conversations built from published trajectories: the messages of users and tools are distributed
//! over turns of the required token counts.

use std::path::Path;

use serde_json::Value;
use servemark_core::{
    DatasetError, DrawContext, SpecialTokens, Tokenizer, TokenizerError, parallel,
};

use super::EvalscopeSweSmithSpec;
use crate::evalscope::measure::{Measure, user};
use crate::evalscope::{Conversation, EvalscopeSpec};
use crate::table::{Record, Records};
use crate::{python_json, split_files};

/// A trajectory and the lengths drawn for it.
struct Candidate {
    /// Texts of the users' and tools' messages.
    printed: Vec<String>,
    first_tokens: u32,
    later_tokens: u32,
    turns: u32,
}

impl EvalscopeSweSmithSpec {
    pub(super) fn build(
        &self,
        folder: &Path,
        of: &EvalscopeSpec,
        count: usize,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Conversation>, DatasetError> {
        let tokenizer = of.tokenizer(context)?;
        let candidates = self.candidates(folder, of, context)?;
        let measure = Measure::of(of, context);
        let special = tokenizer.added_special_ids()?;
        let cutter = Cutter { tokenizer, special };
        let name = "making conversations";
        parallel::first(name, &candidates, count, context.progress, |candidate| {
            let Some(turns) = cutter.turns(candidate)? else { return Ok(None) };
            let turns = turns.into_iter().map(|turn| turn.iter().map(|text| user(text)).collect());
            Conversation::of(turns.collect(), &measure)
        })
    }

    /// Returns the trajectories that are long enough, shuffled and rotated by the data set's
    /// offset, with their drawn lengths.
    fn candidates(
        &self,
        folder: &Path,
        of: &EvalscopeSpec,
        context: &mut DrawContext<'_>,
    ) -> Result<Vec<Candidate>, DatasetError> {
        let least = self.least_turns.get();
        let most = self.most_turns.map_or(least, std::num::NonZero::get);
        if most < least {
            let why =
                "`workload.dataset.most_turns` must be `workload.dataset.least_turns` or more"
                    .to_owned();
            return Err(DatasetError::Settings(why));
        }
        let mut long = self.long_enough(folder, most, context)?;
        context.random.numpy.shuffle(&mut long);
        let offset = usize::try_from(of.offset).unwrap_or(usize::MAX);
        if offset < long.len() {
            long.rotate_left(offset);
        }
        let random = &mut *context.random;
        let draw = |messages| Candidate {
            printed: messages,
            first_tokens: self.first_turn.draw(&mut random.python),
            later_tokens: self.later_turns.draw(&mut random.python),
            turns: random
                .numpy
                .randint(least.into(), i64::from(most) + 1)
                .map_or(least, |turns| turns.unsigned_abs() as u32),
        };
        Ok(long.into_iter().map(draw).collect())
    }

    /// Returns the texts of trajectories that may have enough tokens, estimated from their
    /// character counts.
    #[expect(clippy::cast_sign_loss, reason = "lengths are not negative")]
    fn long_enough(
        &self,
        folder: &Path,
        turns: u32,
        context: &DrawContext<'_>,
    ) -> Result<Vec<Vec<String>>, DatasetError> {
        let tokens = u64::from(self.first_turn.most())
            + u64::from(self.later_turns.most()) * u64::from(turns - 1);
        let least = (tokens as f64 * self.chars_per_token) as usize;
        let records = Records::open(&split_files::of_split(folder, None, "tool")?, &["messages"])?;
        let all: Vec<usize> = (0..records.lengths().iter().sum()).collect();
        let mut long = Vec::new();
        for rows in all.chunks(AT_ONCE) {
            let rows = records.read(rows)?;
            let texts = parallel::map("reading trajectories", &rows, context.progress, |row| {
                message_texts(row, least)
            });
            for texts in texts {
                long.extend(texts?);
            }
        }
        Ok(long)
    }
}

/// Returns the texts of users and tools in a trajectory, or `None` if they have fewer than `least`
/// characters.
fn message_texts(row: &Record, least: usize) -> Result<Option<Vec<String>>, DatasetError> {
    let messages = row.text("messages")?;
    if messages.chars().count() < least {
        return Ok(None);
    }
    let Ok(Value::Array(messages)) = python_json::parse(messages) else { return Ok(None) };
    let turns: Vec<String> = messages.iter().filter_map(message_text).collect();
    let long = turns.iter().map(|text| text.chars().count()).sum::<usize>() >= least;
    Ok((long).then_some(turns))
}

/// Returns the text of a user's or tool's message.
fn message_text(message: &Value) -> Option<String> {
    let role = message.get("role")?.as_str()?;
    let text = match message.get("content")? {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(part).collect::<Vec<_>>().join("\n"),
        _ => return None,
    };
    (matches!(role, "user" | "tool") && !text.is_empty()).then_some(text)
}

fn part(part: &Value) -> Option<&str> {
    match part {
        Value::String(text) => Some(text),
        part if part.get("type")? == "text" => Some(part.get("text")?.as_str().unwrap_or_default()),
        _ => None,
    }
}

/// Cuts texts into turns.
struct Cutter<'a> {
    tokenizer: &'a dyn Tokenizer,
    /// Ids of special tokens, which are removed from cut texts.
    special: Vec<u32>,
}

impl Cutter<'_> {
    /// Returns all turns, or `None` if there is not enough text for them.
    fn turns(&self, candidate: &Candidate) -> Result<Option<Vec<Vec<String>>>, TokenizerError> {
        let mut rest = candidate.printed.as_slice();
        let lengths = (0..candidate.turns)
            .map(|turn| if turn == 0 { candidate.first_tokens } else { candidate.later_tokens });
        let mut turns = Vec::new();
        for length in lengths {
            let turn = self.turn(&mut rest, length as usize)?;
            if turn.is_empty() {
                return Ok(None);
            }
            turns.push(turn);
        }
        Ok(Some(turns))
    }

    /// Takes texts of up to `tokens` tokens from `rest`. The last text is cut to fit.
    fn turn(&self, rest: &mut &[String], tokens: usize) -> Result<Vec<String>, TokenizerError> {
        let (mut turn, mut left) = (Vec::new(), tokens);
        while let [next, later @ ..] = *rest {
            let mut ids = self.tokenizer.encode(next, SpecialTokens::Omit)?;
            if ids.len() <= left {
                left -= ids.len();
                turn.push(next.clone());
                *rest = later;
                continue;
            }
            if left > 0 {
                ids.truncate(left);
                ids.retain(|id| self.special.binary_search(id).is_err());
                turn.push(self.tokenizer.decode(&ids)?);
                *rest = later;
            }
            break;
        }
        Ok(turn)
    }
}

/// Number of trajectories read at a time.
const AT_ONCE: usize = 256;
