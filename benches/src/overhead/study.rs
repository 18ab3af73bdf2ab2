//! All runs of all loads with all readers.

use std::path::Path;

use anyhow::Context;
use serde::Serialize;
use servemark::backends::Route;
use servemark::client::Http1Stack;

use super::bare::Bare;
use super::client::Client;
use super::machine::pin;
use super::{Cores, Figures, Load, Machine, Options, Seen, Server};

/// All runs of all loads with all readers.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Study {
    /// Where it was.
    pub machine: Machine,
    /// Which core did what; absent if nothing could be pinned, because there is only one.
    pub cores: Option<Cores>,
    /// Each load with each reader.
    pub cases: Vec<Case>,
}

/// One load with one reader.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Case {
    /// The load.
    pub load: Load,
    /// The reader.
    pub reader: Reader,
    /// Its runs, in the order in which they were made.
    pub runs: Vec<Figures>,
}

/// Who reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reader {
    /// One that only reads.
    Floor,
    /// The client, on OpenAI's chat route.
    Chat,
    /// The same, with hyper's HTTP/1.1 in place of our own.
    ChatByHyper,
    /// The client, on SGLang's `/generate`, whose chunks repeat the whole text.
    Generate,
}

impl Reader {
    /// Every reader, the one that others are compared with first.
    pub const ALL: [Self; 4] = [Self::Floor, Self::Chat, Self::ChatByHyper, Self::Generate];

    fn run(self, load: &Load, server: &mut Server) -> anyhow::Result<Figures> {
        match self {
            Self::Floor => {
                let bare = Bare::connect(load, server.url())?;
                observe(server, || bare.run())
            }
            Self::Chat => run_client(load, Route::Chat, Http1Stack::Direct, server),
            Self::ChatByHyper => run_client(load, Route::Chat, Http1Stack::Hyper, server),
            Self::Generate => run_client(load, Route::Generate, Http1Stack::Direct, server),
        }
    }
}

/// Makes the whole study. Servers are started as `program`, which must call [`serve`]; `tell`
/// hears what is being done.
///
/// All readers take turns within a run, so that whatever else the machine is busy with hurts each
/// of them alike.
///
/// [`serve`]: super::serve
pub fn measure(
    options: &Options,
    program: &Path,
    mut tell: impl FnMut(&str),
) -> anyhow::Result<Study> {
    let (machine, cores) = (Machine::describe(), Cores::pick());
    match cores {
        Some(cores) => pin(cores.reader)?,
        None => tell("there is only one core: nothing is pinned, and the server is in the way"),
    }
    let mut cases: Vec<Case> = options.loads().into_iter().flat_map(Case::of_load).collect();
    for run in 1..=options.runs {
        for case in &mut cases {
            tell(&format!("run {run} of {}: {}", options.runs, case.name()));
            case.run(program, cores).with_context(|| case.name())?;
        }
    }
    Ok(Study { machine, cores, cases })
}

impl Study {
    /// Of each case only the run in which the reader waited least for its core. What is chosen by
    /// that is not chosen by its result.
    #[must_use]
    pub fn quietest(&self) -> Self {
        let mut study = self.clone();
        for case in &mut study.cases {
            case.runs.sort_by(|one, other| one.waited_ms.total_cmp(&other.waited_ms));
            case.runs.truncate(1);
        }
        study
    }

    /// The floor under the same load.
    pub fn floor_of(&self, case: &Case) -> Option<&Case> {
        self.cases.iter().find(|other| other.reader == Reader::Floor && other.load == case.load)
    }
}

impl Case {
    fn of_load(load: Load) -> impl Iterator<Item = Self> {
        Reader::ALL.into_iter().map(move |reader| Self { load, reader, runs: Vec::new() })
    }

    fn run(&mut self, program: &Path, cores: Option<Cores>) -> anyhow::Result<()> {
        let mut server = Server::start(program, &self.load, cores.map(|cores| cores.server))?;
        self.runs.push(self.reader.run(&self.load, &mut server)?);
        Ok(())
    }

    fn name(&self) -> String {
        let Self { load, reader, .. } = self;
        let start = if load.is_flood() { "flood".into() } else { format!("{:?}", load.start) };
        format!("{} streams, {}, {reader:?}", load.streams, start.to_lowercase())
    }
}

fn run_client(
    load: &Load,
    route: Route,
    stack: Http1Stack,
    server: &mut Server,
) -> anyhow::Result<Figures> {
    let client = Client::connect(load, route, stack, server.url())?;
    observe(server, || client.run(load))
}

/// Reads, with the server's account around it.
fn observe(
    server: &mut Server,
    read: impl FnOnce() -> anyhow::Result<Seen>,
) -> anyhow::Result<Figures> {
    let before = server.account()?;
    let seen = read()?;
    let account = server.account()?;
    let server_cpu_ns = account.cpu_ns.saturating_sub(before.cpu_ns);
    Figures::of(seen, account, server_cpu_ns)
}
