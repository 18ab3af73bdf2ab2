//! Tests Mooncake traces: SGLang's prompts as recorded, and our prompts with the trace's lengths.

use std::fs;
use std::num::NonZeroU32;
use std::time::Duration;

use serde::Deserialize;
use servemark_core::{Session, SpecialTokens, Tokenizer};
use servemark_datasets::{DatasetSpec, MooncakeSpec};
use servemark_rng::RandomState;

use crate::sglang_flags::Flags;
use crate::{draw, fixture, text, tokenizer};

#[derive(Deserialize)]
struct Case {
    argv: Vec<String>,
    tokenizer: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    due: f64,
    prompt: String,
    prompt_len: u32,
    output_len: u32,
}

#[test]
fn sglangs_prompts_are_reproduced() {
    let mut checked = 0;
    for entry in fs::read_dir(fixture("sglang/mooncake")).unwrap() {
        let case = fs::read_to_string(entry.unwrap().path()).unwrap();
        checked += check(serde_json::from_str(&case).unwrap());
    }
    assert_eq!(checked, 33, "a case was added or lost");
}

fn check(case: Case) -> usize {
    let flags = Flags::new(case.argv);
    let slowdown: f64 = flags.number("--mooncake-slowdown-factor").unwrap_or(1.0);
    let (spec, tokenizer) = (flags.spec().unwrap(), tokenizer(&case.tokenizer));
    let mut random = RandomState::seeded(flags.seed().unwrap());
    let drawn = draw(&spec, flags.count(), tokenizer, &mut random).unwrap();
    assert_eq!(random, RandomState::seeded(flags.seed().unwrap()), "SGLang draws nothing");
    assert_eq!(drawn.sessions.len(), case.rows.len());
    for (session, row) in drawn.sessions.iter().zip(&case.rows) {
        let sample = &session.first;
        assert_eq!(text(&sample.prompt), row.prompt);
        assert_eq!((sample.prompt_tokens, sample.output_tokens), (row.prompt_len, row.output_len));
        let due = session.begins.unwrap().as_secs_f64() * slowdown;
        assert!((due - row.due).abs() < 1e-9, "{due} is not {}", row.due);
    }
    case.rows.len()
}

fn real_trace(count: usize, folder: &str, rounds: u32) -> Vec<Session> {
    let spec = MooncakeSpec {
        path: Some(fixture("traces/mooncake_conversation_40.jsonl")),
        rounds: NonZeroU32::new(rounds).unwrap(),
        ..MooncakeSpec::default()
    };
    let spec = DatasetSpec::Mooncake(spec);
    draw(&spec, count, tokenizer(folder), &mut RandomState::seeded(1)).unwrap().sessions
}

#[test]
fn prompts_have_the_lengths_of_the_trace() {
    let lengths = [6758, 7322, 7236, 2290, 6760];
    for folder in ["gpt2", "mistral-v1-spm-bpe", "qwen2.5", "spm-unigram-botchan-1000"] {
        for (session, length) in real_trace(5, folder, 1).iter().zip(lengths) {
            let counted =
                tokenizer(folder).count(&text(&session.first.prompt), SpecialTokens::Add).unwrap();
            assert_eq!((counted, session.first.prompt_tokens), (length, length), "{folder}");
        }
    }
}

#[test]
fn prompts_with_the_same_hashes_begin_alike() {
    let gpt2 = tokenizer("gpt2");
    let ids =
        |session: &Session| gpt2.encode(&text(&session.first.prompt), SpecialTokens::Omit).unwrap();
    let sessions = real_trace(2, "gpt2", 1);
    let (one, other) = (ids(&sessions[0]), ids(&sessions[1]));
    // The two rows share their first hash only.
    let alike = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    assert!((512..520).contains(&alike), "{alike} tokens are alike");
}

#[test]
fn rounds_go_on_from_each_other() {
    let sessions = real_trace(1, "gpt2", 3);
    let texts: Vec<String> = sessions.iter().map(|session| text(&session.first.prompt)).collect();
    assert!(texts[1].starts_with(&texts[0]) && texts[2].starts_with(&texts[1]));
    let tokens: Vec<u32> = sessions.iter().map(|session| session.first.prompt_tokens).collect();
    assert_eq!(tokens, [6758, 2 * 6758 + 500, 3 * 6758 + 2 * 500]);
    assert!(sessions.iter().all(|session| session.begins == Some(Duration::ZERO)));
}

#[test]
fn the_seed_decides_the_words() {
    let spec = MooncakeSpec {
        path: Some(fixture("traces/mooncake_conversation_40.jsonl")),
        ..MooncakeSpec::default()
    };
    let drawn = |seed| {
        let mut random = RandomState::seeded(seed);
        draw(&DatasetSpec::Mooncake(spec.clone()), 4, tokenizer("gpt2"), &mut random).unwrap()
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}
