//! Adds a prefix to prompts, so that no two points of a sweep share a cached prefix.

use serde_json::Value;
use servemark_core::{
    JsonObject, LazyText, NoTokenizer, Prompt, Sample, Session, SpecialTokens, TextSource,
    Tokenizer, TokenizerError,
};

/// Puts `prefix` and a blank before the first prompt of every session; later turns repeat it. The
/// added tokens count as part of the prompt. A run without a tokenizer does not count them, and
/// cannot send prompts of token ids.
pub(crate) fn prefix_prompts(
    sessions: &mut [Session],
    prefix: &str,
    tokenizer: Option<&dyn Tokenizer>,
) -> Result<(), TokenizerError> {
    let prefix = format!("{prefix} ");
    let ids = match tokenizer {
        Some(tokenizer) => tokenizer.encode(&prefix, SpecialTokens::Omit)?,
        None if sessions.iter().any(|session| has_token_ids(&session.first)) => {
            NoTokenizer.encode(&prefix, SpecialTokens::Omit)?
        }
        None => Vec::new(),
    };
    for session in sessions {
        add_prefix(&mut session.first, &prefix, &ids);
    }
    Ok(())
}

fn has_token_ids(sample: &Sample) -> bool {
    matches!(sample.prompt, Prompt::TokenIds(_) | Prompt::Batch(_))
}

fn add_prefix(sample: &mut Sample, prefix: &str, ids: &[u32]) {
    let times = match &mut sample.prompt {
        Prompt::Text(text) => front(text, prefix),
        Prompt::Lazy(text) => {
            *text = LazyText::new(PrefixedText { prefix: prefix.to_owned(), text: text.clone() });
            1
        }
        Prompt::TokenIds(prompt) => {
            prompt.splice(0..0, ids.iter().copied());
            1
        }
        Prompt::Messages(messages) => {
            messages.first_mut().map_or(0, |first| message(first, prefix))
        }
        Prompt::Texts(texts) => texts.iter_mut().map(|text| front(text, prefix)).sum(),
        Prompt::Ranking { query, .. } => front(query, prefix),
        Prompt::Batch(prompts) => {
            prompts.iter_mut().map(|prompt| drop(prompt.splice(0..0, ids.iter().copied()))).count()
                as u32
        }
        _ => 0,
    };
    let more = times * ids.len() as u32;
    sample.prompt_tokens += more;
    sample.text_tokens += more;
}

/// Prefixes the text of a message, or its first part that has a text. Returns the number of
/// prefixes added, 0 or 1.
fn message(message: &mut JsonObject, prefix: &str) -> u32 {
    match message.get_mut("content") {
        Some(Value::String(text)) => front(text, prefix),
        Some(Value::Array(parts)) => {
            let mut texts = parts.iter_mut().filter_map(|part| part.get_mut("text"));
            match texts.next() {
                Some(Value::String(text)) => front(text, prefix),
                _ => 0,
            }
        }
        _ => 0,
    }
}

fn front(text: &mut String, prefix: &str) -> u32 {
    text.insert_str(0, prefix);
    1
}

/// A lazily written text with a prefix.
#[derive(Debug)]
struct PrefixedText {
    prefix: String,
    text: LazyText,
}

impl TextSource for PrefixedText {
    fn text(&self) -> String {
        self.prefix.clone() + &self.text.text()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use servemark_testkit::ByteTokenizer;

    use super::*;

    #[track_caller]
    fn check(prompt: impl Into<Prompt>, expected: impl Into<Prompt>, more: u32) {
        let mut sessions = [Session::from(Sample::new(prompt, 10, 5))];
        prefix_prompts(&mut sessions, "ab", Some(&ByteTokenizer)).unwrap();
        let [Session { first, .. }] = sessions;
        assert_eq!((first.prompt, first.prompt_tokens), (expected.into(), 10 + more));
        assert_eq!(first.text_tokens, 10 + more);
    }

    fn messages(content: &Value) -> Prompt {
        let message = |content: &Value| json!({"role": "user", "content": content});
        let object = |value| serde_json::from_value::<JsonObject>(value).unwrap();
        Prompt::Messages(vec![object(message(content)), object(message(&json!("more")))])
    }

    #[test]
    fn without_a_tokenizer_texts_are_prefixed_and_token_ids_are_refused() {
        let mut sessions = [Session::from(Sample::new("text", 1, 5))];
        prefix_prompts(&mut sessions, "ab", None).unwrap();
        assert_eq!(sessions[0].first.prompt, "ab text".into());
        assert_eq!(sessions[0].first.prompt_tokens, 1);
        let mut sessions = [Session::from(Sample::new(vec![1, 2], 2, 5))];
        assert!(prefix_prompts(&mut sessions, "ab", None).is_err());
    }

    #[test]
    fn every_kind_of_prompt_begins_with_the_salt() {
        #[derive(Debug)]
        struct Fixed;
        impl TextSource for Fixed {
            fn text(&self) -> String {
                "text".to_owned()
            }
        }
        check("text", "ab text", 3);
        check(
            LazyText::new(Fixed),
            LazyText::new(PrefixedText { prefix: "ab ".to_owned(), text: LazyText::new(Fixed) }),
            3,
        );
        check(vec![1, 2], vec![u32::from(b'a'), u32::from(b'b'), u32::from(b' '), 1, 2], 3);
        check(messages(&json!("text")), messages(&json!("ab text")), 3);
        let parts = |text| json!([{"type": "image_url"}, {"type": "text", "text": text}]);
        check(messages(&parts("text")), messages(&parts("ab text")), 3);
        let texts = |one: &str, two: &str| Prompt::Texts(vec![one.to_owned(), two.to_owned()]);
        check(texts("one", "two"), texts("ab one", "ab two"), 6);
        let ranking =
            |query: &str| Prompt::Ranking { query: query.to_owned(), documents: Vec::new() };
        check(ranking("query"), ranking("ab query"), 3);
    }
}
