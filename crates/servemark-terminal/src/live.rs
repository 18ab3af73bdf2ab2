//! The live display of a run: a bar and the figures of the requests that ended so far.

mod figures;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use servemark::Live;
use servemark::core::{Clock, MonotonicClock, RequestRecord};

use self::figures::LiveFigures;
use crate::screen::{self, lock};
use crate::ticker::{Draw, Ticker};

/// Draws the figures of one measurement after the other. Records are added by the thread of the run
/// log, and a thread of its own draws, so the measured path is not affected.
#[derive(Debug)]
pub(crate) struct LiveDisplay {
    live: Arc<Live>,
    figures: Arc<Mutex<LiveFigures>>,
    ticker: Mutex<Option<Ticker>>,
}

/// The end of a measurement, up to which its bar counts.
#[derive(Clone, Debug)]
pub(crate) enum Goal {
    /// A number of requests, offered at a rate per second if the load has one.
    Requests { requests: u64, rate: Option<f64> },
    /// A number of streams kept up for a time.
    Time { streams: usize, lasts: Duration },
}

impl LiveDisplay {
    pub(crate) fn new(live: Arc<Live>) -> Self {
        Self { live, figures: Arc::default(), ticker: Mutex::default() }
    }

    /// Adds a request that ended.
    pub(crate) fn add(&self, record: &RequestRecord) {
        lock(&self.figures).add(record);
    }

    /// Begins the display of a measurement: on a terminal a panel that is drawn anew four times a
    /// second. Elsewhere a line is printed every ten seconds if the goal is a number of requests,
    /// and nothing if it is a time.
    pub(crate) fn begin(&self, goal: Goal) {
        *lock(&self.figures) = LiveFigures::default();
        let (live, figures) = (Arc::clone(&self.live), Arc::clone(&self.figures));
        let state = Arc::new(LiveState { live, figures, goal, clock: MonotonicClock::start() });
        let ticker = match (Panel::on_terminal(&state), &state.goal) {
            (Some(panel), _) => Some(Ticker::start(panel, PANEL_PAUSE)),
            (None, Goal::Requests { .. }) => Some(Ticker::start(StatusLines(state), LINE_PAUSE)),
            (None, Goal::Time { .. }) => None,
        };
        *lock(&self.ticker) = ticker;
    }

    /// Ends the display of a measurement; the panel is removed.
    pub(crate) fn end(&self) {
        let ticker = lock(&self.ticker).take();
        drop(ticker);
    }
}

/// State of a measurement in progress.
#[derive(Debug)]
struct LiveState {
    live: Arc<Live>,
    figures: Arc<Mutex<LiveFigures>>,
    goal: Goal,
    /// Started with the measurement.
    clock: MonotonicClock,
}

impl LiveState {
    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.clock.now().as_nanos())
    }

    /// Writes the figures below the bar, a line each.
    fn rows(&self) -> Vec<String> {
        let figures = lock(&self.figures);
        let asked = match self.goal {
            Goal::Requests { rate: Some(rate), .. } => format!(" of {rate:.1} asked"),
            _ => String::new(),
        };
        let load = format!(
            "{}{asked}, {} in flight",
            one_digit(figures.requests_per_s()),
            self.live.in_flight()
        );
        let rows = [
            row("requests/s", &load),
            row("tokens/s", &with_line(figures.tokens_per_s(), &figures.tokens_line())),
            row("TTFT (ms)", &with_line(figures.ttft_ms(), &figures.ttft_line())),
            row("ITL (ms)", &with_line(figures.itl_ms(), &figures.itl_line())),
        ];
        rows.into_iter().chain(figures.failures().map(|failures| format!("  {failures}"))).collect()
    }
}

/// Writes the state as one line.
impl fmt::Display for LiveState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = lock(&self.figures);
        let (done, seconds) = (self.live.finished(), self.elapsed().as_secs());
        match self.goal {
            Goal::Requests { requests, .. } => {
                write!(f, "{seconds} s: {done} of {requests} requests")?;
            }
            Goal::Time { streams, .. } => {
                write!(f, "{seconds} s: {streams} streams, {done} requests")?;
            }
        }
        write!(
            f,
            ", {} failed, {} in flight, {} requests/s, {} tokens/s, TTFT {} ms, ITL {} ms",
            self.live.failed(),
            self.live.in_flight(),
            one_digit(figures.requests_per_s()),
            one_digit(figures.tokens_per_s()),
            one_digit(figures.ttft_ms()),
            one_digit(figures.itl_ms()),
        )
    }
}

fn row(name: &str, text: &str) -> String {
    format!("  {name:<11} {text}")
}

/// Writes a figure and its course over the last seconds.
fn with_line(figure: Option<f64>, line: &str) -> String {
    format!("{:>9}  {line}", one_digit(figure))
}

fn one_digit(figure: Option<f64>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.1}"))
}

/// Draws a bar and the figures below it, and removes them at the end.
#[derive(Debug)]
struct Panel {
    bar: ProgressBar,
    state: Arc<LiveState>,
}

impl Panel {
    /// Returns a panel, unless standard error is no terminal.
    fn on_terminal(state: &Arc<LiveState>) -> Option<Self> {
        let target = ProgressDrawTarget::stderr();
        if target.is_hidden() {
            return None;
        }
        let (rows, goal) = (Arc::clone(state), state.goal.clone());
        let (length, template) = match goal {
            Goal::Requests { requests, .. } => (requests, BY_REQUESTS),
            Goal::Time { lasts, .. } => (millis(lasts), BY_TIME),
        };
        let style = ProgressStyle::with_template(template)
            .expect("the template is ours")
            .progress_chars("=> ")
            .with_key("rows", move |_: &ProgressState, out: &mut dyn fmt::Write| {
                // Writing to a buffer of the bar cannot fail.
                let _ = out.write_str(&rows.rows().join("\n"));
            });
        let bar = ProgressBar::with_draw_target(Some(length), target).with_style(style);
        Some(Self { bar, state: Arc::clone(state) })
    }
}

impl Draw for Panel {
    fn draw(&mut self) {
        let elapsed = self.state.elapsed();
        match self.state.goal {
            Goal::Requests { .. } => self.bar.set_position(self.state.live.finished()),
            Goal::Time { streams, lasts } => {
                let left = lasts.saturating_sub(elapsed).as_secs_f64().ceil();
                let streams =
                    if streams == 1 { "1 stream".to_owned() } else { format!("{streams} streams") };
                self.bar.set_message(format!("{streams}, {left} s left"));
                self.bar.set_position(millis(elapsed.min(lasts)));
            }
        }
    }

    fn end(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Prints the state of a measurement as lines.
#[derive(Debug)]
struct StatusLines(Arc<LiveState>);

impl Draw for StatusLines {
    fn draw(&mut self) {
        screen::eprint_line(&self.0.to_string());
    }

    fn end(&mut self) {}
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

const PANEL_PAUSE: Duration = Duration::from_millis(250);

const LINE_PAUSE: Duration = Duration::from_secs(10);

const BY_REQUESTS: &str = "{percent:>3}% [{bar:36}] {pos}/{len} requests, {eta} left\n{rows}";
const BY_TIME: &str = "{percent:>3}% [{bar:36}] {msg}\n{rows}";

#[cfg(test)]
mod tests {
    use super::*;

    fn state(goal: Goal) -> LiveState {
        let figures = Arc::new(Mutex::new(figures::tests::of_three_seconds()));
        LiveState { live: Arc::default(), figures, goal, clock: MonotonicClock::start() }
    }

    #[test]
    fn the_figures_of_a_run_fit_a_narrow_terminal() {
        let rows = state(Goal::Requests { requests: 40, rate: Some(4.0) }).rows();
        assert_eq!(rows.len(), 5);
        assert_eq!(rows[0], "  requests/s  2.0 of 4.0 asked, 0 in flight");
        assert_eq!(rows[1], "  tokens/s          6.0  ███");
        assert_eq!(rows[2], "  TTFT (ms)       180.0  ▄▄█");
        assert_eq!(rows[3], "  ITL (ms)         18.0  ▄▄█");
        assert_eq!(rows[4], "  1 of 7 requests failed: 1 http status 500");
        assert!(rows.iter().all(|row| row.chars().count() <= 80), "{rows:?}");
    }

    #[test]
    fn one_line_tells_the_state_where_there_is_no_terminal() {
        let line = state(Goal::Requests { requests: 40, rate: None }).to_string();
        assert_eq!(
            line,
            "0 s: 0 of 40 requests, 0 failed, 0 in flight, 2.0 requests/s, 6.0 tokens/s, TTFT 180.0 \
             ms, ITL 18.0 ms"
        );
        let of_streams =
            state(Goal::Time { streams: 8, lasts: Duration::from_secs(4) }).to_string();
        assert!(of_streams.starts_with("0 s: 8 streams, 0 requests, "), "{of_streams}");
    }
}
