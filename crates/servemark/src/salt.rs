//! Prompts that begin as no other point's of a sweep do.

use serde_json::Value;
use servemark_core::{
    JsonObject, LazyText, Prompt, Prose, Sample, Session, SpecialTokens, Tokenizer, TokenizerError,
};

/// Puts `salt` and a blank before the first prompt of every session; later turns repeat it. What it
/// adds counts as part of the prompt.
pub(crate) fn season(
    sessions: &mut [Session],
    salt: &str,
    tokenizer: &dyn Tokenizer,
) -> Result<(), TokenizerError> {
    let salt = format!("{salt} ");
    let ids = tokenizer.encode(&salt, SpecialTokens::Omit)?;
    for session in sessions {
        salted(&mut session.first, &salt, &ids);
    }
    Ok(())
}

fn salted(sample: &mut Sample, salt: &str, ids: &[u32]) {
    let times = match &mut sample.prompt {
        Prompt::Text(text) => front(text, salt),
        Prompt::Lazy(text) => {
            *text = LazyText::new(Salted { salt: salt.to_owned(), text: text.clone() });
            1
        }
        Prompt::TokenIds(prompt) => {
            prompt.splice(0..0, ids.iter().copied());
            1
        }
        Prompt::Messages(messages) => messages.first_mut().map_or(0, |first| message(first, salt)),
        Prompt::Texts(texts) => texts.iter_mut().map(|text| front(text, salt)).sum(),
        Prompt::Ranking { query, .. } => front(query, salt),
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

/// A message is a text, or parts of which one or more are texts.
fn message(message: &mut JsonObject, salt: &str) -> u32 {
    match message.get_mut("content") {
        Some(Value::String(text)) => front(text, salt),
        Some(Value::Array(parts)) => {
            let mut texts = parts.iter_mut().filter_map(|part| part.get_mut("text"));
            match texts.next() {
                Some(Value::String(text)) => front(text, salt),
                _ => 0,
            }
        }
        _ => 0,
    }
}

fn front(text: &mut String, salt: &str) -> u32 {
    text.insert_str(0, salt);
    1
}

/// A text that is written later, with something before it.
#[derive(Debug)]
struct Salted {
    salt: String,
    text: LazyText,
}

impl Prose for Salted {
    fn text(&self) -> String {
        self.salt.clone() + &self.text.text()
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
        season(&mut sessions, "ab", &ByteTokenizer).unwrap();
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
    fn every_kind_of_prompt_begins_with_the_salt() {
        #[derive(Debug)]
        struct Fixed;
        impl Prose for Fixed {
            fn text(&self) -> String {
                "text".to_owned()
            }
        }
        check("text", "ab text", 3);
        check(
            LazyText::new(Fixed),
            LazyText::new(Salted { salt: "ab ".to_owned(), text: LazyText::new(Fixed) }),
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
