//! Where text goes: tables to standard output, all the rest to standard error.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use servemark::core::Progress;
use servemark::plan::BenchPlan;
use servemark::{Audience, ExitCode, Live, News};

use crate::ticker::Ticker;
use crate::vllm::VllmVoice;

/// Shows a run to a person.
#[derive(Debug)]
pub(crate) struct Screen {
    bars: bool,
    live: Arc<Live>,
    preparation: Mutex<Option<ProgressBar>>,
    ticker: Mutex<Option<Ticker>>,
    vllm: Option<VllmVoice>,
}

impl Screen {
    /// A screen with progress bars, as far as standard error is a terminal, or one without.
    pub(crate) fn new(bars: bool, live: Arc<Live>) -> Self {
        Self { bars, live, preparation: Mutex::default(), ticker: Mutex::default(), vllm: None }
    }

    /// The same in the words of vLLM's client, where its dialect is spoken.
    pub(crate) fn about(self, plan: &BenchPlan) -> Self {
        Self { vllm: VllmVoice::of(plan), ..self }
    }

    fn bar(&self, total: u64, template: &str) -> ProgressBar {
        let target =
            if self.bars { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template(template).expect("the template is ours");
        ProgressBar::with_draw_target(Some(total), target).with_style(style.progress_chars("=> "))
    }

    fn prepare(&self, work: &str, total: u64, template: &str) {
        let bar = self.bar(total, template);
        bar.set_message(work.to_owned());
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
        let lines = self.vllm.as_ref().and_then(|voice| voice.lines(news));
        for line in lines.iter().flatten() {
            print(&format!("{line}\n"));
        }
        match news {
            News::Measuring { requests, .. } => self.measure(*requests),
            News::Measured => drop(lock(&self.ticker).take()),
            // SGLang says these with what comes next.
            News::Prepared | News::Starting | News::AskingForModel => {}
            News::Drawn { notices, .. } if lines.is_some() => {
                notices.iter().for_each(|notice| complain(notice));
            }
            _ if lines.is_some() => {}
            // What is drawn is not always worth a word.
            _ => Some(news.to_string())
                .filter(|text| !text.is_empty())
                .iter()
                .for_each(|text| complain(text)),
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

/// A line for standard error. A run goes on even if nobody listens any more.
pub(crate) fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{}", line.trim_end());
}

/// What is written, as text: it goes to standard output or to a file.
pub(crate) fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<String> {
    let mut out = Vec::new();
    write(&mut out)?;
    Ok(String::from_utf8(out)?)
}

/// Text for standard output. What cannot be written is told by [`settled`].
pub(crate) fn print(text: &str) {
    print_bytes(text.as_bytes());
}

/// Bytes for standard output. The first failure is kept, and nothing is printed after it: a run
/// goes on, and its files are written.
pub(crate) fn print_bytes(bytes: &[u8]) {
    let mut failure = lock(&STDOUT_FAILURE);
    if failure.is_none() {
        let mut out = io::stdout().lock();
        *failure = out.write_all(bytes).and_then(|()| out.flush()).err();
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

const PREPARING: &str = "{msg} [{bar:40}] {pos}/{len} [{elapsed}<{eta}]";
const DOWNLOADING: &str =
    "{msg} [{bar:40}] {bytes}/{total_bytes} [{elapsed}<{eta}, {bytes_per_sec}]";
const DOWNLOADING_BLINDLY: &str = "{msg} {bytes} [{elapsed}, {bytes_per_sec}]";
const MEASURING: &str = "{percent:>3}% [{bar:40}] {pos}/{len} [{elapsed}<{eta}, {per_sec}, {msg}]";
