//! Runs that several processes share through a real `nats-server`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

use serde_json::Value;
use servemark_mock::{MockServer, MockSpec};
use tempfile::TempDir;

use crate::text;

pub(crate) const TOKENIZER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/spm-unigram-botchan-1000");

/// A coordinator, a server to measure and a folder for results.
struct Cluster {
    broker: Broker,
    server: MockServer,
    folder: TempDir,
}

/// A `nats-server` of Debian's package; `.ci/run` installs it.
pub(crate) struct Broker {
    child: Child,
    pub(crate) port: u16,
}

impl Broker {
    fn start(port: u16) -> Self {
        Self::of(Command::new("nats-server"), port)
    }

    /// Starts a server with a configuration, which lies in a folder with the files that it names.
    pub(crate) fn configured(folder: &Path, configuration: &str) -> Self {
        let mut command = Command::new("nats-server");
        command.args(["--config", configuration]).current_dir(folder);
        Self::of(command, free_port())
    }

    fn of(mut command: Command, port: u16) -> Self {
        command.args(["--addr", "127.0.0.1", "--port", &port.to_string()]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("nats-server is installed");
        Self { child, port }
    }

    fn restart_after(&mut self, outage: Duration) {
        self.stop();
        pause(outage);
        *self = Self::start(self.port);
    }

    fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test that waits for other processes")]
fn pause(time: Duration) {
    sleep(time);
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

impl Cluster {
    fn new() -> Self {
        let mock = MockSpec::new(Duration::from_millis(5), Duration::from_millis(2));
        Self {
            broker: Broker::start(free_port()),
            server: MockServer::start(mock).unwrap(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Starts one rank of a run of `requests` requests at 50 requests a second.
    fn rank(&self, rank: usize, world: usize, requests: usize, more: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_servemark"));
        let url = self.server.base_url();
        command
            .args(["bench-serving", "--backend", "vllm-chat", "--base-url", &url])
            .args(["--dataset-name", "random-ids", "--tokenizer", TOKENIZER])
            .args(["--random-input-len", "8", "--random-output-len", "4"])
            .args(["--num-prompts", &requests.to_string(), "--request-rate", "50"])
            .args(["--run-log", "run.runlog.jsonl", "--disable-tqdm"])
            .args(["--coordinator", &format!("nats://127.0.0.1:{}", self.broker.port)])
            .args(["--world", &world.to_string(), "--rank", &rank.to_string()])
            .args(more)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().expect("the program starts")
    }

    fn ranks(&self, world: usize, requests: usize, more: &[&str]) -> Vec<Child> {
        (0..world).map(|rank| self.rank(rank, world, requests, more)).collect()
    }

    fn log(&self, rank: usize) -> PathBuf {
        self.folder.path().join(format!("run.rank{rank}.runlog.jsonl"))
    }

    /// Waits until a rank has written the start of its measurement.
    fn wait_for_start(&self, rank: usize) {
        self.wait_for_line(rank, "{\"start\":");
    }

    /// Waits until a rank has written a line to its log.
    fn wait_for_line(&self, rank: usize, line: &str) {
        for _ in 0..TRIES {
            if fs::read_to_string(self.log(rank)).is_ok_and(|log| log.contains(line)) {
                return;
            }
            pause(Duration::from_millis(50));
        }
        panic!("rank {rank} does not write {line}");
    }

    fn score(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_servemark"));
        command.arg("score").args(args).current_dir(self.folder.path());
        command.output().unwrap()
    }
}

/// Number of looks at a log, for a machine with other work: two minutes.
const TRIES: u32 = 2400;

/// Time from the agreement on the start, which is two seconds ahead, until requests have ended.
const BEGUN: Duration = Duration::from_millis(3_500);

const LOGS: [&str; 3] =
    ["run.rank2.runlog.jsonl", "run.rank0.runlog.jsonl", "run.rank1.runlog.jsonl"];

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
}

/// A network between ranks and their coordinator.
struct Network {
    port: u16,
    is_cut: Arc<AtomicBool>,
}

impl Network {
    fn to(broker: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_cut = Arc::<AtomicBool>::default();
        let cut = Arc::clone(&is_cut);
        spawn(move || {
            for rank in listener.incoming().map_while(Result::ok) {
                let Ok(broker) = TcpStream::connect((Ipv4Addr::LOCALHOST, broker)) else { break };
                let ways =
                    [(rank.try_clone().unwrap(), broker.try_clone().unwrap()), (broker, rank)];
                for (from, to) in ways {
                    let cut = Arc::clone(&cut);
                    spawn(move || pass_on(from, to, &cut));
                }
            }
        });
        Self { port, is_cut }
    }

    fn cut_for(&self, outage: Duration) {
        self.is_cut.store(true, Ordering::Relaxed);
        pause(outage);
        self.is_cut.store(false, Ordering::Relaxed);
    }
}

/// Passes bytes on until one end closes. While the network is cut they wait, as TCP sends them again.
fn pass_on(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        while is_cut.load(Ordering::Relaxed) {
            pause(Duration::from_millis(20));
        }
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

fn outputs(children: Vec<Child>) -> Vec<Output> {
    children.into_iter().map(|child| child.wait_with_output().unwrap()).collect()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn three_processes_give_one_report_and_their_logs_give_it_again() {
    let site = Cluster::new();
    let ended = outputs(site.ranks(3, 150, &[]));
    for output in &ended {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let table = text(&ended[0].stdout);
    assert!(table.contains("3 of 3"), "{table}");
    for (rank, output) in (1..3).zip(&ended[1..]) {
        assert!(output.stdout.is_empty());
        let line =
            format!("Rank {rank} of 3: 50 requests, 0 failed, run log run.rank{rank}.runlog");
        assert!(text(&output.stderr).contains(&line), "{}", text(&output.stderr));
    }
    let merged = json(&site.score(&["run.runlog.jsonl", "--json"]));
    assert_eq!(json(&site.score(&[LOGS.as_slice(), &["--json"]].concat())), merged);
    assert_eq!(merged["score"]["requests"]["completed"], 150);
    assert_eq!(merged["audit"]["ranks"]["present"], 3);
    let tables = [&["run.runlog.jsonl"][..], &LOGS]
        .map(|logs| text(&site.score(&[logs, &["--layout", "native,sglang"]].concat()).stdout));
    assert_eq!(tables[0], tables[1]);
}

#[test]
fn a_killed_rank_leaves_a_report_that_says_what_is_missing() {
    let site = Cluster::new();
    let mut ranks = site.ranks(3, 300, &["--require-all-ranks"]);
    site.wait_for_start(2);
    pause(BEGUN);
    ranks[2].kill().unwrap();
    let ended = outputs(ranks);
    let (out, err) = (text(&ended[0].stdout), text(&ended[0].stderr));
    assert_eq!(ended[0].status.code(), Some(3), "{err}");
    assert!(err.contains("error: --require-all-ranks: a rank was lost"), "{err}");
    assert!(err.contains("client-limited: load client-limited"), "{err}");
    assert!(err.contains("ranks 2 of 3: 33.3 % of the load is missing (rank 2 ("), "{err}");
    assert!(out.contains("2 of 3"), "{out}");
    assert_eq!(ended[1].status.code(), Some(0), "{}", text(&ended[1].stderr));
    // What the killed rank had finished is in its own log.
    let scored = json(&site.score(&[LOGS.as_slice(), &["--json"]].concat()));
    let completed = scored["score"]["requests"]["completed"].as_u64().unwrap();
    assert!((210..300).contains(&completed), "{completed}");
    let lost = &scored["ranks"]["members"][2];
    assert_eq!(lost["lost"], "its log has no end");
    assert!(lost["recorded"].as_u64().unwrap() > 0, "{lost}");
}

#[test]
fn if_rank_0_is_killed_the_logs_of_all_ranks_are_there() {
    let site = Cluster::new();
    let mut ranks = site.ranks(3, 200, &[]);
    site.wait_for_start(1);
    site.wait_for_start(0);
    pause(BEGUN);
    ranks[0].kill().unwrap();
    let ended = outputs(ranks);
    for output in &ended[1..] {
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{err}");
        assert!(err.contains("rank 0 was lost"), "{err}");
    }
    let scored = json(&site.score(&[LOGS.as_slice(), &["--json"]].concat()));
    let completed = scored["score"]["requests"]["completed"].as_u64().unwrap();
    assert!((133..200).contains(&completed), "{completed}");
    assert_eq!(scored["audit"]["ranks"]["present"], 2);
}

#[test]
fn a_coordinator_that_is_away_for_five_seconds_loses_nothing() {
    let mut site = Cluster::new();
    let ranks = site.ranks(3, 450, &["--require-all-ranks"]);
    site.wait_for_start(2);
    site.broker.restart_after(Duration::from_secs(5));
    check_whole(&site, ranks, 450);
}

/// Waits for the end of all ranks, which must succeed, and checks that no request was lost.
fn check_whole(site: &Cluster, ranks: Vec<Child>, requests: u64) {
    for output in outputs(ranks) {
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    let merged = json(&site.score(&["run.runlog.jsonl", "--json"]));
    assert_eq!(merged["score"]["requests"]["completed"], requests);
}

#[test]
fn a_network_that_is_cut_for_five_seconds_loses_nothing() {
    let site = Cluster::new();
    let network = Network::to(site.broker.port);
    let coordinator = format!("nats://127.0.0.1:{}", network.port);
    let ranks = site.ranks(3, 450, &["--require-all-ranks", "--coordinator", &coordinator]);
    site.wait_for_start(2);
    pause(BEGUN);
    network.cut_for(Duration::from_secs(5));
    check_whole(&site, ranks, 450);
}

#[test]
fn a_rank_that_is_killed_before_the_start_ends_the_run() {
    let site = Cluster::new();
    let mut lead = site.rank(0, 3, 30, &[]);
    let mut killed = site.rank(2, 3, 30, &[]);
    let mut errors = BufReader::new(lead.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("Rank 2 (") {
        line.clear();
        assert!(errors.read_line(&mut line).unwrap() > 0, "rank 2 does not join");
    }
    assert!(line.contains(" files) has joined: 2 of 3"), "{line}");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let other = site.rank(1, 3, 30, &[]).wait_with_output().unwrap();
    let lead = lead.wait_with_output().unwrap();
    let mut said = String::new();
    errors.read_to_string(&mut said).unwrap();
    assert_eq!((lead.status.code(), other.status.code()), (Some(4), Some(4)), "{said}");
    assert!(said.contains("was lost before the start: nothing was heard of it for 8 s"), "{said}");
    let error = text(&other.stderr);
    assert!(error.contains("the run does not take place: rank 2 ("), "{error}");
}

#[test]
fn a_rank_that_is_killed_while_results_are_gathered_has_them_in_its_log() {
    let site = Cluster::new();
    let mut ranks = site.ranks(3, 60, &["--require-all-ranks"]);
    site.wait_for_start(1);
    site.wait_for_start(2);
    // Rank 0 stands still until rank 2 has its results and is gone, so it asks for them in vain.
    signal(&ranks[0], "-STOP");
    site.wait_for_line(2, "{\"footer\":");
    ranks[2].kill().unwrap();
    ranks[2].wait().unwrap();
    signal(&ranks[0], "-CONT");
    let ended = outputs(ranks);
    let error = text(&ended[0].stderr);
    assert_eq!(ended[0].status.code(), Some(3), "{error}");
    assert!(error.contains("Gathering the results of 3 ranks"), "{error}");
    assert!(error.contains("rank 2 is lost: nothing was heard of it for 8 s"), "{error}");
    assert!(!error.contains("rank 1 is lost"), "{error}");
    assert!(error.contains("ranks 2 of 3: 33.3 % of the load is missing (rank 2 ("), "{error}");
    assert_eq!(ended[1].status.code(), Some(0), "{}", text(&ended[1].stderr));
    let scored = json(&site.score(&[LOGS.as_slice(), &["--json"]].concat()));
    assert_eq!(scored["score"]["requests"]["completed"], 60);
    assert_eq!(scored["audit"]["ranks"]["present"], 3);
}

#[test]
fn ctrl_c_at_one_rank_stops_all() {
    let site = Cluster::new();
    let ranks = site.ranks(3, 3000, &[]);
    site.wait_for_start(0);
    site.wait_for_start(1);
    pause(BEGUN);
    signal(&ranks[1], "-INT");
    let ended = outputs(ranks);
    let merged = json(&site.score(&["run.runlog.jsonl", "--json"]));
    let completed = merged["score"]["requests"]["completed"].as_u64().unwrap();
    assert!(completed > 0 && completed < 3000, "{completed}");
    assert_eq!(ended[0].status.code(), Some(130), "{}", text(&ended[0].stderr));
}

#[test]
fn launch_starts_a_rank_on_every_host() {
    let site = Cluster::new();
    // In place of ssh: drops the host and runs the command here.
    let ssh = site.folder.path().join("ssh");
    fs::write(&ssh, "#!/bin/sh\nshift\nexec sh -c \"$*\"\n").unwrap();
    let url = site.server.base_url();
    let mut command = Command::new(env!("CARGO_BIN_EXE_servemark"));
    command
        .args(["launch", "--hosts", "localhost,b,c"])
        .args(["--ssh", &format!("sh {}", ssh.display())])
        .args(["--program", env!("CARGO_BIN_EXE_servemark")])
        .args(["--coordinator", &format!("nats://127.0.0.1:{}/launched", site.broker.port)])
        .args(["--", "bench-serving", "--backend", "vllm-chat", "--base-url", &url])
        .args(["--dataset-name", "random-ids", "--tokenizer", TOKENIZER, "--num-prompts", "30"])
        .args(["--random-input-len", "8", "--random-output-len", "4", "--disable-tqdm"])
        .args(["--extra-request-body", "{\"note\": \"it's\"}", "--run-log", "run.runlog.jsonl"])
        .current_dir(site.folder.path());
    let output = command.output().unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(err.contains("[c] Rank 2 of 3: 10 requests, 0 failed"), "{err}");
    let merged = json(&site.score(&["run.runlog.jsonl", "--json"]));
    assert_eq!(merged["score"]["requests"]["completed"], 30);
}

#[test]
fn what_is_wrong_with_a_coordinator_is_said() {
    let site = Cluster::new();
    let refused = |more: &[&str]| {
        let output = site.rank(1, 3, 30, more).wait_with_output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let port = free_port();
    let (code, err) =
        refused(&["--coordinator", &format!("nats://127.0.0.1:{port}"), "--join-timeout", "1"]);
    assert_eq!(code, Some(4), "{err}");
    assert!(err.contains("does nats-server run there?"), "{err}");
    let (code, err) = refused(&["--join-timeout", "1"]);
    assert_eq!(code, Some(4), "{err}");
    assert!(err.contains("rank 0 of the group default did not answer within 1 s"), "{err}");
}
