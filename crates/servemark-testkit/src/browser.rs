//! Pages in a real browser: Chromium without a window.
//!
//! A page is opened under a policy that lets it load nothing: whatever it asks the network for, and
//! every error of its scripts, is a line on the console.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// What a browser made of a page.
#[derive(Clone, Debug)]
pub struct OpenedPage {
    /// The document after its scripts have run.
    pub dom: String,
    /// What was written on the console: errors, warnings, and whatever was not let through.
    pub console: Vec<String>,
}

impl OpenedPage {
    /// How often a text is in the document.
    pub fn count(&self, text: &str) -> usize {
        self.dom.matches(text).count()
    }

    /// Checks that the page is sound and has its plots.
    ///
    /// # Panics
    ///
    /// If anything is on the console, was to be loaded, or if there are not as many drawings (`<svg`,
    /// `<canvas`) as there should be.
    #[track_caller]
    pub fn assert_sound(&self, drawings: usize) {
        assert!(self.console.is_empty(), "on the console: {:#?}", self.console);
        let found = self.count("<svg") + self.count("<canvas");
        assert_eq!(found, drawings, "drawings in {}", self.dom);
    }
}

/// Opens a page in Chromium. Where the variable `SERVEMARK_SCREENSHOTS` names a folder, a picture of
/// the page is left there, as `name`.
///
/// # Panics
///
/// If there is no Chromium on this machine, with the command that installs it, or if it fails.
#[track_caller]
pub fn open_page(name: &str, page: &str) -> OpenedPage {
    let folder = tempfile::tempdir().expect("a folder for the page");
    let file = folder.path().join("page.html");
    fs::write(&file, guarded(page)).expect("the page is written");
    let output = chromium(&folder, &["--dump-dom"], &file);
    assert!(output.status.success(), "Chromium failed: {}", text(&output.stderr));
    keep_picture(name, &folder, &file);
    let console = text(&output.stderr);
    let lines = console.lines().filter(|line| line.contains(":CONSOLE"));
    OpenedPage { dom: text(&output.stdout), console: lines.map(str::to_owned).collect() }
}

/// The page under a policy of its own, right after its `<head>`.
fn guarded(page: &str) -> String {
    let (before, after) = page.split_once("<head>").expect("a page has a head");
    format!("{before}<head>{POLICY}{after}")
}

fn keep_picture(name: &str, folder: &TempDir, file: &Path) {
    let Some(pictures) = std::env::var_os("SERVEMARK_SCREENSHOTS") else { return };
    let picture = Path::new(&pictures).join(format!("{name}.png"));
    let flag = format!("--screenshot={}", picture.display());
    let output = chromium(folder, &[&flag, "--window-size=1500,1400"], file);
    assert!(picture.exists(), "no picture: {}", text(&output.stderr));
}

#[track_caller]
fn chromium(folder: &TempDir, flags: &[&str], file: &Path) -> Output {
    let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
    let run = |program: &str| {
        Command::new(program)
            .args(QUIET)
            .arg(&profile)
            .args(flags)
            .arg(format!("file://{}", file.display()))
            .output()
            .ok()
    };
    NAMES.into_iter().find_map(run).unwrap_or_else(|| panic!("{MISSING}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

const MISSING: &str = "this test opens a page in Chromium, and there is none on this machine; install \
                       it (apt-get install chromium)";

/// Without a window, a graphics card, a sandbox (which containers have no rights for), or talk of
/// its own with the network.
const QUIET: [&str; 9] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--enable-logging=stderr",
    "--virtual-time-budget=2000",
];

const POLICY: &str = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                      script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src \
                      data:\">";
