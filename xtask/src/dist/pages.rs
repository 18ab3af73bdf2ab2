//! Manual pages and completion scripts, as the built program prints them.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::PROGRAM;

/// A manual page or a completion script.
pub(super) struct Page {
    pub(super) kind: Kind,
    /// Name of the file.
    pub(super) name: String,
    pub(super) text: String,
}

/// Program that reads a page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Bash,
    Elvish,
    Fish,
    Manual,
    PowerShell,
    Zsh,
}

/// Each shell: its name for `servemark completions`, and the name of the file that it reads.
const SHELLS: [(Kind, &str, &str); 5] = [
    (Kind::Bash, "bash", "servemark.bash"),
    (Kind::Elvish, "elvish", "servemark.elv"),
    (Kind::Fish, "fish", "servemark.fish"),
    (Kind::PowerShell, "powershell", "_servemark.ps1"),
    (Kind::Zsh, "zsh", "_servemark"),
];

/// Runs the program once for each page, by `runner` if there is one, and returns the pages.
pub(super) fn of(program: &Path, runner: Option<&str>) -> anyhow::Result<Vec<Page>> {
    let start: Vec<&OsStr> = (runner.unwrap_or_default().split_whitespace().map(OsStr::new))
        .chain([program.as_os_str()])
        .collect();
    let mut pages = Vec::new();
    for (kind, shell, name) in SHELLS {
        let text = output(&start, &["completions", shell])?;
        pages.push(Page { kind, name: name.to_owned(), text });
    }
    let list = output(&start, &["man", "--list"])?;
    for command in [""].into_iter().chain(list.lines()) {
        let words: Vec<&str> = command.split_whitespace().collect();
        let text = output(&start, &[&["man"], &*words].concat())?;
        let name = [&[PROGRAM], &*words].concat().join("-") + ".1";
        pages.push(Page { kind: Kind::Manual, name, text });
    }
    Ok(pages)
}

/// Runs a program with arguments and returns what it prints. `start` is the program, after the command
/// that runs it.
fn output(start: &[&OsStr], args: &[&str]) -> anyhow::Result<String> {
    let (program, first) = start.split_first().context("no program")?;
    let mut command = Command::new(program);
    command.args(first).args(args);
    let advice = "build on a machine that runs it, or set CARGO_TARGET_<TRIPLE>_RUNNER";
    let output = command.output().with_context(|| format!("cannot run {command:?} ({advice})"))?;
    ensure!(output.status.success(), "{command:?} failed ({advice})");
    Ok(String::from_utf8(output.stdout)?)
}

impl Page {
    /// Path of the page in the archive.
    pub(super) fn in_archive(&self) -> String {
        let folder = if self.kind == Kind::Manual { "man" } else { "completions" };
        format!("{folder}/{}", self.name)
    }

    /// Path of the page on Debian; `None` if Debian has no folder for the shell's scripts.
    pub(super) fn on_debian(&self) -> Option<String> {
        match self.kind {
            Kind::Bash => Some(format!("usr/share/bash-completion/completions/{PROGRAM}")),
            Kind::Fish => Some(format!("usr/share/fish/vendor_completions.d/{}", self.name)),
            Kind::Manual => Some(format!("usr/share/man/man1/{}.gz", self.name)),
            Kind::Zsh => Some(format!("usr/share/zsh/vendor-completions/{}", self.name)),
            Kind::Elvish | Kind::PowerShell => None,
        }
    }
}
