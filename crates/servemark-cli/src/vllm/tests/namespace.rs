//! Tests of the flags that vLLM's records for `PyTorch`'s database repeat.

use serde_json::Value;

use crate::PeerArguments;
use crate::environment::Environment;
use crate::mirror::recorded;
use crate::vllm::parse;

/// Returns the flags in the plan of a command line that asks for such records.
fn ours(argv: &[String]) -> Value {
    let environment = Environment::default().with_variable("SAVE_TO_PYTORCH_BENCHMARK_FORMAT", "1");
    let parsed = parse("vllm bench serve", argv.iter().map(Into::into), &environment).unwrap();
    parsed.plan.output.vllm.unwrap().pytorch.unwrap().into()
}

#[test]
fn flags_are_repeated_as_vllm_repeats_them() {
    for name in ["pytorch.json", "pytorch_eager.json"] {
        let recorded = recorded("vllm/results", name);
        let argv: Vec<String> = serde_json::from_value(recorded["argv"].clone()).unwrap();
        let file = recorded["files"].as_object().unwrap().iter();
        let (_, text) = file.into_iter().find(|(name, _)| name.ends_with("pytorch.json")).unwrap();
        let records: Value = serde_json::from_str(text.as_str().unwrap()).unwrap();
        let theirs = &records[0]["benchmark"]["extra_info"]["args"];
        let (ours, mut theirs) = (ours(&argv), theirs.as_object().unwrap().clone());
        theirs.shift_remove("tensor_parallel_size");
        // vLLM's default of the first flag is an integer although the flag takes a float, and each
        // process draws the default of the second.
        theirs["timed_trace_sec_multiplier"] = 1.0.into();
        theirs["request_id_prefix"] = ours["request_id_prefix"].clone();
        assert_eq!(ours.as_object(), Some(&theirs), "{name}");
        assert!(ours.as_object().unwrap().keys().eq(theirs.keys()), "{name}");
    }
}

#[test]
fn arguments_are_printed_as_vllm_prints_them() {
    let line = "--model tiny --header Authorization=secret --request-id-prefix a- --metadata k=v \
                --goodput ttft:10 --num-prompts 7 --save-result";
    let parsed =
        parse("vllm bench serve", line.split_whitespace().map(Into::into), &Environment::default());
    let Some(PeerArguments::Vllm(printed)) = parsed.unwrap().peer_arguments else { panic!("none") };
    let printed = printed.to_string();
    assert!(printed.starts_with("Namespace(subparser='bench', bench_type='serve', "), "{printed}");
    for member in [
        "model='tiny'",
        "header='***'",
        "request_id_prefix='a-'",
        "metadata=['k=v']",
        "goodput=['ttft:10']",
        "num_prompts=7",
        "save_result=True",
        "request_rate=inf",
        "random_range_ratio=0.0",
        "self_timed=None",
        "random_mm_bucket_config={(256, 256, 1): 0.5, (720, 1280, 1): 0.5, (720, 1280, 16): 0.0}",
    ] {
        assert!(printed.contains(&format!(", {member}")), "{member}: {printed}");
    }
    assert!(!printed.contains("secret"));
}
