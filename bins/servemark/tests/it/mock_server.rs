//! The simulator as a server on a port.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::schema::tokenizer;
use crate::{command, servemark, text};

/// A server that ends with the test, also one that fails.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_simulator_is_served_and_measured() {
    let folder = tempfile::tempdir().unwrap();
    let line = ["mock-server", "--ttft-ms", "2", "--itl-ms", "1", "--truth", "truth.jsonl"];
    let mut server = Server(command(&folder, &line).stdout(Stdio::piped()).spawn().unwrap());
    let mut url = String::new();
    BufReader::new(server.0.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
    let url = url.trim();
    let tokenizer = tokenizer();
    let line = format!(
        "bench-serving --backend sglang-oai --base-url {url} --tokenizer {tokenizer} \
         --dataset-name random-ids --num-prompts 10 --random-input 8 --random-output 4 \
         --warmup-requests 0"
    );
    let run = servemark(&folder, &line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let signal = format!("kill -TERM {}", server.0.id());
    assert!(Command::new("sh").args(["-c", &signal]).status().unwrap().success());
    assert_eq!(server.0.wait().unwrap().code(), Some(0));
    let truth = fs::read_to_string(folder.path().join("truth.jsonl")).unwrap();
    assert_eq!(truth.lines().count(), 10, "{truth}");
}

#[test]
fn a_flag_and_a_port_that_are_wrong_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let misspelt = servemark(&folder, &["mock-server", "--tftt-ms", "5"]);
    let news = text(&misspelt.stderr);
    assert_eq!(misspelt.status.code(), Some(2), "{news}");
    assert!(news.contains("--ttft-ms"), "{news}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = servemark(&folder, &["mock-server", "--port", &port]);
    let news = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{news}");
    assert!(news.contains("is the port taken by another server?"), "{news}");
}
