//! Draws command lines of a peer, runs the peer's real client and our program on them, and
//! reports the differences.
//!
//! The client is run by the scripts of `fixtures/record/command_lines/`, with the Python and the
//! unpacked wheel described in `fixtures/SOURCES.md`. With `--record`, the client's behaviour is
//! saved as the fixture that the tests replay.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use servemark_command_lines::{Line, Observed, Own, Tally, read_lines, replay, write_lines};

use self::options::Options;
use crate::metadata::cargo_command;

mod options;

/// Runs `cargo xtask command-lines`. Fails if our program differs from the peer's client in a way
/// that is not argued in `docs/compat/`.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse(words)?;
    build()?;
    let lines = match &options.replay {
        Some(file) => options.keep(read_lines(file)?),
        None => draw_lines(&options)?,
    };
    if let Some(file) = &options.record {
        write_lines(file, &lines).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let own = Own::new(&program("servemark"), &workspace().join("fixtures"))?;
    let tally = replay(&lines, &own, options.peer, options.jobs)?;
    print(&tally, options.is_whole);
    let open = tally.unexplained().count();
    ensure!(open == 0, "{open} lines differ in what nothing argues");
    Ok(())
}

/// Runs the peer's client on newly drawn lines.
fn draw_lines(options: &Options) -> anyhow::Result<Vec<Line>> {
    let fixtures = workspace().join("fixtures");
    let script = fixtures.join(format!("record/command_lines/{}.py", options.name));
    let python = options.python.as_deref().unwrap_or(Path::new("python3"));
    let wheel = options.wheel.as_deref().context("--wheel DIR says where the peer's client is")?;
    let mut command = Command::new(python);
    command.arg(script).arg(wheel).arg(&fixtures).arg(program("mock-server"));
    command.args(["--count", &options.count.to_string(), "--seed", &options.seed.to_string()]);
    command.args(["--jobs", &options.jobs.to_string()]);
    if !options.only.is_empty() {
        command.arg("--only").args(options.only.iter().map(u64::to_string));
    }
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {}", python.display()))?;
    ensure!(output.status.success(), "the recording script failed");
    let text = String::from_utf8(output.stdout).context("the recording script writes UTF-8")?;
    let line = |line: &str| {
        let observed: Observed = serde_json::from_str(line).context("an odd line of the script")?;
        if options.is_whole {
            print_output(&observed);
        }
        Ok(observed.line(options.peer))
    };
    text.lines().map(line).collect()
}

/// Builds the programs in the debug profile, as the tests do.
fn build() -> anyhow::Result<()> {
    let packages = ["-p", "mock-server", "-p", "servemark"];
    let status = cargo_command().args(["build", "--locked"]).args(packages).status()?;
    ensure!(status.success(), "cargo build failed");
    Ok(())
}

/// Returns the path of a program of the debug build, in the folder of this one.
fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.with_file_name(name)
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").components().collect()
}

#[expect(clippy::print_stdout, reason = "what differs is what was asked for")]
fn print(tally: &Tally, is_whole: bool) {
    for line in &tally.replayed {
        if is_whole {
            println!("{}{}", line.observed.stdout, line.observed.stderr);
        }
        if is_whole || !line.differences.is_empty() {
            println!("{line}");
        }
    }
    println!("{tally}");
}

#[expect(clippy::print_stdout, reason = "what the peer's client printed was asked for")]
fn print_output(observed: &Observed) {
    println!("{}{}", observed.stdout, observed.stderr);
}
