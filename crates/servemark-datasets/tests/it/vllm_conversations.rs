//! Tests multi-turn conversations as in vLLM's Rust client.

use std::io::Write;
use std::num::NonZero;
use std::time::Duration;

use servemark_core::{DrawContext, NoProgress, Session};
use servemark_datasets::{
    ConversationSource, ConversationSpec, DatasetSpec, RandomTurnsSpec, ShareGptTurnsSpec,
    VllmData, VllmSpec,
};
use servemark_rng::RandomState;
use servemark_testkit::ByteTokenizer;

use crate::tokenizer;

fn draw(spec: ConversationSpec, count: usize) -> Vec<Session> {
    let mut spec = VllmSpec::new(VllmData::Conversations(spec));
    spec.seed = 7;
    spec.request_ids = Some("id-".to_owned());
    let mut random = RandomState::seeded(7);
    let mut context = DrawContext::new(tokenizer("gpt2"), &mut random, &NoProgress);
    DatasetSpec::Vllm(spec).draw(count, &mut context).unwrap().sessions
}

fn random(change: impl Fn(&mut RandomTurnsSpec)) -> Vec<Session> {
    let mut spec = RandomTurnsSpec {
        first_tokens: 20,
        later_tokens: 8,
        output_tokens: 5,
        ..RandomTurnsSpec::default()
    };
    change(&mut spec);
    let mut spec = ConversationSpec::new(ConversationSource::Random(spec));
    spec.full_answers = true;
    spec.pause = Duration::from_millis(30);
    draw(spec, 6)
}

fn text(session: &Session, turn: usize) -> String {
    session.samples().nth(turn).unwrap().prompt.text().unwrap().into_owned()
}

#[test]
fn a_first_turn_is_long_and_later_ones_are_short() {
    let sessions = random(|_| {});
    for session in &sessions {
        let lengths: Vec<u32> = session.samples().map(|sample| sample.prompt_tokens).collect();
        // The length of a text may change when it is decoded and encoded again.
        let off = lengths.iter().zip([20_u32, 8, 8]).map(|(found, wanted)| found.abs_diff(wanted));
        assert!(off.max().unwrap() <= 1, "{lengths:?}");
        let drafts = session.samples().map(|sample| sample.extra_body["min_tokens"].as_u64());
        assert!(drafts.eq([Some(5); 3]));
        assert!(session.follow_ups.iter().all(|turn| turn.pause == Duration::from_millis(30)));
    }
    assert_ne!(text(&sessions[0], 0), text(&sessions[1], 0));
    assert_eq!(random(|_| {}), sessions);
}

#[test]
fn conversations_and_their_turns_have_names() {
    let sessions = random(|_| {});
    let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        sessions[1].follow_ups[1].sample.headers,
        [named("X-Session-ID", "id-conv-1"), named("x-request-id", "id-conv-1-turn2")]
    );
}

#[test]
fn how_many_turns_there_are_is_drawn() {
    let sessions = random(|spec| {
        spec.fewest = NonZero::new(1).unwrap();
        spec.most = NonZero::new(4).unwrap();
    });
    let turns: Vec<usize> = sessions.iter().map(Session::turns).collect();
    assert!(turns.iter().all(|turns| (1..=4).contains(turns)), "{turns:?}");
    assert!(turns.iter().any(|count| *count != turns[0]), "{turns:?}");
}

#[test]
fn what_is_shared_is_shared_by_all_or_within_a_conversation() {
    let sessions = random(|spec| {
        spec.later_tokens = 20;
        spec.shared_by_all = 0.25;
        spec.shared_within = 0.5;
    });
    let alike = |one: (usize, usize), other: (usize, usize)| {
        let [one, other] = [one, other].map(|(session, turn)| text(&sessions[session], turn));
        one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
    };
    let by_all = alike((0, 0), (1, 0));
    assert!(by_all > 0);
    assert_eq!(alike((2, 1), (3, 2)).min(by_all), by_all);
    assert!(alike((1, 0), (1, 1)) > by_all);
    assert!(alike((1, 0), (1, 1)) < text(&sessions[1], 0).len());
}

#[test]
fn a_turn_must_have_a_token_of_its_own() {
    let mut spec = RandomTurnsSpec::default();
    (spec.first_tokens, spec.later_tokens, spec.shared_within) = (20, 10, 0.5);
    let spec = ConversationSpec::new(ConversationSource::Random(spec));
    let mut random = RandomState::seeded(7);
    let mut context = DrawContext::new(&ByteTokenizer, &mut random, &NoProgress);
    let spec = DatasetSpec::Vllm(VllmSpec::new(VllmData::Conversations(spec)));
    let error = spec.draw(1, &mut context).unwrap_err().to_string();
    assert!(error.contains("`workload.dataset.source.random.later_tokens`"), "{error}");
}

#[test]
fn of_sharegpt_humans_are_taken_turn_by_turn_and_again_if_there_are_too_few() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let talk = |from: &str, value: &str| format!(r#"{{"from":"{from}","value":"{value}"}}"#);
    let talk = [("human", "ab"), ("gpt", "ABC"), ("human", "c"), ("gpt", "D")]
        .map(|(from, value)| talk(from, value));
    write!(file, r#"[{{"conversations":[{}]}},{{"conversations":[]}}]"#, talk.join(",")).unwrap();
    let spec =
        ShareGptTurnsSpec { path: Some(file.path().to_owned()), ..ShareGptTurnsSpec::default() };
    let sessions = draw(ConversationSpec::new(ConversationSource::Sharegpt(spec)), 3);
    assert_eq!(sessions.len(), 3);
    let lengths = |session: &Session| -> Vec<(u32, u32)> {
        session.samples().map(|sample| (sample.prompt_tokens, sample.output_tokens)).collect()
    };
    assert!(sessions.iter().all(|session| lengths(session) == [(1, 1), (1, 1)]));
    assert!(sessions[0].first.extra_body.is_empty());
}
