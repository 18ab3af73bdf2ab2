//! Runs made of a seed: equal bytes on every machine.

use std::time::Duration;

use servemark_core::{
    Delta, ErrorKind, Finish, Footer, Header, Phase, Recorder, RequestError, RequestRecord,
    RunFacts, RunLog, Sample, Stamp, Usage,
};
use servemark_rng::Pcg64;

/// Words of a server that wants to run a script in the reader's browser.
pub(crate) const HOSTILE: &str = "</script><script>window.hacked=1</script><img src=http://example.invalid/x.png \
                                  onerror=\"window.hacked=2\">'\"&\u{202e}\u{1b}[31m";

/// A run of a seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Synthetic {
    pub(crate) requests: usize,
    pub(crate) tokens: u32,
    pub(crate) per_s: f64,
    /// Factor of all latencies.
    pub(crate) slowness: f64,
    pub(crate) seed: u64,
}

impl Synthetic {
    pub(crate) const SMALL: Self =
        Self { requests: 120, tokens: 24, per_s: 12.0, slowness: 1.0, seed: 1 };

    pub(crate) fn log(self) -> RunLog {
        let mut random = Pcg64::seeded(self.seed);
        let mut due = 0.0;
        let mut records: Vec<RequestRecord> = (0..3)
            .map(|index| self.record(index, Phase::Warmup, 0.2 * index as f64, &mut random))
            .collect();
        for index in 0..self.requests {
            due -= (1.0 - random.random()).ln() / self.per_s;
            records.push(self.record(index, Phase::Measure, 1.0 + due, &mut random));
        }
        let mut footer = Footer::default();
        footer.began = Some(at(1.0));
        footer.ended = records.iter().map(|record| record.ended).max().unwrap_or_default();
        RunLog::new(self.header(), records, Some(footer))
    }

    fn header(self) -> Header {
        let mut facts = RunFacts::default();
        facts.backend = "openai".into();
        facts.api_path = "/v1/completions".into();
        facts.target = "http://127.0.0.1:8000".into();
        facts.model = "some/model-7B".into();
        facts.dataset = "random".into();
        facts.requests = self.requests;
        facts.request_rate = Some(self.per_s);
        let plan = serde_json::json!({"workload": {"requests": self.requests, "note": HOSTILE}});
        let mut header = Header::new(1_700_000_000_000_000_000, facts, plan);
        (header.host.system, header.host.cores) = ("linux-x86_64".to_owned(), 4);
        header.servemark = "0.0.0-test".into();
        header
    }

    fn record(self, index: usize, phase: Phase, due: f64, random: &mut Pcg64) -> RequestRecord {
        let sample = Sample::new("prompt", 100, self.tokens);
        let mut recorder = Recorder::new(index, phase, &sample, at(due));
        let sent = due + 0.0005;
        recorder.granted(at(due));
        recorder.record_sent(at(sent));
        if phase == Phase::Measure && index % 29 == 28 {
            recorder.headers(at(sent + 0.01), 503);
            let error = RequestError::new(ErrorKind::Status, format!("503: {HOSTILE}"));
            return recorder.finish(Err(error), at(sent + 0.01));
        }
        recorder.headers(at(sent + 0.01), 200);
        // The first requests find a cold server, and one in forty waits long.
        let cold = 1.0 + 2.0 * (-(due - 1.0).max(0.0) / 1.5).exp();
        let wait = if index % 40 == 39 { 0.6 } else { 0.0 };
        let mut now = sent + self.slowness * (0.03 * cold * (0.5 + random.random()) + wait);
        for token in 0..self.tokens {
            recorder.output(at(now), Delta::content(if token == 0 { "Once" } else { " more" }));
            let stall = if token == 7 && index % 17 == 16 { 0.2 } else { 0.0 };
            now += self.slowness * (0.008 * (0.75 + 0.5 * random.random()) + stall);
        }
        let mut record = recorder.finish(Ok(Finish::new(Some("stop".to_owned()))), at(now));
        record.usage = Some(Usage::new(Some(100), Some(self.tokens)));
        record
    }
}

fn at(seconds: f64) -> Stamp {
    Stamp::ZERO + Duration::from_secs_f64(seconds)
}
