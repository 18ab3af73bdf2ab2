//! Runs `servemark` on command lines.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use servemark_mock::{MockServer, MockSpec, ReceivedRequest};
use tempfile::TempDir;

use crate::observed::ObservedRequest;
use crate::{Line, Observed, Outcome, Peer};

/// Runs `servemark` on command lines, each against its own server.
#[derive(Debug)]
pub struct Own {
    program: PathBuf,
    fixtures: PathBuf,
    /// Temporary folder with one model folder per processor of the fixtures, which has the
    /// processor's files and a tokenizer.
    models: TempDir,
}

impl Own {
    /// Returns a runner for the program at the path `program`, with the folder of fixtures.
    ///
    /// # Errors
    ///
    /// The fixtures do not exist, or a temporary folder cannot be created.
    pub fn new(program: &Path, fixtures: &Path) -> io::Result<Self> {
        let fixtures = fixtures.canonicalize()?;
        let models = tempfile::tempdir()?;
        for processor in fs::read_dir(fixtures.join("processors"))? {
            let processor = processor?;
            let model = models.path().join(processor.file_name());
            fs::create_dir(&model)?;
            for source in [processor.path(), fixtures.join("tokenizers/qwen2.5-small")] {
                link_files(&source, &model)?;
            }
        }
        Ok(Self { program: program.to_owned(), fixtures, models })
    }

    /// Runs a line and returns the observations.
    ///
    /// # Errors
    ///
    /// The program or a server cannot be started, or a file cannot be read.
    pub fn observe(&self, line: &Line, peer: &dyn Peer) -> io::Result<Observed> {
        let folder = tempfile::tempdir()?;
        let out = folder.path().join("out");
        fs::create_dir(&out)?;
        let fixtures = self.fixtures.to_string_lossy().into_owned();
        let model = peer.model().replace("{DATA}", &fixtures);
        let server = MockServer::start(spec(model)).map_err(io::Error::other)?;
        let places = BTreeMap::from([
            ("{DATA}".to_owned(), fixtures),
            ("{HOST}".to_owned(), server.addr().ip().to_string()),
            ("{MODELS}".to_owned(), self.models.path().to_string_lossy().into_owned()),
            ("{OUT}".to_owned(), out.to_string_lossy().into_owned()),
            ("{PORT}".to_owned(), server.addr().port().to_string()),
            ("{URL}".to_owned(), server.base_url()),
        ]);
        for (name, text) in &line.inputs {
            let path = out.join(name);
            fs::create_dir_all(path.parent().unwrap_or(&out))?;
            fs::write(path, filled(text, &places))?;
        }
        let status = self.run(line, peer, &places, folder.path())?;
        let read = |name| Ok::<_, io::Error>(lossy(&fs::read(folder.path().join(name))?));
        let (stdout, stderr) = (read("stdout")?, read("stderr")?);
        Ok(Observed {
            n: line.n,
            command: line.command.clone(),
            argv: line.argv.clone(),
            env: line.env.clone(),
            inputs: line.inputs.clone(),
            ordered: line.ordered,
            exit: status.and_then(|status| status.code()),
            crashed: status.is_some_and(is_crash),
            stdout,
            stderr,
            files: files(&out, "")?,
            requests: server.requests().into_iter().map(ObservedRequest::from).collect(),
            places,
        })
    }

    /// Runs the program to its end; returns `None` if it was killed at the time limit.
    fn run(
        &self,
        line: &Line,
        peer: &dyn Peer,
        places: &BTreeMap<String, String>,
        folder: &Path,
    ) -> io::Result<Option<ExitStatus>> {
        let fill = |text: &String| filled(text, places);
        let mut command = Command::new(&self.program);
        for name in UNSET {
            command.env_remove(name);
        }
        let mut child = command
            .args(peer.words(&line.command))
            .args(line.argv.iter().map(fill))
            .env("HF_HUB_OFFLINE", "1")
            .env("HOME", folder.join("home"))
            .envs(line.env.iter().map(|(name, value)| (name, fill(value))))
            .current_dir(folder.join("out"))
            .stdin(Stdio::null())
            .stdout(File::create(folder.join("stdout"))?)
            .stderr(File::create(folder.join("stderr"))?)
            .spawn()?;
        wait(&mut child, limit(line.outcome))
    }
}

/// Returns the server's settings, equal to those in the scripts of
/// `fixtures/record/command_lines/`.
fn spec(model: String) -> MockSpec {
    let mut spec = MockSpec::new(Duration::from_millis(2), Duration::from_micros(500));
    spec.model = model;
    spec.keep_requests = usize::MAX;
    spec
}

/// Replaces the placeholders in a text by their values.
fn filled(text: &str, places: &BTreeMap<String, String>) -> String {
    places.iter().fold(text.to_owned(), |text, (word, stands)| text.replace(word, stands))
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    for _ in 0..limit.as_millis() / STEP.as_millis() {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        #[expect(clippy::disallowed_methods, reason = "nothing is measured here")]
        thread::sleep(STEP);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Returns whether the program ended by a panic or by a signal.
fn is_crash(status: ExitStatus) -> bool {
    status.code() == Some(101) || status.signal().is_some()
}

/// Returns the text of all files in a folder, by their paths with `prefix`. A database is returned
/// as the rows that the peer's script writes beside its own.
fn files(folder: &Path, prefix: &str) -> io::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path(), &format!("{name}/"))?);
        } else if name.ends_with(DATABASE) {
            // A run that failed early may leave a database without its table.
            found.extend(rows(&entry.path()).ok().map(|rows| (format!("{name}.json"), rows)));
        } else {
            found.insert(name, lossy(&fs::read(entry.path())?));
        }
    }
    Ok(found)
}

/// End of the name of evalscope's database.
pub(crate) const DATABASE: &str = ".db";

/// Returns the columns of evalscope's database that are not times, as a JSON list of rows.
fn rows(path: &Path) -> rusqlite::Result<String> {
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut select = database.prepare(
        "SELECT json_array(request, success, is_stream, prompt_tokens, completion_tokens, \
         request_id) FROM result",
    )?;
    let rows = select.query_map([], |row| row.get::<_, String>(0))?;
    Ok(format!("[{}]", rows.collect::<Result<Vec<_>, _>>()?.join(",")))
}

/// Links the files of a folder into another folder that does not have them yet.
fn link_files(from: &Path, to: &Path) -> io::Result<()> {
    for file in fs::read_dir(from)? {
        let file = file?;
        let link = to.join(file.file_name());
        if !link.exists() {
            symlink(file.path(), link)?;
        }
    }
    Ok(())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl From<ReceivedRequest> for ObservedRequest {
    fn from(observed: ReceivedRequest) -> Self {
        let mut line = Vec::new();
        servemark_mock::write_requests(&[observed], &mut line)
            .expect("memory takes what is written");
        serde_json::from_slice(&line).expect("a line of requests is one request")
    }
}

/// Returns the time limit of a command line by the outcome of the peer's run.
fn limit(of_peer: Outcome) -> Duration {
    match of_peer {
        // Servemark may go on as well, and must only not crash.
        Outcome::Stuck => Duration::from_secs(10),
        // Without optimisation and on a busy machine, reading a large tokenizer alone may take half a
        // minute.
        _ => Duration::from_secs(240),
    }
}

const STEP: Duration = Duration::from_millis(10);

/// Environment variables that would change the program's behaviour, removed unless the command line
/// sets them.
const UNSET: [&str; 8] = [
    "API_KEY",
    "HF_ENDPOINT",
    "HF_HOME",
    "HF_TOKEN",
    "OPENAI_API_KEY",
    "SGLANG_IS_IN_CI",
    "SGLANG_USE_MODELSCOPE",
    "XDG_CACHE_HOME",
];
