//! Replays recorded lines with `servemark` and collects the differences.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::compare::differences;
use crate::{ComparedPart, Difference, Line, Observed, Own, Peer};

/// A recorded line with its replay.
#[derive(Debug)]
pub struct Replayed {
    /// What the peer's client did.
    pub peer: Line,
    /// Observations of Servemark's run.
    pub observed: Observed,
    /// Differences, each with the kind under which it is argued, if any.
    pub differences: Vec<(Difference, Option<&'static str>)>,
}

/// Runs all lines with `servemark`, `jobs` at a time.
///
/// # Errors
///
/// A line could not be run.
///
/// # Panics
///
/// If one of its threads panics.
pub fn replay(lines: &[Line], own: &Own, peer: &dyn Peer, jobs: usize) -> io::Result<Tally> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
            let replayed = held_against(line, own, peer);
            done.lock().expect("no thread panics with it").push(replayed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    let done = done.into_inner().expect("no thread panicked with it");
    let mut replayed = done.into_iter().collect::<io::Result<Vec<_>>>()?;
    replayed.sort_by_key(|replayed| replayed.peer.n);
    Ok(Tally { replayed })
}

fn held_against(line: &Line, own: &Own, peer: &dyn Peer) -> io::Result<Replayed> {
    // Rules of trimming may have been added since the recording.
    let line = &{
        let mut line = line.clone();
        peer.trim(&mut line);
        line
    };
    let observed = own.observe(line, peer)?;
    let ours = observed.line(peer);
    let line = &{
        let mut line = line.clone();
        peer.reconcile(&mut line, &ours);
        line
    };
    let found = differences(line, &ours).into_iter();
    let kind = |difference: &Difference| {
        let argued = peer.argued().iter().find(|argued| (argued.is)(line, &ours, difference));
        argued.map(|argued| argued.kind)
    };
    let differences = found.map(|difference| (kind(&difference), difference));
    let differences = differences.map(|(kind, difference)| (difference, kind)).collect();
    Ok(Replayed { peer: line.clone(), observed, differences })
}

/// The results of a replay.
#[derive(Debug)]
pub struct Tally {
    /// Replayed lines, sorted by number.
    pub replayed: Vec<Replayed>,
}

impl Tally {
    /// Returns the number of lines that were run.
    pub fn lines(&self) -> usize {
        self.replayed.len()
    }

    /// Returns the number of lines on which the peer crashed or did not finish in time.
    pub fn lost(&self) -> usize {
        self.replayed.iter().filter(|line| line.peer.outcome.is_lost()).count()
    }

    /// Returns the lines with a difference that is not argued.
    pub fn unexplained(&self) -> impl Iterator<Item = &Replayed> {
        let is_open = |line: &&Replayed| line.differences.iter().any(|(_, kind)| kind.is_none());
        self.replayed.iter().filter(is_open)
    }

    /// Returns the number of lines with a difference of each argued kind.
    pub fn argued(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for line in &self.replayed {
            let mut kinds: Vec<_> = line.differences.iter().filter_map(|(_, kind)| *kind).collect();
            kinds.sort_unstable();
            kinds.dedup();
            for kind in kinds {
                *counts.entry(kind).or_default() += 1;
            }
        }
        counts
    }

    /// Checks that every difference is argued and that each argued kind has exactly the expected
    /// number of lines.
    ///
    /// # Errors
    ///
    /// A description of the differences that are not argued, and of the kinds with another number
    /// of lines.
    pub fn check(&self, expected: &[(&'static str, usize)]) -> Result<(), String> {
        let mut faults: Vec<String> = self.unexplained().map(Replayed::to_string).collect();
        let (argued, expected) = (self.argued(), expected.iter().copied().collect());
        if argued != expected {
            faults.push(format!("lines by argued kind: {argued:?}, expected: {expected:?}"));
        }
        if faults.is_empty() { Ok(()) } else { Err(format!("{}\n{self}", faults.join("\n"))) }
    }
}

impl Replayed {
    /// Returns whether there is a difference in more than the words of a refusal.
    fn differs(&self) -> bool {
        self.differences.iter().any(|(difference, _)| difference.part != ComparedPart::Message)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lines, lost) = (self.lines(), self.lost());
        let is_open = |line: &Replayed| line.differences.iter().any(|(_, kind)| kind.is_none());
        let open = self.unexplained().count();
        let argued = self.replayed.iter().filter(|line| line.differs() && !is_open(line)).count();
        let same = self
            .replayed
            .iter()
            .filter(|line| !line.peer.outcome.is_lost() && !line.differs() && !is_open(line))
            .count();
        write!(
            formatter,
            "{lines} lines, {lost} of them lost by the peer; of the other {}: {same} identical, \
             {argued} argued {:?}, {open} unexplained",
            lines - lost,
            self.argued(),
        )
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = &self.peer;
        let words = line.argv.iter().map(|word| format!("{word:?}"));
        let words: Vec<_> = words.collect();
        writeln!(
            formatter,
            "line {}: {:?} {} {}",
            line.n,
            line.env,
            line.command,
            words.join(" ")
        )?;
        for (difference, kind) in &self.differences {
            writeln!(formatter, "  {} {difference}", kind.unwrap_or("UNEXPLAINED"))?;
        }
        if self.observed.exit != Some(0) {
            let tail = self.observed.stderr.lines().rev().take(3);
            writeln!(formatter, "  own standard error ends: {:?}", tail.collect::<Vec<_>>())?;
        }
        Ok(())
    }
}
