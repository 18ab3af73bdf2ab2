//! Merges the logs of the processes that shared a run.

use std::collections::BTreeMap;

use thiserror::Error;

use super::{ClientCost, Footer, RankFacts, RankMachine, RankMember, RankStart, Ranks, RunLog};
use crate::Stamp;

/// Why logs cannot be merged.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[non_exhaustive]
pub enum MergeError {
    /// There is no log.
    #[error("there is no log to merge")]
    Nothing,
    /// One of the logs is that of a whole run.
    #[error("log {number} is not the part of one rank, so it cannot be merged with others")]
    Whole {
        /// One-based position of the log.
        number: usize,
    },
    /// Two logs are of different runs.
    #[error("the logs are of different runs: {first} and {other}")]
    OtherRun {
        /// Name of the run of the first log.
        first: String,
        /// Name of the run of the other log.
        other: String,
    },
    /// Two logs are of the same rank.
    #[error("two of the logs are of rank {rank}")]
    Twice {
        /// The rank.
        rank: usize,
    },
    /// No rank began to measure.
    #[error("no rank began to measure, so there is nothing to merge")]
    NotStarted,
}

/// One rank's log, with the facts that its header must have.
struct RankPart {
    rank: RankFacts,
    log: RunLog,
}

impl RankPart {
    /// Returns the nanoseconds to add to the rank's times on the axis on which the measurement
    /// begins at `start`.
    fn nanos_to(&self, start: Stamp) -> i64 {
        self.log.start.map_or(0, |own| between(own.at, start))
    }
}

impl RunLog {
    /// Merges the logs of the processes that shared a run: the log that a single process would have
    /// written. All times are moved onto the clock of the lowest rank that measured; no time between
    /// two stamps of one request changes. Telemetry and what a server reports of itself are those of
    /// that rank. Ranks of which there is no log, or whose log has no end, count as lost.
    pub fn merged(logs: Vec<Self>) -> Result<Self, MergeError> {
        let parts = parts(logs)?;
        let lead = parts.iter().position(|part| part.log.start.is_some());
        let lead = lead.ok_or(MergeError::NotStarted)?;
        let start = parts[lead].log.start.ok_or(MergeError::NotStarted)?;
        let mut header = parts[lead].log.header.clone();
        header.facts = parts[lead].rank.whole.clone();
        header.rank = None;
        header.host.cores = cores(&parts);
        header.ranks = Some(ranks(&parts));
        let footer = footer(&parts, lead, start);
        let telemetry = parts[lead].log.telemetry.clone();
        let mut records = Vec::with_capacity(parts.iter().map(|part| part.log.records.len()).sum());
        for part in parts {
            let nanos = part.nanos_to(start.at);
            records.extend(part.log.records.into_iter().map(|mut record| {
                record.shift(nanos);
                record
            }));
        }
        Ok(Self::new(header, records, footer).with_telemetry(telemetry))
    }

    /// Sets why a rank was lost, and its machine, in a merged log. A rank that is not lost there
    /// stays as it is.
    #[must_use]
    pub fn with_reason_of_loss(mut self, rank: usize, machine: &RankMachine, reason: &str) -> Self {
        let members = self.header.ranks.iter_mut().flat_map(|ranks| &mut ranks.members);
        for member in members.filter(|member| member.rank == rank && member.lost.is_some()) {
            member.lost = Some(reason.to_owned());
            member.machine.clone_from(machine);
        }
        self
    }
}

/// Returns the logs in order of rank, after checking that they belong together.
fn parts(logs: Vec<RunLog>) -> Result<Vec<RankPart>, MergeError> {
    let with_rank = |(place, log): (usize, RunLog)| {
        let rank = log.header.rank.clone().ok_or(MergeError::Whole { number: place + 1 })?;
        Ok(RankPart { rank: *rank, log })
    };
    let mut parts: Vec<RankPart> =
        logs.into_iter().enumerate().map(with_rank).collect::<Result<_, MergeError>>()?;
    let first = parts.first().ok_or(MergeError::Nothing)?.rank.run.clone();
    if let Some(other) = parts.iter().find(|part| part.rank.run != first) {
        return Err(MergeError::OtherRun { first, other: other.rank.run.clone() });
    }
    parts.sort_by_key(|part| part.rank.rank);
    let twice = parts.windows(2).find(|pair| pair[0].rank.rank == pair[1].rank.rank);
    match twice {
        Some(pair) => Err(MergeError::Twice { rank: pair[0].rank.rank }),
        None => Ok(parts),
    }
}

/// Returns every rank of the run, those without a log included.
fn ranks(parts: &[RankPart]) -> Ranks {
    let RankFacts { run, ranks, whole, .. } = &parts[0].rank;
    let known: BTreeMap<usize, RankMember> =
        parts.iter().map(|part| (part.rank.rank, member(part))).collect();
    let unknown = (0..*ranks).filter(|rank| !known.contains_key(rank)).count();
    let planned: usize = known.values().map(|member| member.planned).sum();
    let rest = whole.requests.saturating_sub(planned);
    let mut nth = 0;
    let members = (0..*ranks).map(|rank| {
        if let Some(member) = known.get(&rank) {
            return member.clone();
        }
        // What the other logs do not have is dealt out evenly to the ranks without one.
        let planned = (rest + unknown - 1 - nth) / unknown;
        nth += 1;
        let lost = Some("there is no log of it".to_owned());
        RankMember { rank, planned, lost, ..RankMember::default() }
    });
    Ranks { run: run.clone(), members: members.collect() }
}

fn member(part: &RankPart) -> RankMember {
    let RankPart { rank, log } = part;
    let audit = log.footer().and_then(|footer| footer.audit.clone()).unwrap_or_default();
    let lost = match (log.footer(), log.start) {
        (Some(_), _) => None,
        (None, Some(_)) => Some("its log has no end".to_owned()),
        (None, None) => Some("its log ends before the start".to_owned()),
    };
    let machine = RankMachine {
        host: rank.host.clone(),
        cores: log.header.host.cores,
        open_files: rank.open_files,
    };
    RankMember {
        rank: rank.rank,
        machine,
        planned: log.header.facts.requests,
        recorded: log.measured().count(),
        clock_before: log.start.map(|start| start.clock),
        clock_after: log.footer().and_then(|footer| footer.rank_clock),
        start_late_ns: start_late_ns(log),
        verdict: audit["verdict"].as_str().map(ToOwned::to_owned),
        reason: audit["reasons"][0]["reason"].as_str().map(ToOwned::to_owned),
        lost,
    }
}

/// Returns how late a rank sent its first request, in nanoseconds; `None` if it sent none.
fn start_late_ns(log: &RunLog) -> Option<u64> {
    let first = log.measured().min_by_key(|record| record.scheduled)?;
    Some(first.sent?.as_nanos().saturating_sub(first.scheduled.as_nanos()))
}

/// Returns the number of cores of all machines together.
fn cores(parts: &[RankPart]) -> usize {
    let mut hosts = BTreeMap::new();
    for part in parts {
        let cores = hosts.entry(&part.rank.host).or_insert(0);
        *cores = part.log.header.host.cores.max(*cores);
    }
    hosts.into_values().sum()
}

/// Merges the footers; `None` if no log has one.
fn footer(parts: &[RankPart], lead: usize, start: RankStart) -> Option<Footer> {
    let footers: Vec<(&Footer, i64)> = parts
        .iter()
        .filter_map(|part| Some((part.log.footer()?, part.nanos_to(start.at))))
        .collect();
    if footers.is_empty() {
        return None;
    }
    let mut merged = parts[lead].log.footer().cloned().unwrap_or_default();
    merged.began = Some(start.at);
    merged.rank_clock = None;
    merged.audit = None;
    let ended = parts.iter().flat_map(|part| {
        let nanos = part.nanos_to(start.at);
        part.log.measured().map(move |record| record.ended.shifted(nanos))
    });
    let ends = footers.iter().map(|(footer, nanos)| footer.ended.shifted(*nanos));
    merged.ended = ends.chain(ended).max().unwrap_or(start.at);
    merged.interrupted = footers.iter().any(|(footer, _)| footer.interrupted);
    let reuse = footers
        .iter()
        .filter_map(|(footer, nanos)| footer.reuse_ended.map(|stamp| stamp.shifted(*nanos)));
    merged.reuse_ended = reuse.min();
    merged.engine_ended = footers.iter().find_map(|(footer, _)| footer.engine_ended.clone());
    merged.client = cost(footers.iter().filter_map(|(footer, _)| footer.client.as_ref()));
    merged.retokenized =
        footers.iter().flat_map(|(footer, _)| footer.retokenized.iter().cloned()).collect();
    merged.retokenized.sort_by_key(super::Retokenized::key);
    merged.truth = footers.iter().flat_map(|(footer, _)| footer.truth.iter().cloned()).collect();
    merged.truth.sort_by_key(super::SimulatedTimes::key);
    Some(merged)
}

/// Adds up what the processes used. The time of the measurement is that of the longest one.
fn cost<'a>(costs: impl Iterator<Item = &'a ClientCost>) -> Option<ClientCost> {
    costs.cloned().reduce(|mut sum, cost| {
        sum.cpu_ns += cost.cpu_ns;
        sum.wall_ns = sum.wall_ns.max(cost.wall_ns);
        sum.shards.extend(cost.shards);
        sum.steal_ns = match (sum.steal_ns, cost.steal_ns) {
            (Some(sum), Some(more)) => Some(sum + more),
            (one, other) => one.or(other),
        };
        sum.log_wait_ns += cost.log_wait_ns;
        sum
    })
}

/// Returns the nanoseconds that turn `from` into `to`.
fn between(from: Stamp, to: Stamp) -> i64 {
    let nanos = i128::from(to.as_nanos()) - i128::from(from.as_nanos());
    i64::try_from(nanos).unwrap_or(if nanos > 0 { i64::MAX } else { i64::MIN })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Delta, Finish, Header, Phase, RankClock, Recorder, RequestRecord, RunFacts, Sample,
        ShardCost, SimulatedTimes, Sink,
    };

    fn at(ms: u64) -> Stamp {
        Stamp::from_nanos(ms * 1_000_000)
    }

    /// Returns the record of a request of which every stamp is set, `start` being the start of the
    /// measurement on the clock of the rank that sent it.
    fn record(index: usize, start: u64) -> RequestRecord {
        let due = start + 10 * index as u64;
        let mut recorder = Recorder::new(index, Phase::Measure, &Sample::new("", 1, 2), at(due));
        recorder.granted(at(due));
        recorder.record_sent(at(due + 1));
        recorder.at(at(due + 20)).delta(Delta::content("a"));
        recorder.at(at(due + 35)).delta(Delta::content("b"));
        let mut record = recorder.finish(Ok(Finish::default()), at(due + 40));
        record.left = Some(at(due + 2));
        record.resent = Some(crate::Resent::new(crate::Unprocessed::Closed, Some(at(due))));
        record
    }

    const REQUESTS: usize = 10;

    fn whole() -> RunFacts {
        RunFacts { requests: REQUESTS, request_rate: Some(100.0), ..RunFacts::default() }
    }

    fn footer(start: u64, ended: u64) -> Footer {
        let client = Some(ClientCost::new(5, 100));
        Footer { began: Some(at(start)), ended: at(ended), client, ..Footer::default() }
    }

    /// Returns the log of one rank, whose clock shows `start` when the measurement begins.
    fn part(rank: usize, ranks: usize, start: u64) -> RunLog {
        let mine: Vec<usize> = (rank..REQUESTS).step_by(ranks).collect();
        let mut facts = whole();
        facts.requests = mine.len();
        let mut header = Header::new(7, facts, serde_json::Value::Null);
        header.host.cores = 4;
        header.rank = Some(Box::new(RankFacts {
            run: "run".to_owned(),
            rank,
            ranks,
            host: format!("host-{}", rank / 2),
            open_files: Some(1024),
            whole: whole(),
        }));
        let last = mine.last().map_or(0, |index| 10 * *index as u64 + 40);
        let mut end = footer(start, start + last);
        end.client.as_mut().unwrap().shards = vec![ShardCost::default()];
        end.truth =
            mine.iter().rev().map(|index| SimulatedTimes::new((*index, 0), vec![1])).collect();
        let records = mine.into_iter().map(|index| record(index, start)).collect();
        let clock = RankClock { offset_ns: 3, bound_ns: 10 * (rank as u64 + 1) };
        RunLog::new(header, records, Some(end)).with_start(Some(RankStart { at: at(start), clock }))
    }

    /// Returns the logs of all ranks, each with another clock; rank 0's shows 500 ms at the start.
    fn logs(ranks: usize) -> Vec<RunLog> {
        let starts = (0..ranks as u64).map(|rank| 500 + 3_777 * rank - 400 * rank * rank / 8);
        starts.enumerate().map(|(rank, start)| part(rank, ranks, start)).collect()
    }

    fn percent_missing(ranks: &Ranks) -> String {
        format!("{:.0}", 100.0 * ranks.missing_share())
    }

    #[test]
    fn the_records_are_those_of_one_process() {
        let expected: Vec<_> = (0..REQUESTS).map(|index| record(index, 500)).collect();
        for ranks in [1, 2, 3, 8, 12] {
            let mut logs = logs(ranks);
            logs.reverse();
            let merged = RunLog::merged(logs).unwrap();
            assert_eq!(merged.records(), expected, "{ranks} ranks");
            assert_eq!(merged.header().facts, whole());
            let footer = merged.footer().unwrap();
            assert_eq!((footer.began, footer.ended), (Some(at(500)), at(500 + 130)));
            assert!(footer.truth.iter().map(|row| row.index).eq(0..REQUESTS));
            let ranks_of_run = merged.header().ranks.as_ref().unwrap();
            assert_eq!((ranks_of_run.present(), ranks_of_run.members.len()), (ranks, ranks));
            assert_eq!(percent_missing(ranks_of_run), "0");
            let first = &ranks_of_run.members[0];
            let (cores, open_files) = (first.machine.cores, first.machine.open_files);
            assert_eq!((cores, open_files, first.start_late_ns), (4, Some(1024), Some(1_000_000)));
        }
    }

    #[test]
    fn costs_add_up_and_each_machine_counts_once() {
        let merged = RunLog::merged(logs(3)).unwrap();
        let client = merged.footer().unwrap().client.clone().unwrap();
        assert_eq!((client.cpu_ns, client.wall_ns, client.shards.len()), (15, 100, 3));
        // Ranks 0 and 1 are on one machine, rank 2 on another.
        assert_eq!(merged.header().host.cores, 8);
        assert_eq!(merged.header().ranks.as_ref().unwrap().clock_bound_ns(), 30 + 20);
    }

    #[test]
    fn a_missing_log_is_a_lost_rank_with_its_share() {
        let mut logs = logs(3);
        logs.remove(0);
        let merged = RunLog::merged(logs).unwrap();
        let ranks = merged.header().ranks.clone().unwrap();
        assert_eq!(ranks.lost().map(|member| member.rank).collect::<Vec<_>>(), [0]);
        assert_eq!((ranks.present(), percent_missing(&ranks).as_str()), (2, "40"));
        // The axis is that of rank 1 then.
        assert_eq!(merged.records()[0], record(1, 500 + 3_777 - 50));
    }

    #[test]
    fn a_log_without_end_gives_the_records_that_it_has() {
        let mut logs = logs(3);
        logs[1].footer = None;
        logs[1].records.truncate(1);
        let ranks = RunLog::merged(logs).unwrap().header().ranks.clone().unwrap();
        let lost: Vec<_> = ranks.lost().map(|member| (member.rank, member.recorded)).collect();
        assert_eq!(lost, [(1, 1)]);
        assert_eq!(percent_missing(&ranks), "20");
    }

    #[test]
    fn logs_that_do_not_belong_together_are_refused() {
        let error = |logs| RunLog::merged(logs).unwrap_err();
        assert_eq!(error(Vec::new()), MergeError::Nothing);
        let whole_run =
            RunLog::new(Header::new(0, whole(), serde_json::Value::Null), Vec::new(), None);
        let [first, second] = logs(2).try_into().unwrap();
        assert_eq!(error(vec![first.clone(), whole_run]), MergeError::Whole { number: 2 });
        assert_eq!(error(vec![second.clone(), second.clone()]), MergeError::Twice { rank: 1 });
        let mut other = second;
        other.header.rank.as_mut().unwrap().run = "other".to_owned();
        let expected = MergeError::OtherRun { first: "run".to_owned(), other: "other".to_owned() };
        assert_eq!(error(vec![first.clone(), other]), expected);
        assert_eq!(error(vec![first.with_start(None)]), MergeError::NotStarted);
    }
}
