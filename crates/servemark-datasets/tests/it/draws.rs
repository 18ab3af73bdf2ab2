//! Tests what recorded rows do not show: the generators' state after a draw, zero lengths, and the
//! trait.

use std::num::NonZero;

use servemark_core::{DrawContext, NoProgress, Prompt, Sample, Session, SpecialTokens, Tokenizer};
use servemark_datasets::{
    Counting, DatasetSpec, GroupOrder, PromptForm, RandomSpec, SharedPrefixSpec, Source,
};
use servemark_rng::RandomState;

use crate::{draw, tokenizer};

fn from_vocabulary(input_tokens: u32, output_tokens: u32, form: PromptForm) -> DatasetSpec {
    let mut spec = RandomSpec { source: Source::Vocabulary, ..RandomSpec::default() };
    (spec.input_tokens, spec.output_tokens, spec.form) = (input_tokens, output_tokens, form);
    DatasetSpec::Random(spec)
}

#[test]
fn arrivals_are_drawn_where_the_data_set_ends() {
    let spec = from_vocabulary(16, 8, PromptForm::TokenIds);
    let mut random = RandomState::seeded(42);
    let botchan = tokenizer("spm-unigram-botchan-1000");
    let samples = draw(&spec, 3, botchan, &mut random).unwrap().into_samples();
    let first_ids = samples.iter().map(|sample| match &sample.prompt {
        Prompt::TokenIds(ids) => ids[0],
        other => panic!("{other:?}"),
    });
    assert!(first_ids.eq([700, 21, 616]));
    let gaps: Vec<f64> = (0..3).map(|_| random.numpy.exponential(0.1)).collect();
    assert_eq!(
        gaps,
        [0.059_028_874_763_854_46, 0.010_533_264_473_289_401, 0.061_479_616_508_193_68]
    );
}

#[track_caller]
fn zero_lengths(form: PromptForm, folder: &str, prompt: impl Into<Prompt>, prompt_tokens: u32) {
    let spec = from_vocabulary(0, 0, form);
    let drawn = draw(&spec, 1, tokenizer(folder), &mut RandomState::seeded(0)).unwrap();
    let sample = &drawn.sessions[0].first;
    assert_eq!(sample.prompt, prompt.into());
    assert_eq!((sample.prompt_tokens, sample.output_tokens), (prompt_tokens, 0));
}

#[test]
fn a_text_has_at_least_one_token() {
    zero_lengths(PromptForm::TokenIds, "gpt2", Vec::<u32>::new(), 0);
    zero_lengths(PromptForm::Text, "gpt2", " Department", 1);
}

/// Returns a spec of two groups of two conversations of two turns, in order.
fn shared_prefix() -> SharedPrefixSpec {
    let mut spec = SharedPrefixSpec::default();
    let two = NonZero::new(2).unwrap();
    (spec.groups, spec.prompts_per_group, spec.turns) = (two, two, two);
    (spec.system_tokens, spec.question_tokens, spec.output_tokens) = (9, 5, 3);
    spec.order = GroupOrder::Drawn;
    spec
}

fn sessions_of(spec: SharedPrefixSpec) -> Vec<Session> {
    let spec = DatasetSpec::GeneratedSharedPrefix(spec);
    draw(&spec, 1, tokenizer("gpt2"), &mut RandomState::seeded(3)).unwrap().sessions
}

#[test]
fn every_turn_of_a_group_carries_its_routing_key() {
    assert!(sessions_of(shared_prefix())[0].first.headers.is_empty());
    let mut spec = shared_prefix();
    spec.routing_run = Some("0a1b2c3d_20260102030405".to_owned());
    let sessions = sessions_of(spec);
    for (session, group) in sessions.iter().zip([0, 0, 1, 1]) {
        let key = format!("0a1b2c3d_20260102030405_{group}");
        let expected = [("X-SMG-Routing-Key".to_owned(), key)];
        assert!(session.samples().all(|sample| sample.headers == expected), "{session:?}");
    }
    assert_eq!(sessions.len(), 4);
}

#[test]
fn a_follow_up_is_as_long_as_its_own_text() {
    let gpt2 = tokenizer("gpt2");
    let count =
        |sample: &Sample| gpt2.count(&sample.prompt.text().unwrap(), SpecialTokens::Add).unwrap();
    for session in sessions_of(shared_prefix()) {
        assert_eq!(session.turns(), 2);
        for sample in session.samples() {
            assert_eq!((sample.prompt_tokens, sample.output_tokens), (count(sample), 3));
        }
    }
    let mut spec = shared_prefix();
    spec.counting = Counting::Skipped;
    let sessions = sessions_of(spec);
    assert!(sessions.iter().flat_map(Session::samples).all(|sample| sample.prompt_tokens == 1));
}

#[test]
fn a_summary_counts_every_turn_and_prints_first_turns() {
    let spec = DatasetSpec::GeneratedSharedPrefix(shared_prefix());
    let drawn = draw(&spec, 1, tokenizer("gpt2"), &mut RandomState::seeded(3)).unwrap();
    assert_eq!((drawn.summary.requests, drawn.summary.output_tokens), (4, 24));
    assert!(drawn.summary.to_string().contains("\nTotal output tokens: 12\n"));
}

#[test]
fn the_trait_gives_the_same_samples() {
    let spec = from_vocabulary(30, 5, PromptForm::Text);
    let (mut one, mut other) = (RandomState::seeded(7), RandomState::seeded(7));
    let gpt2 = tokenizer("gpt2");
    let sessions =
        spec.build().draw(20, &mut DrawContext::new(gpt2, &mut one, &NoProgress)).unwrap();
    assert_eq!(sessions, draw(&spec, 20, gpt2, &mut other).unwrap().sessions);
    assert_eq!(one, other);
}

#[test]
fn a_plan_holds_every_knob() {
    let spec = from_vocabulary(30, 0, PromptForm::TokenIds);
    let json = r#"{"dataset":"random","source":"vocabulary","input_tokens":30,"output_tokens":0,"range_ratio":0.0,"form":"token_ids"}"#;
    assert_eq!(serde_json::to_string(&spec).unwrap(), json);
    assert_eq!(serde_json::from_str::<DatasetSpec>(json).unwrap(), spec);
    for json in [
        r#"{"dataset":"sharegpt","path":"a","shaping":{"output_tokens":9,"context_tokens":7,"prompt_suffix":"x","prompt_format":"chat_template"}}"#,
        r#"{"dataset":"custom","path":null,"on_bad_line":"skip","shaping":{"output_tokens":null,"context_tokens":null,"prompt_suffix":"","prompt_format":"raw"}}"#,
        r#"{"dataset":"generated_shared_prefix","groups":64,"prompts_per_group":16,"turns":1,"system_tokens":2048,"question_tokens":128,"output_tokens":256,"range_ratio":1.0,"popularity":"uniform","order":"shuffled","form":"text","counting":"exact","routing_run":null}"#,
        r#"{"dataset":"openai","path":"b","on_bad_line":"fail","output_tokens":null}"#,
    ] {
        let spec: DatasetSpec = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&spec).unwrap(), json);
    }
    let refused = serde_json::from_str::<DatasetSpec>(r#"{"dataset":"random","range_ratio":2}"#);
    assert!(refused.unwrap_err().to_string().contains("a range ratio must lie in 0 to 1"));
}
