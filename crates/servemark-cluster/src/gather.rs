//! Gathers and merges the results of the ranks.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use servemark::core::{Clock, RunLog, RunLogReader, first_free};
use servemark::metrics::Audit;
use servemark::plan::OutputSpec;
use servemark::{ExitCode, RankError, Run, rank_log};
use tempfile::NamedTempFile;
use tokio::task::JoinSet;

use crate::lead::{Lead, LeadState};
use crate::lead_spec::Gather;
use crate::message::{BlockRequest, RankStage, encode};
use crate::pause::pause;

/// Gathers the logs of all ranks, merges them with rank 0's, and writes the merged log to the path
/// of the plan.
pub(crate) async fn gather(lead: &Arc<Lead>, own: Run) -> Result<Run, RankError> {
    let output = lead.output();
    let Run { log, lost_shards, sent, mut run_log_error, .. } = own;
    let mut logs = vec![log];
    let (mut tasks, mut left) =
        (JoinSet::new(), 1..lead.state.read(|state| state.others.len()) + 1);
    loop {
        while tasks.len() < AT_ONCE
            && let Some(rank) = left.next()
        {
            let (lead, path) = (Arc::clone(lead), kept_path(lead.gather, &output, rank));
            tasks.spawn(async move { (rank, fetch(&lead, rank, path).await) });
        }
        let Some(done) = tasks.join_next().await else { break };
        match done {
            Ok((_, Ok(log))) => logs.push(log),
            Ok((rank, Err(reason))) => lead.lose(rank, &reason),
            Err(_) => return Err(crate::error::thread_died()),
        }
    }
    let log = merged(lead, logs)?;
    let audit = Audit::of(&log);
    let log = log.with_audit(serde_json::to_value(&audit).unwrap_or_default());
    let mut run_log = None;
    if let Some(path) = &output.run_log {
        match log.write(path, output.run_log_if_taken) {
            Ok(path) => run_log = Some(path),
            Err(error) => run_log_error = Some(error),
        }
    }
    Ok(Run { log, audit, run_log, run_log_error, lost_shards, sent })
}

/// Merges the logs; ranks that were lost keep their reason and their machine.
fn merged(lead: &Lead, logs: Vec<RunLog>) -> Result<RunLog, RankError> {
    let merged = RunLog::merged(logs);
    let log = merged.map_err(|error| RankError::new(error.to_string(), ExitCode::Internal))?;
    Ok(lead.state.read(|state| {
        state.others.iter().fold(log, |log, other| match &other.lost {
            Some(reason) => log.with_reason_of_loss(other.rank, &other.machine(), reason),
            None => log,
        })
    }))
}

/// Returns where a rank's log is kept, if it is.
fn kept_path(gather: Gather, output: &OutputSpec, rank: usize) -> Option<PathBuf> {
    let path = output.run_log.as_deref().filter(|_| gather == Gather::Logs)?;
    Some(rank_log(path, rank))
}

/// Fetches the log of a rank, block by block; the error says why that is impossible.
async fn fetch(lead: &Lead, rank: usize, kept: Option<PathBuf>) -> Result<RunLog, String> {
    logged(lead, rank).await?;
    let cannot = |error: &dyn std::fmt::Display| format!("its results cannot be stored: {error}");
    let mut file = Store::create(kept.as_deref()).map_err(|error| cannot(&error))?;
    let run = lead.run();
    for block in 0.. {
        let bytes = fetch_block(lead, rank, BlockRequest { run, block }).await?;
        if bytes.is_empty() {
            break;
        }
        file.write_all(&bytes).map_err(|error| cannot(&error))?;
    }
    let read = RunLogReader::open(file.path()).and_then(RunLogReader::into_log);
    read.map_err(|error| format!("its results cannot be read: {error}"))
}

/// The file into which blocks are written.
enum Store {
    Kept(PathBuf, File),
    Temporary(NamedTempFile),
}

impl Store {
    fn create(kept: Option<&Path>) -> io::Result<Self> {
        match kept {
            None => Ok(Self::Temporary(NamedTempFile::new()?)),
            Some(path) => first_free(path).map(|(path, file)| Self::Kept(path, file)),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path, _) => path,
            Self::Temporary(file) => file.path(),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Kept(_, file) => file.write_all(bytes),
            Self::Temporary(file) => file.write_all(bytes),
        }
    }
}

/// Waits until a rank has its results.
async fn logged(lead: &Lead, rank: usize) -> Result<(), String> {
    lead.state
        .until(|state: &LeadState| {
            let other = &state.others[rank - 1];
            match other.stage(state.run_number()) {
                RankStage::Logged => Some(Ok(())),
                RankStage::Failed { reason } => Some(Err(reason.clone())),
                _ => other.lost.clone().map(Err),
            }
        })
        .await
}

/// Asks for a block until it comes, or the rank is lost.
async fn fetch_block(
    lead: &Lead,
    rank: usize,
    block: BlockRequest,
) -> Result<bytes::Bytes, String> {
    let began = lead.clock.now();
    loop {
        let request = lead.coordinator.request(lead.subjects.rank(rank), encode(&block), PATIENCE);
        let error = match request.await {
            Ok(bytes) => return Ok(bytes),
            Err(error) => error,
        };
        let lost = lead.state.read(|state| state.others[rank - 1].lost.clone());
        if let Some(reason) = lost {
            return Err(reason);
        }
        if lead.clock.now().since(began) > MOST_PATIENCE {
            return Err(format!("its results could not be gathered: {error}"));
        }
        pause(PAUSE).await;
    }
}

/// Number of ranks whose results are fetched at the same time.
const AT_ONCE: usize = 8;

/// Time to wait for a block before it is asked for again, and the pause before that.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(100);

/// Time after which a rank that is there but does not give a block counts as lost.
const MOST_PATIENCE: Duration = Duration::from_secs(60);
