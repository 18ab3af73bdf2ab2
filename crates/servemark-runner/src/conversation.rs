//! Builds the prompt of each turn from the history of its session.

use std::borrow::Cow;
use std::iter;
use std::slice;

use servemark_core::{
    DeltaKind, DeltaRow, ErrorKind, FollowUp, JsonObject, Prompt, RequestError, RequestRecord,
    Sample, Session, Stamp,
};

use crate::{History, SessionSpec};

/// A session in progress: its history and the turns that are still to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Conversation<'a> {
    first: &'a Sample,
    to_come: slice::Iter<'a, FollowUp>,
    history: Vec<JsonObject>,
    rules: SessionRules,
}

/// How the prompts of a session's turns are built, and when the session ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionRules {
    history: History,
    echo_reasoning: bool,
    /// Whether the session continues after the time in which requests are sent is over.
    pub(crate) runs_out: bool,
}

impl SessionRules {
    pub(crate) fn of(spec: &SessionSpec) -> Self {
        let &SessionSpec { history, echo_reasoning, runs_out, .. } = spec;
        Self { history, echo_reasoning, runs_out }
    }

    /// Returns the text of an answer as it goes into the history. Reasoning is left out unless it
    /// is echoed, and tool calls always.
    fn answer(self, record: &RequestRecord) -> String {
        let is_visible = |row: &DeltaRow| match row.kind {
            DeltaKind::Reasoning => self.echo_reasoning,
            DeltaKind::ToolCall => false,
            _ => true,
        };
        record.pieces().filter(|(row, _)| is_visible(row)).map(|(_, text)| text).collect()
    }
}

/// The next turn of a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Turn<'a> {
    /// Zero-based position in the session.
    pub(crate) number: u32,
    /// Number of turns that follow it.
    pub(crate) follow_ups: u32,
    /// When the turn is due.
    pub(crate) due: Stamp,
    /// The messages that the turn adds to the history.
    pub(crate) adds: &'a Sample,
    /// The sample to send: the history and the added messages; or why it cannot be built.
    pub(crate) sample: Result<Sample, RequestError>,
}

impl<'a> Conversation<'a> {
    /// Creates the state of a session whose first request is sent.
    pub(crate) fn of(session: &'a Session, rules: SessionRules) -> Self {
        let Session { first, follow_ups, .. } = session;
        Self { first, to_come: follow_ups.iter(), history: Vec::new(), rules }
    }

    /// Returns the first request of a session. If the session has several turns, its messages are
    /// converted as the history's are; a request that was encoded before the run stays as it is.
    pub(crate) fn opening(session: &Session) -> Result<Cow<'_, Sample>, RequestError> {
        let first = &session.first;
        if session.follow_ups.is_empty() || matches!(first.prompt, Prompt::Ready(_)) {
            return Ok(Cow::Borrowed(first));
        }
        let mut opening = first.clone();
        opening.prompt = prompt_messages(first)?.into();
        Ok(Cow::Owned(opening))
    }

    /// Returns the number of turns that are still to be sent.
    pub(crate) fn follow_ups(&self) -> u32 {
        u32::try_from(self.to_come.len()).unwrap_or(u32::MAX)
    }

    /// Returns the turn that follows an answer. Nothing follows a failed request: there is no
    /// answer to add to the history.
    pub(crate) fn after(&mut self, record: &RequestRecord) -> Option<Turn<'a>> {
        let next = self.to_come.next().filter(|_| record.is_success())?;
        Some(Turn {
            number: record.turn + 1,
            follow_ups: self.follow_ups(),
            due: record.ended + next.pause,
            adds: &next.sample,
            sample: self.ask(record, &next.sample),
        })
    }

    fn ask(&mut self, record: &RequestRecord, next: &Sample) -> Result<Sample, RequestError> {
        if self.rules.history == History::Left {
            return Ok(next.clone());
        }
        if self.history.is_empty() {
            self.history = prompt_messages(self.first)?;
        }
        self.history.push(message("assistant", &self.rules.answer(record)));
        self.history.extend(prompt_messages(next)?);
        let before = tokens(record);
        let mut sample = next.clone();
        sample.prompt = self.history.clone().into();
        sample.prompt_tokens = before.saturating_add(next.prompt_tokens);
        sample.text_tokens = before.saturating_add(next.text_tokens);
        Ok(sample)
    }
}

/// Returns the samples that a session's turns sent: the first one, and one more for each of
/// `answers`.
pub fn sent_samples(
    session: &Session,
    spec: &SessionSpec,
    answers: &[&RequestRecord],
) -> Vec<Result<Sample, RequestError>> {
    let mut conversation = Conversation::of(session, SessionRules::of(spec));
    let opening = Conversation::opening(session).map(Cow::into_owned);
    let later = answers.iter().map_while(|answer| conversation.after(answer));
    iter::once(opening).chain(later.map(|turn| turn.sample)).collect()
}

/// Returns a sample's prompt as messages with a role and a content.
fn prompt_messages(sample: &Sample) -> Result<Vec<JsonObject>, RequestError> {
    match &sample.prompt {
        _ if !sample.media.is_empty() || sample.audio.is_some() => {
            Err(cannot("have pictures or audio"))
        }
        Prompt::Messages(messages) => messages.iter().map(plain).collect(),
        prompt => match prompt.text() {
            Some(text) => Ok(vec![message("user", &text)]),
            None => Err(cannot("be of token ids or of several texts")),
        },
    }
}

fn plain(message: &JsonObject) -> Result<JsonObject, RequestError> {
    let part = |key: &str| {
        let value =
            message.get(key).ok_or_else(|| cannot("have a message without role or content"));
        Ok((key.to_owned(), value?.clone()))
    };
    ["role", "content"].into_iter().map(part).collect()
}

fn message(role: &str, content: &str) -> JsonObject {
    [("role", role), ("content", content)]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.into()))
        .collect()
}

/// Returns the number of tokens of the conversation, last answer included; by the server's counts
/// where it gives them.
fn tokens(record: &RequestRecord) -> u32 {
    let usage = record.usage.unwrap_or_default();
    let prompt = usage.prompt_tokens.unwrap_or(record.planned.prompt_tokens);
    prompt.saturating_add(usage.completion_tokens.unwrap_or(record.planned.output_tokens))
}

fn cannot(what: &str) -> RequestError {
    RequestError::new(ErrorKind::Encode, format!("a session of several turns cannot {what}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use servemark_core::{Delta, Finish, Phase, Recorder, Sink, Usage};

    use super::*;

    const END: Stamp = Stamp::from_nanos(7);

    fn session(prompts: &[&str]) -> Session {
        let turn = |prompt: &&str| Sample::new(*prompt, 10, 5);
        let later = |prompt| FollowUp::new(turn(prompt)).after(Duration::from_nanos(3));
        Session::from(turn(&prompts[0])).followed_by(prompts[1..].iter().map(later).collect())
    }

    fn answered(pieces: &[(DeltaKind, &str)], usage: Option<Usage>) -> RequestRecord {
        let mut recorder = Recorder::new(0, Phase::Measure, &Sample::new("", 10, 5), Stamp::ZERO);
        for (kind, text) in pieces {
            recorder.at(END).delta(Delta::content(text).of_kind(*kind));
        }
        recorder.at(END).usage(usage.unwrap_or_default());
        recorder.body(END, 1);
        recorder.finish(Ok(Finish::default()), END)
    }

    #[track_caller]
    fn check_messages(turn: Option<Turn<'_>>, messages: &str) {
        let sample = turn.expect("a turn").sample.expect("a sample");
        assert_eq!(serde_json::to_string(&sample.prompt).unwrap(), messages);
    }

    #[test]
    fn every_turn_says_all_that_was_said() {
        let session = session(&["one", "two", "three"]);
        let mut conversation = Conversation::of(&session, SessionRules::default());
        check_messages(
            conversation
                .after(&answered(&[(DeltaKind::Content, "A"), (DeltaKind::Content, "B")], None)),
            r#"[{"role":"user","content":"one"},{"role":"assistant","content":"AB"},{"role":"user","content":"two"}]"#,
        );
        check_messages(
            conversation.after(&answered(&[(DeltaKind::Content, "C")], None)),
            r#"[{"role":"user","content":"one"},{"role":"assistant","content":"AB"},{"role":"user","content":"two"},{"role":"assistant","content":"C"},{"role":"user","content":"three"}]"#,
        );
        assert_eq!(conversation.after(&answered(&[], None)), None);
    }

    #[test]
    fn what_was_asked_can_be_put_again() {
        let session = session(&["one", "two", "three"]);
        let answer = answered(&[(DeltaKind::Content, "A")], None);
        let requested = sent_samples(&session, &SessionSpec::default(), &[&answer]);
        let prompts: Vec<String> = requested
            .into_iter()
            .map(|sample| serde_json::to_string(&sample.unwrap().prompt).unwrap())
            .collect();
        assert_eq!(
            prompts,
            [
                r#"[{"role":"user","content":"one"}]"#,
                r#"[{"role":"user","content":"one"},{"role":"assistant","content":"A"},{"role":"user","content":"two"}]"#,
            ]
        );
    }

    #[test]
    fn reasoning_is_said_again_only_if_asked_for() {
        let session = session(&["one", "two"]);
        let answer = answered(
            &[
                (DeltaKind::Reasoning, "Hm. "),
                (DeltaKind::Content, "Yes"),
                (DeltaKind::ToolCall, "{}"),
            ],
            None,
        );
        for (echo_reasoning, said) in [(false, "Yes"), (true, "Hm. Yes")] {
            let rules = SessionRules { echo_reasoning, ..SessionRules::default() };
            let turn = Conversation::of(&session, rules).after(&answer);
            check_messages(
                turn,
                &format!(
                    r#"[{{"role":"user","content":"one"}},{{"role":"assistant","content":"{said}"}},{{"role":"user","content":"two"}}]"#
                ),
            );
        }
    }

    #[test]
    fn without_a_history_a_turn_says_what_it_adds() {
        let session = session(&["one", "two"]);
        let rules = SessionRules { history: History::Left, ..SessionRules::default() };
        let turn = Conversation::of(&session, rules).after(&answered(&[], None)).unwrap();
        assert_eq!(turn.sample.unwrap(), session.follow_ups[0].sample);
    }

    #[test]
    fn a_turn_is_due_when_its_user_has_thought() {
        let session = session(&["one", "two", "three"]);
        let turn = Conversation::of(&session, SessionRules::default())
            .after(&answered(&[], None))
            .unwrap();
        assert_eq!((turn.number, turn.follow_ups), (1, 1));
        assert_eq!(turn.due, END + Duration::from_nanos(3));
    }

    #[test]
    fn the_history_is_counted_by_the_server_else_by_the_plan() {
        let session = session(&["one", "two"]);
        for (usage, expected) in
            [(None, 10 + 5 + 10), (Some(Usage::new(Some(30), Some(2))), 30 + 2 + 10)]
        {
            let turn = Conversation::of(&session, SessionRules::default())
                .after(&answered(&[], usage))
                .unwrap();
            let sample = turn.sample.unwrap();
            assert_eq!((sample.prompt_tokens, sample.text_tokens), (expected, expected));
        }
    }

    #[test]
    fn nothing_follows_a_failure() {
        let session = session(&["one", "two"]);
        let failed = Recorder::new(0, Phase::Measure, &session.first, Stamp::ZERO)
            .finish(Err(cannot("fail")), END);
        assert_eq!(Conversation::of(&session, SessionRules::default()).after(&failed), None);
    }

    #[test]
    fn messages_keep_role_and_content_where_there_are_several_turns() {
        let named: Vec<JsonObject> =
            serde_json::from_str(r#"[{"content":"x","name":"n","role":"tool"}]"#).unwrap();
        let single = Session::from(Sample::new(named.clone(), 1, 1));
        assert_eq!(Conversation::opening(&single).unwrap().prompt, Prompt::Messages(named));
        let several = single.followed_by(vec![FollowUp::new(Sample::new("y", 1, 1))]);
        let opening = Conversation::opening(&several).unwrap();
        assert_eq!(
            serde_json::to_string(&opening.prompt).unwrap(),
            r#"[{"role":"tool","content":"x"}]"#
        );
    }

    #[test]
    fn what_cannot_be_said_again_is_refused() {
        let ids = Session::from(Sample::new(vec![1, 2], 2, 1));
        let ids = ids.followed_by(vec![FollowUp::new(Sample::new("y", 1, 1))]);
        let refusal = Conversation::opening(&ids).unwrap_err();
        assert_eq!(refusal.kind, ErrorKind::Encode);
        assert!(refusal.message.ends_with("cannot be of token ids or of several texts"));
    }
}
