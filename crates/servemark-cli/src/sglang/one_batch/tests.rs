//! Compares the flags with a recording of SGLang's parser, and checks what command lines become.

use serde_json::Value;
use servemark_datasets::{BatchLengths, DatasetSpec};

use super::*;
use crate::mirror::{Mirror, as_recorded, recorded};

fn mirror() -> Mirror {
    let flags = recorded("sglang", "one_batch_flags.json").as_array().unwrap().clone();
    Mirror { command: args::command("one-batch"), peer: PEER.names(), exclusive: &[], flags }
}

#[test]
fn the_flags_are_the_peers() {
    let mirror = mirror();
    mirror.check_names();
    mirror.check_defaults(Mirror::value, as_recorded);
    mirror.check_grammar(100);
    mirror.check_declared(OneBatchArgs::GROUPS);
}

fn read(args: &[&str]) -> Result<OneBatch, UsageError> {
    let environment = Environment::default().in_directory("/bench");
    parse("one-batch", Some("py"), args.iter().map(Into::into), &environment)
}

const AT: [&str; 2] = ["--base-url", "http://127.0.0.1:1"];

fn at(args: &[&str]) -> OneBatch {
    read(&[&AT[..], args].concat()).unwrap()
}

#[test]
fn what_the_peer_refuses_is_refused_in_its_words() {
    let cases = recorded("sglang", "one_batch.json")["errors"].as_array().unwrap().clone();
    for case in &cases {
        let argv: Vec<&str> =
            case["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let refusal = read(&[&AT[..], &argv].concat()).unwrap_err();
        let cause = refusal.cause().unwrap().to_string();
        assert_eq!(Value::from(cause), case["error"], "{argv:?}");
    }
    assert_eq!(cases.len(), 12);
}

#[test]
fn sets_are_walked_through_as_python_does() {
    let sets = recorded("sglang", "one_batch.json")["sets"].as_array().unwrap().clone();
    for pair in &sets {
        let [given, order]: [Vec<u32>; 2] = serde_json::from_value(pair.clone()).unwrap();
        assert_eq!(crate::python::set_order(&given), order);
    }
    assert_eq!(sets.len(), 64);
}

#[test]
fn every_size_goes_with_every_length() {
    let bench = at(&["--batch-size", "2", "1", "--input-len", "8", "4", "--output-len", "3"]);
    let cells = |batches: &[Batch]| -> Vec<(u32, u32, u32)> {
        let cell =
            |batch: &Batch| (batch.case.batch_size, batch.case.input_len, batch.case.output_len);
        batches.iter().map(cell).collect()
    };
    assert_eq!(cells(&bench.batches), [(2, 8, 3), (2, 4, 3), (1, 8, 3), (1, 4, 3)]);
    assert_eq!(cells(&bench.warm_up), [(1, 1024, 16), (2, 1024, 16)]);
    assert!(bench.profiled.is_empty() && bench.launch.is_none());
    let logs: Vec<_> = bench.batches.iter().map(|batch| &batch.case.plan.output.run_log).collect();
    assert!(logs[0] != logs[1] && logs[0].is_some(), "{logs:?}");
    assert_eq!(bench.warm_up[0].case.plan.output.run_log, None);
}

#[test]
fn lengths_may_be_listed() {
    let bench =
        at(&["--dataset-name", "random-ids", "--batch-size", "3", "--input-len-list", "2,5"]);
    let case = &bench.batches[0].case;
    let DatasetSpec::Batch(batch) = &case.plan.workload.dataset else { panic!("no batch") };
    assert_eq!((&batch.lengths, case.input_tokens), (&BatchLengths::Each(vec![2, 5]), 9));
    let DatasetSpec::Batch(warm) = &bench.warm_up[0].case.plan.workload.dataset else { panic!() };
    assert_eq!(warm.lengths, BatchLengths::Drawn);
}

#[test]
fn a_server_is_started_with_what_is_not_ours() {
    let words = ["--model", "m", "--tp", "2", "--port", "31000", "--mem-fraction-static", "0.5"];
    let launch = read(&words).unwrap().launch.unwrap();
    assert_eq!(launch.url.to_string(), "http://127.0.0.1:31000");
    let expected = [
        "py",
        "-m",
        "sglang.launch_server",
        "--model-path",
        "m",
        "--port",
        "31000",
        "--tp",
        "2",
        "--mem-fraction-static",
        "0.5",
    ];
    assert_eq!(launch.command, expected);
    let none = read(&[]).unwrap_err().cause().unwrap().to_string();
    assert!(none.contains("give --base-url"), "{none}");
    let bench = at(&["--model", "None", "--port", "1", "--disable-radix-cache"]);
    assert!(bench.common.warnings[0].ends_with("--port --disable-radix-cache"));
}

#[test]
fn what_has_no_effect_is_warned_of() {
    for words in [
        &["--profile-steps", "3"][..],
        &["--input-len-step-percentage", "0.1"],
        &["--backend", "vllm", "--parallel-batch"],
    ] {
        let warnings = at(words).common.warnings;
        let phrases = ["has no effect", "only applies to"];
        let is_reported = |warning: &String| phrases.iter().any(|text| warning.contains(text));
        assert!(warnings.iter().any(is_reported), "{words:?}");
    }
}

#[test]
fn what_cannot_be_sent_is_refused() {
    for (words, why) in [
        (&["--dataset-name", "mmmu"][..], "--dataset-name mmmu in a batch is not built yet"),
        (&["--parallel-batch", "true"], "unrecognized arguments: true"),
        (
            &["--skip-warmupp"],
            "unrecognized arguments: --skip-warmupp; did you mean --skip-warmup?",
        ),
    ] {
        let refusal = read(&[&AT[..], words].concat()).unwrap_err();
        assert_eq!(refusal.cause().unwrap().to_string(), why);
    }
    // A server that is started may know a flag by this name.
    assert!(read(&["--model-path", "m", "--skip-warmupp"]).is_ok());
}

#[test]
fn a_report_costs_what_its_gpus_cost() {
    let bench = at(&["--show-report", "--tp-size", "4", "--gpu-hourly-cost", "2.5"]);
    let report = bench.report.unwrap();
    assert_eq!((report.dollars_per_hour, report.input_lens.as_str()), (10.0, "(1024,)"));
}

#[test]
fn every_flag_has_an_effect_or_is_named() {
    let bases = [
        "--base-url http://127.0.0.1:1",
        "--base-url http://127.0.0.1:1 --backend vllm",
        "--base-url http://127.0.0.1:1 --dataset-name generated-shared-prefix --batch-size 16 \
         --show-report",
        "--base-url http://127.0.0.1:1 --dataset-name random-ids",
        "--model-path m",
    ];
    mirror().check_effects(OneBatchArgs::GROUPS, &bases, &[], 20, |args| {
        let environment = Environment::default()
            .in_directory("/bench")
            .with_variable("GITHUB_STEP_SUMMARY", "summary.md")
            .with_variable("SGLANG_IS_IN_CI", "1");
        let args = args.iter().map(Into::into);
        let mut read = parse("one-batch", Some("py"), args, &environment)
            .map_err(|error| error.to_string())?;
        let warnings = std::mem::take(&mut read.common.warnings);
        Ok((format!("{read:?}"), warnings))
    });
}
