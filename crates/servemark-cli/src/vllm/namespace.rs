//! Lists the flags by their Python names, as vLLM's client prints them when it starts and repeats
//! them in its records for `PyTorch`'s database.

use clap::{ArgAction, ArgMatches};
use serde_json::{Value, json};
use servemark_core::JsonObject;
use servemark_datasets::{DatasetSpec, VllmSpec};
use servemark_plan::BenchPlan;

use super::args::{DatasetArgs, LoadArgs, PEER, RandomArgs, TargetArgs, TimedTraceArgs, VllmArgs};
use super::buckets::Buckets;
use super::{load, wire};
use crate::argparse::{Flag, HELP, Namespace, ParsedCommandLine};
use crate::python;

/// Returns every flag of the peer with its value, in the peer's order, and with the changes that
/// its client makes before it starts. Headers, which may hold a key, are only marked as present.
pub(super) fn namespace(args: &VllmArgs, given: &ParsedCommandLine) -> Option<JsonObject> {
    let (_, matches): (VllmArgs, ArgMatches) = given.typed("vllm bench serve").ok()?;
    let mut space = JsonObject::new();
    for flag in flags().filter(|flag| *flag != HELP) {
        let name = flag.python();
        let value = value(given, &matches, &name);
        space.insert(name, value);
    }
    change(&mut space, args);
    Some(space)
}

/// Returns the flags as vLLM's client prints them when it starts, without the Python function that
/// it lists among them, `dispatch_function`.
pub(super) fn printed(
    args: &VllmArgs,
    given: &ParsedCommandLine,
    matches: &ArgMatches,
    plan: &BenchPlan,
) -> Namespace {
    let flags: Vec<&str> = flags().map(Flag::name).collect();
    let mut printed = Namespace::of(given, matches, &flags);
    if args.target.header.is_some() {
        printed.set(TargetArgs::HEADER, python::repr("***"));
    }
    let Buckets(buckets) = &args.random.random_mm_bucket_config;
    let bucket = |([height, width, frames], share): &([i64; 3], f64)| {
        format!("({height}, {width}, {frames}): {}", servemark_pyjson::repr(*share))
    };
    let buckets: Vec<String> = buckets.iter().map(bucket).collect();
    printed.set(RandomArgs::RANDOM_MM_BUCKET_CONFIG, format!("{{{}}}", buckets.join(", ")));
    printed.set(RandomArgs::RANDOM_RANGE_RATIO, servemark_pyjson::literal(&range_ratio(args)));
    let is_open = !args.timed_trace.self_timed && !args.timed_trace.no_self_timed;
    if is_open {
        printed.set(TimedTraceArgs::SELF_TIMED, "None");
    }
    if args.simulator.simulate.is_some() {
        printed.set(DatasetArgs::NUM_PROMPTS, args.dataset.num_prompts.to_string());
        printed.set(RandomArgs::RANDOM_INPUT_LEN, args.random.random_input_len.to_string());
        printed.set(LoadArgs::REQUEST_RATE, servemark_pyjson::repr(args.load.request_rate));
    }
    // Without `--request-id-prefix` the client draws one.
    if let DatasetSpec::Vllm(VllmSpec { request_ids: Some(prefix), .. }) = &plan.workload.dataset {
        printed.set(DatasetArgs::REQUEST_ID_PREFIX, python::repr(prefix));
    }
    printed.after("bench_type", "'serve'").after("subparser", "'bench'")
}

/// Returns the flags of vLLM's client, each switch of two names once.
fn flags() -> impl Iterator<Item = Flag> {
    let flags = PEER.names().into_iter().map(Flag::new);
    flags.filter(|flag| *flag != TimedTraceArgs::NO_SELF_TIMED)
}

/// Returns the ratio as a number, or as an object with one number for inputs and one for outputs.
fn range_ratio(args: &VllmArgs) -> Value {
    let ratio = &args.random.random_range_ratio;
    let number = python::float(ratio).map(|ratio| json!(ratio));
    number.or_else(|_| serde_json::from_str(ratio)).unwrap_or_else(|_| json!(ratio))
}

/// Changes the flags as vLLM's client does before it starts.
fn change(space: &mut JsonObject, args: &VllmArgs) {
    if args.target.header.is_some() {
        space["header"] = json!("***");
    }
    if let Some(length) = args.dataset.input_len {
        space["random_input_len"] = json!(length);
    }
    if let Some(length) = args.dataset.output_len {
        for name in OUTPUT_LENGTHS {
            space[name] = json!(length);
        }
    }
    space["random_range_ratio"] = range_ratio(args);
    space["self_timed"] = json!(load::is_self_timed(args));
    if let Ok(dialect) = wire::dialect(args) {
        space["ignore_eos"] = json!(wire::ignores_eos(args, dialect));
    }
}

fn value(given: &ParsedCommandLine, matches: &ArgMatches, id: &str) -> Value {
    let Some(arg) = given.command.get_arguments().find(|arg| arg.get_id() == id) else {
        return Value::Null;
    };
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return json!(matches.get_flag(id));
    }
    let is_list = arg.get_num_args().is_some_and(|count| count.max_values() > 1);
    let values = numbers(matches, id).or_else(|| others(matches, id)).unwrap_or_default();
    match (is_list, values.as_slice()) {
        (_, []) => Value::Null,
        (true, _) => Value::Array(values),
        (false, [value, ..]) => value.clone(),
    }
}

fn numbers(matches: &ArgMatches, id: &str) -> Option<Vec<Value>> {
    if let Ok(whole) = matches.try_get_many::<i64>(id) {
        return whole.map(|numbers| numbers.map(|number| json!(number)).collect());
    }
    let float = |number: &f64| {
        if number.is_finite() { json!(number) } else { json!(servemark_pyjson::repr(*number)) }
    };
    matches.try_get_many::<f64>(id).ok()?.map(|numbers| numbers.map(float).collect())
}

fn others(matches: &ArgMatches, id: &str) -> Option<Vec<Value>> {
    if let Ok(Some(texts)) = matches.try_get_many::<String>(id) {
        return Some(texts.map(|text| json!(text)).collect());
    }
    if let Ok(Some(documents)) = matches.try_get_many::<Value>(id) {
        return Some(documents.cloned().collect());
    }
    let Buckets(buckets) = matches.try_get_one::<Buckets>(id).ok()??;
    let named = |([height, width, frames], share): &([i64; 3], f64)| {
        (format!("({height}, {width}, {frames})"), json!(share))
    };
    Some(vec![Value::Object(buckets.iter().map(named).collect())])
}

/// Flags of data sets that `--output-len` sets.
const OUTPUT_LENGTHS: [&str; 6] = [
    "custom_output_len",
    "hf_output_len",
    "prefix_repetition_output_len",
    "random_output_len",
    "sharegpt_output_len",
    "spec_bench_output_len",
];
