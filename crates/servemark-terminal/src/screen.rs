//! Where text goes: tables to standard output, all the rest to standard error.
//!
//! Nothing that is written here controls a terminal, whatever a server, a data set or a run log says.
//! A line feed inside a message never begins a line that looks like one of ours.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use servemark::core::{Progress, printable, printable_lines};
use servemark::plan::BenchPlan;
use servemark::{Audience, ExitCode, Live, News};
use servemark_cli::Namespace;

use crate::sglang::SglangVoice;
use crate::ticker::Ticker;
use crate::vllm::VllmVoice;

/// Shows a run to a person.
#[derive(Debug)]
pub(crate) struct Screen {
    bars: bool,
    live: Arc<Live>,
    preparation: Mutex<Option<ProgressBar>>,
    ticker: Mutex<Option<Ticker>>,
    peer: Option<Voice>,
}

/// The peer whose words are printed on standard output.
#[derive(Debug)]
enum Voice {
    Sglang(SglangVoice),
    Vllm(VllmVoice),
}

impl Voice {
    fn lines(&self, news: &News<'_>) -> Option<Vec<String>> {
        match self {
            Self::Sglang(voice) => voice.lines(news),
            Self::Vllm(voice) => voice.lines(news),
        }
    }
}

impl Screen {
    /// A screen with progress bars, as far as standard error is a terminal, or one without.
    pub(crate) fn new(bars: bool, live: Arc<Live>) -> Self {
        Self { bars, live, preparation: Mutex::default(), ticker: Mutex::default(), peer: None }
    }

    /// The same in the words of vLLM's client, where its dialect is spoken.
    pub(crate) fn about(self, plan: &BenchPlan) -> Self {
        Self { peer: VllmVoice::of(plan).map(Voice::Vllm), ..self }
    }

    /// The same in the words of SGLang's client, whose arguments these are when they are settled.
    pub(crate) fn in_sglangs_words(self, arguments: &Namespace, plan: &BenchPlan) -> Self {
        Self { peer: Some(Voice::Sglang(SglangVoice::new(arguments, plan))), ..self }
    }

    fn bar(&self, total: u64, template: &str) -> ProgressBar {
        let target =
            if self.bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template(template).expect("the template is ours");
        ProgressBar::with_draw_target(Some(total), target).with_style(style.progress_chars("=> "))
    }

    fn prepare(&self, work: &str, total: u64, template: &str) {
        let bar = self.bar(total, template);
        bar.set_message(printable(work).into_owned());
        *lock(&self.preparation) = Some(bar);
    }

    fn measure(&self, requests: usize) {
        let bar = self.bar(requests as u64, MEASURING);
        let ticker = (!bar.is_hidden()).then(|| Ticker::start(bar, Arc::clone(&self.live)));
        *lock(&self.ticker) = ticker;
    }
}

impl Audience for Screen {
    fn tell(&self, news: &News<'_>) {
        let lines = self.peer.as_ref().and_then(|voice| voice.lines(news));
        for line in lines.iter().flatten() {
            print_line(line);
        }
        match news {
            News::Measuring { requests, .. } => self.measure(*requests),
            News::Measured => drop(lock(&self.ticker).take()),
            // SGLang says these with what comes next.
            News::Prepared | News::Starting | News::AskingForModel => {}
            News::Drawn { notices, skipped, .. } if lines.is_some() => {
                if let Some(skipped) = skipped {
                    complain(&format!("warning: {}", printable(&skipped.to_string())));
                }
                notices.iter().for_each(|notice| complain(notice));
            }
            News::WarmedUp { failed: 1.., .. } => complain(&news.to_string()),
            _ if lines.is_some() => {}
            // What is drawn is not always worth a word.
            _ => Some(news.to_string()).filter(|text| !text.is_empty()).iter().for_each(|text| {
                if is_in_lines(news) { complain_lines(text) } else { complain(text) }
            }),
        }
    }
}

impl Progress for Screen {
    fn begin(&self, work: &str, total: u64) {
        self.prepare(work, total, PREPARING);
    }

    fn begin_bytes(&self, work: &str, total: u64) {
        self.prepare(work, total, if total == 0 { DOWNLOADING_BLINDLY } else { DOWNLOADING });
    }

    fn advance(&self, steps: u64) {
        if let Some(bar) = lock(&self.preparation).as_ref() {
            bar.inc(steps);
        }
    }

    fn end(&self) {
        if let Some(bar) = lock(&self.preparation).take() {
            bar.finish_and_clear();
        }
    }
}

/// Whether the news have several lines of our own, in which every value from outside is printable.
fn is_in_lines(news: &News<'_>) -> bool {
    matches!(
        news,
        News::Drawn { .. } | News::Profiler(_) | News::Replaying { .. } | News::Strained { .. }
    )
}

/// Writes a message to standard error. Lines after its first one begin with a bar, so that no value
/// in it can pass for a message. A run goes on even if standard error is closed.
pub(crate) fn complain(message: &str) {
    complain_lines(&message.trim_end().replace('\n', CONTINUED));
}

/// Writes text of several lines to standard error, in which every value from outside is printable.
pub(crate) fn complain_lines(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(text.trim_end()));
}

/// Standard error for log lines of the libraries.
#[derive(Debug)]
pub(crate) struct LogLines;

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        complain(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is written, as text: it goes to standard output or to a file.
pub(crate) fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<String> {
    let mut out = Vec::new();
    write(&mut out)?;
    Ok(String::from_utf8(out)?)
}

/// Writes one line to standard output, whatever is in it.
pub(crate) fn print_line(line: &str) {
    print(&format!("{}\n", printable(line)));
}

/// Writes lines to standard output; a value from outside that is not in a table of the `report`
/// crate passes `printable` first. What cannot be written is told by [`settled`].
pub(crate) fn print(text: &str) {
    print_bytes(text.as_bytes());
}

/// Writes a table to standard output. The first failure is kept, and nothing is printed after it: a
/// run goes on, and its files are written.
pub(crate) fn print_bytes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut failure = lock(&STDOUT_FAILURE);
    if failure.is_none() {
        let mut out = io::stdout().lock();
        let written = out.write_all(printable_lines(&text).as_bytes());
        *failure = written.and_then(|()| out.flush()).err();
    }
}

/// The exit code of a program that is about to end: at least 1 if standard output was closed or
/// full, which is told then.
pub(crate) fn settled(code: ExitCode) -> ExitCode {
    match lock(&STDOUT_FAILURE).take() {
        None => code,
        Some(error) => {
            complain(&format!("error: cannot write to standard output: {error}"));
            code.max(ExitCode::Internal)
        }
    }
}

/// Why standard output, of which a process has one, takes nothing more.
static STDOUT_FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What stands between two lines of a message.
const CONTINUED: &str = "\n  | ";

const PREPARING: &str = "{msg} [{bar:40}] {pos}/{len} [{elapsed}<{eta}]";
const DOWNLOADING: &str =
    "{msg} [{bar:40}] {bytes}/{total_bytes} [{elapsed}<{eta}, {bytes_per_sec}]";
const DOWNLOADING_BLINDLY: &str = "{msg} {bytes} [{elapsed}, {bytes_per_sec}]";
const MEASURING: &str = "{percent:>3}% [{bar:40}] {pos}/{len} [{elapsed}<{eta}, {per_sec}, {msg}]";
