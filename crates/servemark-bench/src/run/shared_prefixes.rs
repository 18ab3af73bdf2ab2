//! What the prompts of a run have in common with earlier ones: what a prefix cache is meant to find.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use serde_json::Value;
use servemark_core::{JsonObject, Prompt, Session, SharedPrefix};
use servemark_metrics::Contamination;

/// Returns what first prompts have in common with earlier ones: all of them if the data set with this
/// name shares prefixes by design and their content is known, otherwise those of the audited sessions.
pub(super) fn planned(dataset: &str, sessions: &[Session], audited: &[usize]) -> Vec<SharedPrefix> {
    let is_by_design = Contamination::is_shared_by_design(dataset);
    let all = if is_by_design { of_all(sessions) } else { Vec::new() };
    if all.is_empty() { of_chosen(sessions, audited) } else { all }
}

/// Returns for every session the longest beginning that its first prompt has in common with the
/// first prompt of an earlier session, in tokens. Equal prompts count: the data sets for which this
/// is asked repeat prompts by design. The result may be short by a sixteenth of a beginning that
/// is common to several groups of prompts.
///
/// It is empty if the content of a first prompt is not known.
fn of_all(sessions: &[Session]) -> Vec<SharedPrefix> {
    let mut begun: HashMap<u64, usize> = HashMap::new();
    let mut shared = Vec::with_capacity(sessions.len());
    for (place, session) in sessions.iter().enumerate() {
        let own = content(&session.first.prompt);
        if own.is_empty() {
            return Vec::new();
        }
        let mut like = None;
        let (mut hasher, mut end) = (DefaultHasher::new(), 0);
        // A block is found by the hash of all that comes up to its end.
        while end < own.len() {
            let start = end;
            end = (start + BLOCK.max(start / STEPS)).min(own.len());
            hasher.write(&own[start..end]);
            match begun.get(&hasher.finish()) {
                Some(earlier) => like = Some(*earlier),
                None => {
                    begun.insert(hasher.finish(), place);
                }
            }
        }
        let longest = like
            .map_or(0, |earlier: usize| common(&own, &content(&sessions[earlier].first.prompt)));
        shared.push(in_tokens(place, session, longest, own.len()));
    }
    shared
}

/// Returns for the chosen sessions the longest beginning that their first prompt has in common with
/// a different first prompt of an earlier session, in tokens.
fn of_chosen(sessions: &[Session], chosen: &[usize]) -> Vec<SharedPrefix> {
    let mut audited: Vec<(usize, Vec<u8>, usize)> =
        chosen.iter().map(|&place| (place, content(&sessions[place].first.prompt), 0)).collect();
    for (place, session) in sessions.iter().enumerate().take(chosen.last().map_or(0, |last| *last))
    {
        let earlier = content(&session.first.prompt);
        for (_, later, longest) in audited.iter_mut().filter(|audited| audited.0 > place) {
            if *later != earlier {
                *longest = (*longest).max(common(later, &earlier));
            }
        }
    }
    let tokens = |(place, content, longest): &(usize, Vec<u8>, usize)| {
        in_tokens(*place, &sessions[*place], *longest, content.len())
    };
    audited.iter().map(tokens).collect()
}

/// Converts a length in bytes of a session's first prompt, which has `all` bytes, to tokens.
fn in_tokens(place: usize, session: &Session, bytes: usize, all: usize) -> SharedPrefix {
    let tokens = session.first.prompt_tokens as usize * bytes / all.max(1);
    SharedPrefix::new(place, u32::try_from(tokens).unwrap_or(u32::MAX))
}

fn common(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

/// Returns the text or the token ids of a prompt as bytes. Each token has about the same number of
/// bytes, so lengths in bytes convert to tokens.
fn content(prompt: &Prompt) -> Vec<u8> {
    match prompt {
        Prompt::TokenIds(ids) => ids.iter().flat_map(|id| id.to_be_bytes()).collect(),
        Prompt::Messages(messages) => messages.iter().flat_map(message).collect(),
        prompt => prompt.text().map(|text| text.into_owned().into_bytes()).unwrap_or_default(),
    }
}

fn message(message: &JsonObject) -> Vec<u8> {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    match message.get("content") {
        Some(Value::Array(parts)) => {
            parts.iter().map(|part| text(part.get("text"))).collect::<String>().into_bytes()
        }
        content => text(content).into_bytes(),
    }
}

/// Number of bytes of the first blocks in which a prompt is compared with all earlier ones.
const BLOCK: usize = 32;

/// A later block is this part of what comes before it, so that a long prompt has few of them.
const STEPS: usize = 16;

#[cfg(test)]
mod tests {
    use servemark_core::Sample;

    use super::*;

    #[test]
    fn a_prefix_is_shared_with_earlier_and_different_prompts() {
        let session = |text: &str| Session::from(Sample::new(text, 10, 1));
        let texts = ["abcdefghij", "abcdexxxxx", "abcdefghij", "zzzzzzzzzz", "abcdefghxx"];
        let sessions = texts.map(session);
        let shared: Vec<u32> =
            of_chosen(&sessions, &[0, 1, 2, 3, 4]).iter().map(|it| it.tokens).collect();
        assert_eq!(shared, [0, 5, 5, 0, 8], "an equal prompt does not count");
        let ids = [[1_u32, 2, 3, 4], [1, 2, 9, 9]]
            .map(|ids| Session::from(Sample::new(ids.to_vec(), 4, 1)));
        assert_eq!(of_chosen(&ids, &[1]), [SharedPrefix::new(1, 2)]);
    }

    #[test]
    fn every_prompt_is_compared_with_all_earlier_ones() {
        let (system, other) = ("s".repeat(100), "o".repeat(100));
        let texts = [
            format!("{system}first question, which has words"),
            format!("{system}second question, with others"),
            format!("{other}first question, which has words"),
            format!("{system}first question, which has words"),
            format!("{other}third"),
        ];
        let tokens = |text: &String| u32::try_from(text.len()).unwrap();
        let sessions: Vec<Session> =
            texts.iter().map(|text| Sample::new(text.clone(), tokens(text), 1).into()).collect();
        let shared: Vec<u32> = of_all(&sessions).iter().map(|it| it.tokens).collect();
        let [whole, group] = [&texts[3], &system].map(tokens);
        assert_eq!(shared, [0, group, 0, whole, group]);
    }

    #[test]
    fn prompts_of_unknown_content_have_no_known_share() {
        let texts = Prompt::Texts(vec!["a".to_owned()]);
        let sessions: [Session; 2] =
            [Sample::new("known", 1, 1).into(), Sample::new(texts, 1, 1).into()];
        assert_eq!(of_all(&sessions), []);
    }
}
