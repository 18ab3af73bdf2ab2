//! Runs the program in a temporary folder.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use servemark_hub::HubSettings;
use tempfile::TempDir;

/// A folder in which the program runs.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).expect("a file");
        name.to_owned()
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program starts")
    }

    pub(crate) fn run_with(&self, variables: &[(&str, &str)], args: &[&str]) -> Output {
        self.command(args).envs(variables.iter().copied()).output().expect("the program starts")
    }

    /// Starts the program with the default action for SIGHUP, even if `nohup` made the tests
    /// ignore it.
    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        let program = env!("CARGO_BIN_EXE_bench-serving");
        let mut command = if cfg!(target_os = "linux") {
            let mut command = self.command_of("env");
            command.args(["--default-signal=HUP", program]);
            command
        } else {
            self.command_of(program)
        };
        command
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.command_of(env!("CARGO_BIN_EXE_bench-serving"));
        command.args(args);
        command
    }

    /// Returns a command for a program in the folder, without the user's environment.
    pub(crate) fn command_of(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        for variable in ["API_KEY", "OPENAI_API_KEY", "SGLANG_IS_IN_CI"] {
            command.env_remove(variable);
        }
        for variable in HubSettings::VARIABLES {
            command.env_remove(variable);
        }
        command.env("HOME", self.0.path());
        command
    }
}

/// Returns the arguments of a small run against the simulator, and more.
pub(crate) fn simulated<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SMALL[..], more].concat()
}

/// Returns the arguments of a run of random token ids against a server, and more.
pub(crate) fn against<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let tokenizer = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/gpt2");
    let common = ["--base-url", url, "--model", "mock", "--tokenizer", tokenizer];
    [&common[..], &["--dataset-name", "random-ids"], more].concat()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Flags of a small run against the simulator.
pub(crate) const SMALL: [&str; 11] = [
    "--simulate",
    "ttft=2ms,itl=1ms",
    "--num-prompts",
    "12",
    "--random-input-len",
    "16",
    "--random-output-len",
    "8",
    "--request-rate",
    "inf",
    "--disable-tqdm",
];
