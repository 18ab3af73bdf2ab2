//! Benchmarks drawing a run's samples, with the tokenizer's work and without its loading.

use std::path::PathBuf;
use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::ItemsCount;
use servemark::core::{DrawContext, NoProgress};
use servemark::datasets::{DatasetSpec, PromptForm, RandomSpec, RangeRatio, Source};
use servemark::rng::RandomState;
use servemark::tokenizer::{HfTokenizer, TokenizerSpec};

fn main() {
    divan::main();
}

static TOKENIZER: LazyLock<HfTokenizer> = LazyLock::new(|| {
    let folder = fixture("tokenizers/gpt2").display().to_string();
    TokenizerSpec::new(folder).load().expect("the fixture is a tokenizer")
});

/// Texts of random tokens: each prompt is decoded.
#[divan::bench]
fn random_ids_as_text(bencher: Bencher<'_, '_>) {
    draw(bencher, 1000, Source::Vocabulary, PromptForm::Text);
}

/// Random tokens that are sent as ids.
#[divan::bench]
fn random_ids_as_ids(bencher: Bencher<'_, '_>) {
    draw(bencher, 1000, Source::Vocabulary, PromptForm::TokenIds);
}

/// Prompts of a file, repeated or cut to their length: read, encoded and decoded. The file has 500.
#[divan::bench]
fn random_from_a_file(bencher: Bencher<'_, '_>) {
    let path = Some(fixture("prompts/sharegpt_format_dummy_500.json"));
    draw(bencher, 500, Source::Sharegpt { path }, PromptForm::Text);
}

/// Benchmarks drawing samples whose prompts have 1,024 tokens.
fn draw(bencher: Bencher<'_, '_>, samples: usize, source: Source, form: PromptForm) {
    LazyLock::force(&TOKENIZER);
    let random = RandomSpec {
        source,
        form,
        range_ratio: RangeRatio::new(1.0).expect("it lies between 0 and 1"),
        ..RandomSpec::default()
    };
    let spec = DatasetSpec::Random(random);
    bencher
        .counter(ItemsCount::new(samples))
        .with_inputs(|| RandomState::seeded(1))
        .bench_local_refs(|random| {
            let mut context = DrawContext::new(&*TOKENIZER, random, &NoProgress);
            let draw = spec.draw(samples, &mut context).expect("the fixtures can be drawn from");
            assert_eq!(draw.sessions.len(), samples);
            draw
        });
}

fn fixture(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures")).join(path)
}
