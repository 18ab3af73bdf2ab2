//! Opens pages in a real browser: Chromium without a window.
//!
//! A page is opened under a policy that forbids it to load anything: every blocked request, and
//! every error of its scripts, appears on the console.

mod driven;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

pub use self::driven::{Browser, Theme, View};

/// A page after a browser has opened it.
#[derive(Clone, Debug)]
pub struct OpenedPage {
    /// The document after its scripts have run.
    pub dom: String,
    /// Lines of the console: errors, warnings and blocked requests.
    pub console: Vec<String>,
}

impl OpenedPage {
    /// Returns how often `text` occurs in the document.
    pub fn count(&self, text: &str) -> usize {
        self.dom.matches(text).count()
    }

    /// Checks that the page has no errors and has its plots.
    ///
    /// # Panics
    ///
    /// Panics if the console has any line, or if the number of drawings (`<svg`, `<canvas`) is not
    /// `drawings`.
    #[track_caller]
    pub fn assert_sound(&self, drawings: usize) {
        assert!(self.console.is_empty(), "on the console: {:#?}", self.console);
        let found = self.count("<svg") + self.count("<canvas");
        assert_eq!(found, drawings, "drawings in {}", self.dom);
    }
}

/// Opens a page in Chromium. If the variable `SERVEMARK_SCREENSHOTS` names a folder, a screenshot
/// of the page is stored there under `name`.
///
/// # Panics
///
/// Panics if this machine has no Chromium, with the command that installs it, or if Chromium fails.
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

/// Inserts a content security policy that forbids all requests into a page, right after its
/// `<head>`.
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

/// No window, no graphics card, no sandbox (containers lack the rights for it), and no network
/// traffic of Chromium's own.
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
