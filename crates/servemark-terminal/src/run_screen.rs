//! Prints the events of a run, and draws its progress.

use std::sync::{Arc, Mutex};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use servemark::core::{Progress, RequestRecord, printable};
use servemark::plan::BenchPlan;
use servemark::{Live, RunEvent, RunObserver};
use servemark_cli::{Namespace, Parsed};

use crate::live::{Goal, LiveDisplay};
use crate::screen::{eprint_line, eprint_lines, lock, print_line};
use crate::sglang::{BenchMessages, SglangMessages};
use crate::ticker::{RequestBar, Ticker};
#[cfg(feature = "commands")]
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
    #[cfg(feature = "commands")]
    Vllm(VllmMessages),
}

impl PeerMessages {
    fn lines(&self, event: &RunEvent<'_>) -> Option<Vec<String>> {
        match self {
            Self::Bench(voice) => voice.lines(event),
            Self::Sglang(voice) => voice.lines(event),
            #[cfg(feature = "commands")]
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
    #[cfg(feature = "commands")]
    pub(crate) fn about(self, parsed: &Parsed) -> Self {
        Self { peer: VllmMessages::of(parsed).map(PeerMessages::Vllm), ..self }
    }

    /// Prints no messages of vLLM's client, whose dialect this build does not read.
    #[cfg(not(feature = "commands"))]
    pub(crate) fn about(self, _: &Parsed) -> Self {
        self
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
            // Some events have no text.
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

const PREPARING: &str = "{msg} [{bar:40}] {pos}/{len} [{elapsed}<{eta}]";
const DOWNLOADING: &str =
    "{msg} [{bar:40}] {bytes}/{total_bytes} [{elapsed}<{eta}, {bytes_per_sec}]";
const DOWNLOADING_BLINDLY: &str = "{msg} {bytes} [{elapsed}, {bytes_per_sec}]";
const MEASURING: &str = "{percent:>3}% [{bar:40}] {pos}/{len} [{elapsed}<{eta}, {per_sec}, {msg}]";
