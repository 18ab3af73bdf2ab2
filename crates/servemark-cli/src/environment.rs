//! The surroundings on which the meaning of a command line depends: environment variables, the
//! calendar and the current folder.
//!
//! It is a value, so that the same command line can be read twice with the same result. Only
//! [`Environment::from_process`] asks the process for its variables and its current folder.

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

/// The surroundings on which the meaning of a command line depends, as a value.
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

/// Source of the files that a command line names.
#[derive(Clone)]
enum Files {
    /// Contents of the files by their paths.
    Given(BTreeMap<PathBuf, String>),
    /// The machine's file system.
    OfThisMachine,
}

impl Default for Files {
    fn default() -> Self {
        Self::Given(BTreeMap::new())
    }
}

/// An instant in the machine's local time, and in seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LocalTime {
    /// Year, month and day.
    pub date: (i16, u8, u8),
    /// Hour, minute and second.
    pub time: (u8, u8, u8),
    /// Seconds since 1970 in UTC, with their fraction.
    pub unix_seconds: f64,
    /// Offset of the local time from UTC in seconds.
    pub utc_offset_s: i32,
}

impl Environment {
    /// Returns the environment of this process.
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

    /// Reads a file that a command line names.
    pub(crate) fn read(&self, path: &str) -> io::Result<String> {
        self.files_read.lock().unwrap_or_else(PoisonError::into_inner).push(path.into());
        match &self.files {
            Files::OfThisMachine => fs::read_to_string(path),
            Files::Given(files) => {
                files.get(Path::new(path)).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
            }
        }
    }

    /// Returns the files that were read to parse a command line, such as its config.
    pub fn files_read(&self) -> Vec<PathBuf> {
        self.files_read.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the first file with this name in a folder or its subfolders. Upper and lower case
    /// are equal.
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

    /// Returns the sorted names of a folder's entries.
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

    /// Returns a unique name for a run in SGLang's form: eight digits and the local time.
    pub(crate) fn run_name(&self) -> String {
        let [date, time] = self.now.digits();
        format!("{}_{date}{time}", self.nonce())
    }

    /// Returns eight hexadecimal digits that differ between runs.
    pub(crate) fn nonce(&self) -> String {
        format!("{:08x}", self.nonce)
    }

    /// Returns a seed that differs between runs.
    pub(crate) fn seed(&self) -> u32 {
        self.nonce
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the value of a variable; `None` if it is unset or empty, as with the peers.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the number of columns that the variable `COLUMNS` gives, if it does.
    pub fn columns(&self) -> Option<usize> {
        self.variable("COLUMNS")?.parse().ok().filter(|columns| *columns > 0)
    }

    /// Returns the settings of the hubs from which tokenizers and data sets are downloaded.
    pub(crate) fn hub(&self) -> HubSettings {
        HubSettings::from_variables(|name| self.variable(name).map(str::to_owned))
    }

    /// Returns the cache folder for measurements of the machine, which can be repeated.
    pub(crate) fn cache(&self) -> Option<PathBuf> {
        let given = self.variable("XDG_CACHE_HOME").map(PathBuf::from);
        // The XDG Base Directory Specification says that a relative path is to be ignored.
        let given = given.filter(|folder| folder.is_absolute());
        let usual = || Some(Path::new(self.variable("HOME")?).join(".cache"));
        Some(given.or_else(usual)?.join("servemark"))
    }

    /// Returns the path of the file of measured noise: how much repeated runs of one plan differ.
    pub(crate) fn noise_file(&self) -> Option<PathBuf> {
        Some(self.cache()?.join("noise.json"))
    }

    /// Returns whether a variable is `true` or `1`, as SGLang reads it.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.variable(name).is_some_and(|value| ["true", "1"].contains(&&*value.to_lowercase()))
    }
}

impl LocalTime {
    /// Creates an instant from its local date and time.
    pub fn new(date: (i16, u8, u8), time: (u8, u8, u8), unix_seconds: f64) -> Self {
        Self { date, time, unix_seconds, utc_offset_s: 0 }
    }

    /// Returns the time with an offset of its calendar from UTC, in seconds.
    #[must_use]
    pub fn ahead_of_utc(self, utc_offset_s: i32) -> Self {
        Self { utc_offset_s, ..self }
    }

    /// Returns the current instant in the machine's time zone.
    pub fn now() -> Self {
        Self::of_unix(unix_now())
    }

    /// Converts a time since 1970 to the machine's time zone.
    pub fn of_unix(since_1970: Duration) -> Self {
        Self::at(since_1970, &TimeZone::system())
    }

    /// Returns the instant as Python writes a `datetime` without a time zone:
    /// `2026-01-02T03:04:05.678901`.
    pub fn iso(&self) -> String {
        let Self { date: (year, month, day), time: (hour, minute, second), .. } = self;
        let micros = Duration::from_secs_f64(self.unix_seconds.max(0.0)).subsec_micros();
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}")
    }

    /// Returns the date as `YYYYMMDD` and the time as `HHMMSS`.
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

/// Returns all files of a folder and its subfolders; the files of a folder come before those of its
/// subfolders.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) =
        paths.into_iter().partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| files_below(folder)));
    files
}

/// Writes the names of the variables only, because values may be keys.
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

/// Names of the variables that are read, except those of the hubs.
const VARIABLES: [&str; 22] = [
    "API_KEY",
    "COLUMNS",
    "GITHUB_ACTIONS",
    "GITHUB_STEP_SUMMARY",
    "JOB_COMPLETION_INDEX",
    "NATS_PASSWORD",
    "NATS_TOKEN",
    "NATS_USER",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OPENAI_API_KEY",
    "PMI_RANK",
    "PMI_SIZE",
    "RANK",
    "SAVE_TO_PYTORCH_BENCHMARK_FORMAT",
    "SGLANG_IS_IN_CI",
    "SGLANG_TORCH_PROFILER_DIR",
    "SLURM_JOB_ID",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_STEP_ID",
    "WORLD_SIZE",
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
