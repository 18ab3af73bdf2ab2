//! Text output: tables to standard output, everything else to standard error.
//!
//! No output can control the terminal, whatever a server, a data set or a run log contains. A line
//! feed inside a message cannot start a line that looks like one of Servemark's.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use servemark::core::{Progress, RequestRecord, printable, printable_lines};
use servemark::plan::BenchPlan;
use servemark::{ExitCode, Live, RunEvent, RunObserver};
use servemark_cli::{Namespace, Parsed};

use crate::live::{Goal, LiveDisplay};
use crate::sglang::{BenchMessages, SglangMessages};
use crate::ticker::{RequestBar, Ticker};
use crate::vllm::VllmMessages;

/// Prints the events of a run.
#[derive(Debug)]
pub(crate) struct Screen {
    bars: Bars,
    live: Arc<Live>,
    preparation: Mutex<Option<ProgressBar>>,
    ticker: Mutex<Option<Ticker>>,
    /// The live figures, where they are displayed instead of a bar, and the offered rate.
    figures: Option<(LiveDisplay, Option<f64>)>,
    peer: Option<PeerMessages>,
    /// A peer's arguments with their label, printed once the simulator's address is known.
    arguments: Option<(&'static str, Namespace)>,
}

/// The peer whose messages are printed on standard output.
#[derive(Debug)]
enum PeerMessages {
    Bench(BenchMessages),
    Sglang(SglangMessages),
    Vllm(VllmMessages),
}

impl PeerMessages {
    fn lines(&self, event: &RunEvent<'_>) -> Option<Vec<String>> {
        match self {
            Self::Bench(voice) => voice.lines(event),
            Self::Sglang(voice) => voice.lines(event),
            Self::Vllm(voice) => voice.lines(event),
        }
    }
}

/// Whether progress bars are drawn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Bars {
    Shown,
    Hidden,
}

impl Bars {
    /// Returns whether bars are drawn for a command line that asks for progress or not.
    pub(crate) fn of(parsed: &Parsed) -> Self {
        if parsed.progress { Self::Shown } else { Self::Hidden }
    }
}

impl Screen {
    /// Returns a screen, with progress bars if they are wanted and standard error is a terminal.
    pub(crate) fn new(bars: Bars, live: Arc<Live>) -> Self {
        let (preparation, ticker) = Default::default();
        Self { bars, live, preparation, ticker, figures: None, peer: None, arguments: None }
    }

    /// Displays no progress.
    pub(crate) fn quiet(self) -> Self {
        Self { bars: Bars::Hidden, ..self }
    }

    /// Displays live figures of the run instead of a bar.
    pub(crate) fn with_live_figures(self, plan: &BenchPlan) -> Self {
        let display = LiveDisplay::new(Arc::clone(&self.live));
        Self { figures: Some((display, plan.load.arrivals.mean_rate())), ..self }
    }

    /// Prints the messages of vLLM's client, if the command line is in its dialect.
    pub(crate) fn about(self, parsed: &Parsed) -> Self {
        Self { peer: VllmMessages::of(parsed).map(PeerMessages::Vllm), ..self }
    }

    /// Prints the messages of one of SGLang's other benchmarks.
    pub(crate) fn in_words_of(self, voice: BenchMessages) -> Self {
        Self { peer: Some(PeerMessages::Bench(voice)), ..self }
    }

    /// Prints the messages of SGLang's client, including these arguments when they are resolved.
    pub(crate) fn in_sglangs_words(self, arguments: &Namespace, plan: &BenchPlan) -> Self {
        Self { peer: Some(PeerMessages::Sglang(SglangMessages::new(arguments, plan))), ..self }
    }

    /// Prints a peer's arguments after `label` once the simulator listens.
    pub(crate) fn with_arguments(self, label: &'static str, arguments: &Namespace) -> Self {
        Self { arguments: Some((label, arguments.clone())), ..self }
    }

    fn bar(&self, total: u64, template: &str) -> ProgressBar {
        let target = match self.bars {
            Bars::Shown => ProgressDrawTarget::stderr(),
            Bars::Hidden => ProgressDrawTarget::hidden(),
        };
        let style = ProgressStyle::with_template(template).expect("the template is ours");
        ProgressBar::with_draw_target(Some(total), target).with_style(style.progress_chars("=> "))
    }

    fn prepare(&self, work: &str, total: u64, template: &str) {
        let bar = self.bar(total, template);
        bar.set_message(printable(work).into_owned());
        *lock(&self.preparation) = Some(bar);
    }

    fn measure(&self, requests: u64) {
        if let Some((display, rate)) = &self.figures {
            return display.begin(Goal::Requests { requests, rate: *rate });
        }
        let bar = self.bar(requests, MEASURING);
        let live = Arc::clone(&self.live);
        let ticker =
            (!bar.is_hidden()).then(|| Ticker::start(RequestBar { bar, live }, RequestBar::PAUSE));
        *lock(&self.ticker) = ticker;
    }

    fn measured(&self) {
        if let Some((display, _)) = &self.figures {
            display.end();
        }
        drop(lock(&self.ticker).take());
    }
}

impl RunObserver for Screen {
    fn on_event(&self, event: &RunEvent<'_>) {
        if let (RunEvent::Simulating { url }, Some((label, arguments))) = (event, &self.arguments) {
            print_line(&format!("{label}{}", arguments.with_base_url(url)));
        }
        let lines = self.peer.as_ref().and_then(|voice| voice.lines(event));
        for line in lines.iter().flatten() {
            print_line(line);
        }
        match event {
            RunEvent::Measuring { requests, .. } => self.measure(*requests as u64),
            RunEvent::Measured => self.measured(),
            // SGLang prints these together with the next event.
            RunEvent::Prepared | RunEvent::Starting | RunEvent::AskingForModel => {}
            RunEvent::Drawn { notices, skipped, .. } if lines.is_some() => {
                if let Some(skipped) = skipped {
                    eprint_line(&format!("warning: {}", printable(&skipped.to_string())));
                }
                notices.iter().for_each(|notice| eprint_line(notice));
            }
            RunEvent::WarmedUp { failed: 1.., .. } => eprint_line(&event.to_string()),
            _ if lines.is_some() => {}
            // Some events have a progress bar but no message.
            _ => Some(event.to_string()).filter(|text| !text.is_empty()).iter().for_each(|text| {
                if is_in_lines(event) { eprint_lines(text) } else { eprint_line(text) }
            }),
        }
    }

    fn on_record(&self, record: &RequestRecord) {
        if let Some((display, _)) = &self.figures {
            display.add(record);
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

/// Returns whether an event's text has several lines of Servemark's own, in which every value from
/// outside is printable already.
fn is_in_lines(event: &RunEvent<'_>) -> bool {
    matches!(
        event,
        RunEvent::Drawn { .. }
            | RunEvent::Profiler(_)
            | RunEvent::Replaying { .. }
            | RunEvent::Strained { .. }
    )
}

/// Writes a message to standard error. Continuation lines start with a bar, so that no value in a
/// message can look like another message. A closed standard error is ignored.
pub(crate) fn eprint_line(message: &str) {
    eprint_lines(&message.trim_end().replace('\n', CONTINUED));
}

/// Writes several lines to standard error, in which every value from outside must be printable.
pub(crate) fn eprint_lines(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(text.trim_end_matches('\n')));
}

/// A writer to standard error for log lines of libraries.
#[derive(Debug)]
pub(crate) struct LogLines;

impl Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        eprint_line(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Collects what `write` produces as text, for standard output or a file.
pub(crate) fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<String> {
    let mut out = Vec::new();
    write(&mut out)?;
    Ok(String::from_utf8(out)?)
}

/// Writes one line to standard output, with control characters made printable.
pub(crate) fn print_line(line: &str) {
    print(&format!("{}\n", printable(line)));
}

/// Writes text to standard output. Values from outside that are not in a table of the `report`
/// crate must pass through `printable` first. Errors are reported by [`final_code`].
pub(crate) fn print(text: &str) {
    print_bytes(text.as_bytes());
}

/// Writes bytes to standard output. After the first error nothing more is printed, but the run
/// continues and its files are written.
pub(crate) fn print_bytes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut failure = lock(&STDOUT_FAILURE);
    if failure.is_none() {
        let mut out = io::stdout().lock();
        let written = out.write_all(printable_lines(&text).as_bytes());
        *failure = written.and_then(|()| out.flush()).err();
    }
}

/// Returns the exit code of the program, which is at least 1 if standard output failed; the failure
/// is printed.
pub(crate) fn final_code(code: ExitCode) -> ExitCode {
    match lock(&STDOUT_FAILURE).take() {
        None => code,
        Some(error) => {
            eprint_line(&format!("error: cannot write to standard output: {error}"));
            code.max(ExitCode::Internal)
        }
    }
}

/// First error of standard output, which is shared by the process.
static STDOUT_FAILURE: Mutex<Option<io::Error>> = Mutex::new(None);

/// Locks a mutex, also if a thread panicked while it held the lock: the data is only displayed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Separates the lines of a message.
const CONTINUED: &str = "\n  | ";

const PREPARING: &str = "{msg} [{bar:40}] {pos}/{len} [{elapsed}<{eta}]";
const DOWNLOADING: &str =
    "{msg} [{bar:40}] {bytes}/{total_bytes} [{elapsed}<{eta}, {bytes_per_sec}]";
const DOWNLOADING_BLINDLY: &str = "{msg} {bytes} [{elapsed}, {bytes_per_sec}]";
const MEASURING: &str = "{percent:>3}% [{bar:40}] {pos}/{len} [{elapsed}<{eta}, {per_sec}, {msg}]";
