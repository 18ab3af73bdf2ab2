//! Runs `servemark ais_bench` against the bundled simulator, as a user does.

mod services;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{servemark, text};

const INPUTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/aisbench/inputs");
const CHAT: &str = "--models vllm_api_stream_chat --datasets";
const SIX: &str = "synthetic_gen_string --set datasets.config.RequestCount=6";

/// A folder in which tasks were run, and their output.
struct TasksRun {
    folder: TempDir,
    output: Output,
}

/// Runs the tasks of a command line; uses the simulator if the line names no server.
fn ran(line: &str) -> TasksRun {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = again(&folder, line);
    TasksRun { folder, output }
}

fn again(folder: &TempDir, line: &str) -> Output {
    let simulator = if line.contains("--host-port") { "" } else { "--simulate ttft=2ms,itl=1ms" };
    let line = format!("ais_bench {line} -m perf {simulator}").replace("INPUTS", INPUTS);
    servemark(folder, &line.split_whitespace().collect::<Vec<_>>())
}

impl TasksRun {
    #[track_caller]
    fn well(self) -> Self {
        assert_eq!(self.output.status.code(), Some(0), "{}", text(&self.output.stderr));
        self
    }

    fn output_text(&self) -> String {
        text(&self.output.stdout) + &text(&self.output.stderr)
    }

    /// Returns the folder with the results of the only model.
    fn results(&self) -> PathBuf {
        let runs = only(&self.folder.path().join("outputs/default"));
        only(&runs.join("performances"))
    }

    fn file(&self, name: &str) -> String {
        let path = self.results().join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Returns a row of the second table.
    fn common(&self, data: &str, row: &str) -> Value {
        let table: Value = serde_json::from_str(&self.file(&format!("{data}.json"))).unwrap();
        table[row]
            .as_object()
            .and_then(|stages| stages.values().next())
            .cloned()
            .unwrap_or_default()
    }

    fn requests(&self, data: &str) -> Vec<Value> {
        let log = self.file(&format!("{data}.runlog.jsonl"));
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter_map(|line| line.get("request").cloned()).collect()
    }

    fn of_phase(&self, data: &str, phase: &str) -> Vec<Value> {
        let requests = self.requests(data).into_iter();
        requests.filter(|request| request["phase"] == phase).collect()
    }
}

/// Returns the only entry of a folder.
fn only(folder: &Path) -> PathBuf {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries.remove(0)
}

#[test]
fn what_broke_off_is_tried_again_and_each_try_is_kept() {
    let done = ran(&format!("{CHAT} {SIX} --num-warmups 0 --simulate-fault cut@1/3")).well();
    let (tries, requests) =
        (done.of_phase("synthetic", "retried"), done.of_phase("synthetic", "measure"));
    assert_eq!((tries.len(), requests.len()), (2, 6));
    assert!(tries.iter().all(|request| request["outcome"].get("Err").is_some()));
    let second: Vec<&Value> =
        requests.iter().filter(|request| request["earlier_tries"] == 1).collect();
    assert_eq!(second.len(), 2);
    for request in second {
        let first = tries.iter().find(|failed| failed["index"] == request["index"]).unwrap();
        let [failed, sent] = [&first["ended"], &request["sent"]].map(|at| at.as_u64().unwrap());
        assert!(sent >= failed, "the second try began before the first was over");
        assert_eq!(request["scheduled"], first["scheduled"]);
    }
    assert_eq!(done.common("synthetic", "Total Requests"), json!(6));
    assert_eq!(done.common("synthetic", "Failed Requests"), json!(0));
    assert!(
        done.output_text().contains("2 tries failed and were made again."),
        "{}",
        done.output_text()
    );
}

/// Runs of one second have the same default name of their folder.
#[test]
fn runs_that_start_together_have_a_folder_each() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let line = format!("{CHAT} {SIX}");
    let outputs: Vec<Output> = std::thread::scope(|scope| {
        let begun: Vec<_> = (0..4).map(|_| scope.spawn(|| again(&folder, &line))).collect();
        begun.into_iter().map(|run| run.join().unwrap()).collect()
    });
    for output in &outputs {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let runs: Vec<PathBuf> = fs::read_dir(folder.path().join("outputs/default"))
        .unwrap()
        .map(|run| run.unwrap().path())
        .collect();
    assert_eq!(runs.len(), 4, "{runs:?}");
    for run in runs {
        let results = only(&run.join("performances"));
        let log = fs::read_to_string(results.join("synthetic.runlog.jsonl")).unwrap();
        assert!(log.lines().last().is_some_and(|line| line.starts_with("{\"footer\"")), "{log}");
        assert!(results.join("synthetic.json").exists());
        let message = format!("{}", run.strip_prefix(folder.path()).unwrap().display());
        let is_reported = |output: &Output| text(&output.stderr).contains(&format!("{message}\n"));
        assert_eq!(outputs.iter().filter(|output| is_reported(output)).count(), 1, "{message}");
    }
}

#[test]
fn what_was_refused_is_not_tried_again() {
    let done = ran(&format!("{CHAT} {SIX} --num-warmups 0 --simulate-fault status:503/3")).well();
    assert_eq!(done.requests("synthetic").len(), 6);
    assert_eq!(done.common("synthetic", "Failed Requests"), json!(2));
}

#[test]
fn a_warm_up_sends_the_first_rows() {
    let done = ran(&format!("{CHAT} {SIX} --num-warmups 8")).well();
    let planned = |phase| {
        let mut requests = done.of_phase("synthetic", phase);
        requests.sort_by_key(|request| request["index"].as_u64());
        requests.iter().map(|request| request["planned"].to_string()).collect::<Vec<_>>()
    };
    let rows = planned("measure");
    assert_eq!(planned("warmup"), [&rows[..], &rows[..2]].concat());
}

#[test]
fn rows_are_sent_at_their_own_times_and_the_table_names_the_batch() {
    let done = ran(&format!(
        "{CHAT} mooncake_trace_gen --dataset-path INPUTS/trace.jsonl --num-prompts 2 --batch-size 9 \
         --set models.use_timestamp=True --set datasets.fixed_schedule_auto_offset=True \
         --set datasets.fixed_schedule_end_offset=2000"
    ))
    .well();
    let requests = done.of_phase("mooncake-trace", "measure");
    let due = requests.iter().map(|request| request["scheduled"].as_u64().unwrap());
    let due: Vec<u64> = due.collect();
    assert_eq!(
        (due.len(), due.iter().max().unwrap() - due.iter().min().unwrap()),
        (2, 1_000_000_000)
    );
    assert_eq!(done.common("mooncake-trace", "Max Concurrency"), json!(9));
}

#[test]
fn conversations_keep_their_turns_in_order() {
    let done = ran("--models vllm_api_stream_chat_multiturn --datasets mtbench_gen \
                    --dataset-path INPUTS/question.jsonl --batch-size 2")
    .well();
    let details = done.file("mtbench_details.jsonl");
    let turns: Vec<(u64, u64)> = details
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|entry| (entry["id"].as_u64().unwrap(), entry["turn_id"].as_u64().unwrap()))
        .collect();
    assert_eq!(turns, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    assert_eq!(done.of_phase("mtbench", "warmup").len(), 2, "a whole conversation warms up");
}

#[test]
fn pressure_goes_round_and_a_stable_stage_is_found_in_it() {
    let done = ran(&format!(
        "{CHAT} {SIX} --summarizer stable_stage --pressure --pressure-time 1 --batch-size 4"
    ))
    .well();
    let requests = done.of_phase("synthetic", "measure");
    assert!(
        requests.iter().any(|request| request["index"].as_u64() >= Some(6)),
        "it ended too soon"
    );
    assert_eq!(done.common("synthetic", "Max Concurrency"), json!(4));
    assert!(done.output_text().contains("│ stable "), "{}", done.output_text());
}

#[test]
fn data_sets_of_one_class_are_one_run_with_details_of_their_own() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let toml = "[[models]]\nbase = \"vllm_api_stream_chat\"\n\
                [[datasets]]\nbase = \"synthetic_gen_string\"\nconfig.RequestCount = 2\n\
                [[datasets]]\nbase = \"synthetic_gen_string\"\nabbr = \"more\"\nconfig.RequestCount = 3\n";
    fs::write(folder.path().join("conf.toml"), toml).unwrap();
    let output = again(&folder, "conf.toml");
    let done = TasksRun { folder, output }.well();
    assert_eq!(done.common("syntheticdataset", "Total Requests"), json!(5));
    let lines = |name: &str| done.file(name).lines().count();
    assert_eq!((lines("synthetic_details.jsonl"), lines("more_details.jsonl")), (2, 3));
    assert!(done.file("more_details.jsonl").starts_with(r#"{"data_abbr": "more", "id": 0,"#));
}

#[test]
fn a_config_is_read_and_not_written_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let toml = "[[models]]\nbase = \"vllm_api_stream_chat\"\n\
                [[datasets]]\nbase = \"synthetic_gen_string\"\nconfig.RequestCount = 2\n";
    fs::write(folder.path().join("conf.toml"), toml).unwrap();
    let steady = "--steady-state-concurrency-ratio 0.5 --steady-state-output-file ./conf.toml";
    let output = again(&folder, &format!("conf.toml {steady}"));
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{news}");
    assert!(news.contains("which this command reads"), "{news}");
    assert_eq!(fs::read_to_string(folder.path().join("conf.toml")).unwrap(), toml);
    assert!(!folder.path().join("outputs").exists());
}

#[test]
fn a_run_that_never_began_leaves_nothing_and_says_who_speaks() {
    let done = ran(&format!("{CHAT} {SIX} --host-ip 127.0.0.1 --host-port 9 --model-name m"));
    let message = done.output_text();
    assert_ne!(done.output.status.code(), Some(0), "{message}");
    assert!(message.contains("ais_bench: error: "), "{message}");
    assert!(!message.contains("\nerror: "), "{message}");
    let lost = ran(&format!("{CHAT} mtbench_gen --dataset-path absent.jsonl"));
    assert!(
        lost.output_text()
            .contains("ais_bench: error: built-in datasets:81: cannot read absent.jsonl"),
        "{}",
        lost.output_text()
    );
    let unread = ran(&format!("{CHAT} {SIX} --set models.path=/nowhere"));
    assert!(
        unread
            .output_text()
            .contains("ais_bench: error: --set models.path=/nowhere: /nowhere is not there"),
        "{}",
        unread.output_text()
    );
    let left =
        |done: &TasksRun| fs::read_dir(done.folder.path().join("outputs/default")).unwrap().count();
    assert_eq!(left(&lost), 0);
}

#[test]
fn results_that_are_shown_again_keep_what_was_asked() {
    let done = ran(&format!("{CHAT} {SIX} --simulate-fault status:503/7")).well();
    let kept = |done: &TasksRun| {
        ["_details", "_failed"].map(|end| done.file(&format!("synthetic{end}.jsonl")))
    };
    let before = kept(&done);
    assert!(before.iter().all(|file| file.contains(r#""input": [{"role": "user", "content": "A"#)));
    let line = format!("ais_bench {CHAT} {SIX} -m perf_viz --reuse --simulate");
    let output = servemark(&done.folder, &line.split_whitespace().collect::<Vec<_>>());
    let done = TasksRun { output, ..done }.well();
    assert_eq!(kept(&done), before);
}

#[test]
fn a_task_whose_warm_up_failed_is_run_again_where_it_is_reused() {
    let line = format!("{CHAT} {SIX}");
    let failed = ran(&format!("{line} --simulate-fault status:404/1"));
    assert_eq!(failed.output.status.code(), Some(5), "{}", failed.output_text());
    let output = again(&failed.folder, &format!("{line} --reuse"));
    let done = TasksRun { output, ..failed }.well();
    assert_eq!(done.common("synthetic", "Success Requests"), json!(6));
}
