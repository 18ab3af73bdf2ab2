//! Every target holds for its corpus and for a number of changed inputs.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;

use servemark_fuzz_targets::{TARGETS, smoke};

/// The largest corpus that is kept, in bytes.
const MOST_CORPUS: usize = 512 << 10;

fn check_target(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    if let Err(input) = smoke::run(target) {
        let path = std::env::temp_dir().join(format!("servemark-fuzz-{name}"));
        fs::write(&path, &input).expect("the input is kept");
        panic!(
            "{name} does not hold for {}: {:?}",
            path.display(),
            String::from_utf8_lossy(&input)
        );
    }
}

macro_rules! holding {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            check_target(stringify!($name));
        }
    )*
        const TESTED: &[&str] = &[$(stringify!($name)),*];
    };
}

holding! {
    chat_template configs connection data_sets decoders exposition http1_body hub_listing media
    run_log sse_split tokenizers
}

#[test]
fn every_target_is_tested_and_has_a_small_corpus() {
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(names, TESTED);
    let mut all = 0;
    for target in &TARGETS {
        let corpus = smoke::corpus(target);
        assert!(!corpus.is_empty(), "{} has no corpus", target.name);
        all += corpus.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
    }
    assert!(all <= MOST_CORPUS, "the corpus has {all} bytes");
}
