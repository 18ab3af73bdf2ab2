//! The audit of a prefix cache, from simulated times whose truth is known.

use servemark_core::{
    Delta, Finish, Header, Phase, Recorder, RequestRecord, RunFacts, RunLog, Sample, Sink, Stamp,
};
use servemark_metrics::{CacheAudit, CacheFinding};
use servemark_rng::NumpyRandom;

/// A server that takes 20 ms and 50 us for each prompt token that is not cached, each time with noise.
struct Server {
    noise: f64,
    random: NumpyRandom,
}

impl Server {
    fn new(noise: f64, seed: u32) -> Self {
        Self { noise, random: NumpyRandom::seeded(seed) }
    }

    /// Returns a request whose time to first token is that of this many uncached tokens, times `load`.
    fn record(
        &mut self,
        at: (usize, Phase),
        tokens: u32,
        uncached: f64,
        load: f64,
    ) -> RequestRecord {
        let noise = self.random.normal(1.0, self.noise).max(0.1);
        let ttft_ms = load * noise * (20.0 + 0.05 * uncached);
        let (index, phase) = at;
        let sent = Stamp::from_nanos(1_000_000_000 * index as u64);
        let first = sent + std::time::Duration::from_secs_f64(ttft_ms / 1e3);
        let mut recorder = Recorder::new(index, phase, &Sample::new("", tokens, 1), sent);
        recorder.record_sent(sent);
        recorder.body(first, 1);
        recorder.at(first).delta(Delta::content("x"));
        recorder.finish(Ok(Finish::default()), first)
    }

    /// Audits a run of prompts of 200 to 2,000 tokens, each of which was cached with a probability of
    /// `share` in the run, which was slower than the audit by the factor `load`. Repeated prompts are
    /// cached if `has_cache`.
    fn audit(&mut self, prompts: usize, share: f64, has_cache: bool, load: f64) -> CacheAudit {
        let mut records = Vec::new();
        for index in 0..prompts {
            let tokens = self.random.randint(200, 2000).expect("a range");
            let tokens = u32::try_from(tokens).expect("a positive number");
            let whole = f64::from(tokens);
            let is_cached = self.random.random_sample() < share;
            let uncached = if is_cached { 0.0 } else { whole };
            let warm = if has_cache { 0.0 } else { whole };
            records.push(self.record((index, Phase::Measure), tokens, uncached, load));
            records.push(self.record((index, Phase::CacheCold), tokens, whole, 1.0));
            records.push(self.record((index, Phase::CacheWarm), tokens, warm, 1.0));
        }
        let header = Header::new(0, RunFacts::default(), serde_json::Value::Null);
        CacheAudit::of(&RunLog::new(header, records, None)).expect("there was an audit")
    }
}

/// A tenth of 40 prompts is four, whose number is skewed.
#[test]
fn the_interval_of_the_share_has_the_truth() {
    for share in [0.0, 0.02, 0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0] {
        for noise in [0.05, 0.2] {
            let audits = (0..100).map(|seed| Server::new(noise, seed).audit(40, share, true, 1.0));
            // By chance, a run without a hit may be clearly slower than its cold prompts.
            let intervals: Vec<[f64; 2]> = audits.filter_map(|audit| audit.interval).collect();
            assert!(intervals.len() >= 95, "{} of 100 at {share} and {noise}", intervals.len());
            let is_missed = |[low, high]: &&[f64; 2]| !(*low..=*high).contains(&share);
            let missed = intervals.iter().filter(is_missed).count();
            assert!(missed <= 5, "{missed} of 100 miss {share} at {noise}");
        }
    }
}

#[test]
fn a_server_without_a_cache_is_hardly_ever_taken_for_one_with_a_cache() {
    for noise in [0.02, 0.1, 0.3] {
        let found = (0..100).filter(|seed| {
            let audit = Server::new(noise, *seed).audit(40, 0.0, false, 1.0);
            audit.finding != CacheFinding::NoCache
        });
        let found = found.count();
        assert!(found <= 3, "{found} of 100 at {noise}");
    }
}

#[test]
fn a_run_that_was_slower_than_its_cold_prompts_is_not_compared() {
    let audit = Server::new(0.05, 1).audit(40, 0.0, true, 1.5);
    assert_eq!(audit.finding, CacheFinding::LoadDiffers, "{audit:?}");
    assert_eq!((audit.share, audit.interval, audit.requests), (None, None, 0));
    // All of a run was quicker than repeated prompts.
    let audit = Server::new(0.05, 1).audit(40, 1.0, true, 0.5);
    assert_eq!(audit.finding, CacheFinding::LoadDiffers, "{audit:?}");
}

#[test]
fn seven_prompts_are_too_few() {
    let audit = Server::new(0.05, 1).audit(7, 0.5, true, 1.0);
    assert_eq!((audit.finding, audit.prompts, audit.share), (CacheFinding::TooFew, 7, None));
    let audit = Server::new(0.05, 1).audit(8, 0.5, true, 1.0);
    assert_eq!(audit.finding, CacheFinding::Estimated, "{audit:?}");
}
