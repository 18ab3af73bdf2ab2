//! What recorded rows cannot show: the state that a draw leaves, zero lengths, and the trait.

use servemark_core::{DrawContext, NoProgress, Prompt};
use servemark_datasets::{DatasetSpec, PromptForm, RandomSpec, Source};
use servemark_rng::RandomState;

use crate::{draw, tokenizer};

fn from_vocabulary(input_tokens: u32, output_tokens: u32, form: PromptForm) -> DatasetSpec {
    let mut spec = RandomSpec::default();
    spec.source = Source::Vocabulary;
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
        r#"{"dataset":"openai","path":"b","on_bad_line":"fail","output_tokens":null}"#,
    ] {
        let spec: DatasetSpec = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&spec).unwrap(), json);
    }
    let refused = serde_json::from_str::<DatasetSpec>(r#"{"dataset":"random","range_ratio":2}"#);
    assert!(refused.unwrap_err().to_string().contains("a range ratio must lie in 0 to 1"));
}
