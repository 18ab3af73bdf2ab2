//! What a command line's meaning depends on besides its words: variables, calendar, folder.
//!
//! It is a value, so that the same command line can be read twice with the same result.
//! [`Environment::from_process`] is the only place of the workspace that asks the process for it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use servemark_core::unix_now;
use servemark_hub::HubSettings;

/// What a command line's meaning depends on besides its words.
///
/// ```
/// use servemark_cli::Environment;
///
/// let environment = Environment::default().with_variable("OPENAI_API_KEY", "sk-secret");
/// assert!(!format!("{environment:?}").contains("sk-secret"));
/// ```
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    now: LocalTime,
    directory: PathBuf,
    nonce: u32,
    files: Files,
    files_read: Arc<Mutex<Vec<PathBuf>>>,
}

/// Where the files are that a command line names. Closed: on the machine or in the value.
#[derive(Clone)]
enum Files {
    /// By their paths.
    Given(BTreeMap<PathBuf, String>),
    /// Wherever the machine has them.
    OfThisMachine,
}

impl Default for Files {
    fn default() -> Self {
        Self::Given(BTreeMap::new())
    }
}

/// A moment on the wall: the machine's local calendar, and seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LocalTime {
    /// Year, month and day.
    pub date: (i16, u8, u8),
    /// Hour, minute and second.
    pub time: (u8, u8, u8),
    /// Seconds since 1970 in UTC, with their fraction.
    pub unix_seconds: f64,
    /// By how many seconds the calendar is ahead of UTC.
    pub utc_offset_s: i32,
}

impl Environment {
    /// The process's own.
    #[expect(clippy::disallowed_methods, reason = "this is the one reader of the environment")]
    pub fn from_process() -> Self {
        let read = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
        let names = VARIABLES.iter().chain(&HubSettings::VARIABLES);
        Self {
            variables: names.filter_map(read).collect(),
            now: LocalTime::at(unix_now(), &TimeZone::system()),
            directory: std::env::current_dir().unwrap_or_default(),
            // The standard library keys every process's hash tables differently.
            nonce: RandomState::new().hash_one(()) as u32,
            files: Files::OfThisMachine,
            files_read: Arc::default(),
        }
    }

    /// Returns the environment with `now` as its time.
    #[must_use]
    pub fn at(self, now: LocalTime) -> Self {
        Self { now, ..self }
    }

    /// Returns the environment with `directory` as the current folder.
    #[must_use]
    pub fn in_directory(self, directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), ..self }
    }

    /// Returns the environment with a variable set.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Returns the environment with a file; files of this machine cannot be read.
    #[must_use]
    pub fn with_file(self, path: impl Into<PathBuf>, text: &str) -> Self {
        let mut files = match self.files {
            Files::Given(files) => files,
            Files::OfThisMachine => BTreeMap::new(),
        };
        files.insert(path.into(), text.to_owned());
        Self { files: Files::Given(files), ..self }
    }

    /// A file that a command line names.
    pub(crate) fn read(&self, path: &str) -> io::Result<String> {
        self.files_read.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
        match &self.files {
            Files::OfThisMachine => fs::read_to_string(path),
            Files::Given(files) => {
                files.get(Path::new(path)).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }

    /// The files that were read to understand a command line, such as its config.
    pub fn files_read(&self) -> Vec<PathBuf> {
        self.files_read.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The first file of a name in a folder or below it; the case of letters does not matter.
    pub(crate) fn find_below(&self, folder: &str, name: &str) -> Option<String> {
        let is_it = |path: &Path| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            file.eq_ignore_ascii_case(name)
        };
        let found = match &self.files {
            Files::Given(files) => files
                .keys()
                .filter(|path| path.starts_with(folder))
                .find(|path| is_it(path))
                .cloned(),
            Files::OfThisMachine => {
                files_below(Path::new(folder)).into_iter().find(|path| is_it(path))
            }
        };
        found.map(|path| path.to_string_lossy().into_owned())
    }

    /// The names of what is in a folder, in their order.
    pub(crate) fn names_in(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = match &self.files {
            Files::Given(files) => {
                let inside = files.keys().filter_map(|path| path.strip_prefix(folder).ok());
                let first = inside.filter_map(|path| path.components().next());
                first.map(|name| name.as_os_str().to_string_lossy().into_owned()).collect()
            }
            Files::OfThisMachine => {
                let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
            }
        };
        names.sort();
        names.dedup();
        names
    }

    pub(crate) fn now(&self) -> LocalTime {
        self.now
    }

    /// A name that no other run has, as SGLang makes it: eight digits and the local time.
    pub(crate) fn run_name(&self) -> String {
        let [date, time] = self.now.digits();
        format!("{}_{date}{time}", self.nonce())
    }

    /// Eight hex digits that no other run has.
    pub(crate) fn nonce(&self) -> String {
        format!("{:08x}", self.nonce)
    }

    /// A seed that hardly another run has.
    pub(crate) fn seed(&self) -> u32 {
        self.nonce
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// A variable that is set and not empty; the peers take an empty one for none.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Where tokenizers and data sets come from that are given by name.
    pub(crate) fn hub(&self) -> HubSettings {
        HubSettings::from_variables(|name| self.variable(name).map(str::to_owned))
    }

    /// The folder for what the program finds out and can find out again.
    pub(crate) fn cache(&self) -> Option<PathBuf> {
        let given = self.variable("XDG_CACHE_HOME").map(PathBuf::from);
        // A relative one is to be ignored, by the standard that the variable is of.
        let given = given.filter(|folder| folder.is_absolute());
        let usual = || Some(Path::new(self.variable("HOME")?).join(".cache"));
        Some(given.or_else(usual)?.join("servemark"))
    }

    /// Returns the path of the file of measured noise: how much repeated runs of one plan differ.
    pub(crate) fn noise_file(&self) -> Option<PathBuf> {
        Some(self.cache()?.join("noise.json"))
    }

    /// Whether a variable says yes, as SGLang reads it.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| ["true", "1"].contains(&&*value.to_lowercase()))
    }
}

impl LocalTime {
    /// A moment of a calendar.
    pub fn new(date: (i16, u8, u8), time: (u8, u8, u8), unix_seconds: f64) -> Self {
        Self { date, time, unix_seconds, utc_offset_s: 0 }
    }

    /// Returns the time with an offset of its calendar from UTC, in seconds.
    #[must_use]
    pub fn ahead_of_utc(self, utc_offset_s: i32) -> Self {
        Self { utc_offset_s, ..self }
    }

    /// This moment, where this machine is.
    pub fn now() -> Self {
        Self::of_unix(unix_now())
    }

    /// A moment since 1970, where this machine is.
    pub fn of_unix(since_1970: Duration) -> Self {
        Self::at(since_1970, &TimeZone::system())
    }

    /// `2026-01-02T03:04:05.678901`: as Python writes a moment that has no zone.
    pub fn iso(&self) -> String {
        let Self { date: (year, month, day), time: (hour, minute, second), .. } = self;
        let micros = Duration::from_secs_f64(self.unix_seconds.max(0.0)).subsec_micros();
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}")
    }

    /// `YYYYMMDD` and `HHMMSS`.
    pub(crate) fn digits(&self) -> [String; 2] {
        let Self { date: (year, month, day), time: (hour, minute, second), .. } = self;
        [format!("{year:04}{month:02}{day:02}"), format!("{hour:02}{minute:02}{second:02}")]
    }

    fn at(since_1970: Duration, zone: &TimeZone) -> Self {
        let stamp = i64::try_from(since_1970.as_secs()).ok().map(Timestamp::from_second);
        let local = stamp.and_then(Result::ok).unwrap_or_default().to_zoned(zone.clone());
        let narrow = |number: i8| number.unsigned_abs();
        Self {
            date: (local.year(), narrow(local.month()), narrow(local.day())),
            time: (narrow(local.hour()), narrow(local.minute()), narrow(local.second())),
            unix_seconds: since_1970.as_secs_f64(),
            utc_offset_s: local.offset().seconds(),
        }
    }
}

/// All files of a folder and of those in it, each folder's own first.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.into_iter().partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| files_below(folder)));
    files
}

/// Names only: values may be keys.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("now", &self.now)
            .field("directory", &self.directory)
            .field("nonce", &self.nonce)
            .finish_non_exhaustive()
    }
}

/// Everything that is read, besides what says where the hub is.
const VARIABLES: [&str; 7] = [
    "API_KEY",
    "GITHUB_ACTIONS",
    "GITHUB_STEP_SUMMARY",
    "OPENAI_API_KEY",
    "SGLANG_IS_IN_CI",
    "SGLANG_TORCH_PROFILER_DIR",
    "SAVE_TO_PYTORCH_BENCHMARK_FORMAT",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_is_the_zones_own() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let local = LocalTime::at(Duration::from_millis(1_767_223_800_500), &zone);
        let expected = LocalTime::new((2026, 1, 1), (1, 30, 0), 1_767_223_800.5);
        assert_eq!(local, expected.ahead_of_utc(7200));
    }

    #[test]
    fn an_empty_variable_is_none() {
        let environment = Environment::default().with_variable("API_KEY", "");
        assert_eq!(environment.variable("API_KEY"), None);
    }

    #[test]
    fn yes_is_true_or_1() {
        let is_on = |value| Environment::default().with_variable("X", value).is_on("X");
        assert!(is_on("TRUE") && is_on("1") && !is_on("yes") && !is_on("0"));
    }
}
