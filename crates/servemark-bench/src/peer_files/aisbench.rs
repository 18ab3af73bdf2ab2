//! Writes the result files of AISBench's performance mode.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use servemark_core::{RequestRecord, RunFacts, RunLog};
use servemark_metrics::{NoStage, RequestScore, Stage};
use servemark_plan::{AisbenchFiles, BenchPlan, Layout};
use servemark_report::{
    AisbenchCsv, AisbenchDetails, AisbenchFailed, AisbenchInputs, AisbenchJson, AisbenchOptions,
    AisbenchPart, AisbenchRps, AisbenchSpeculationJson, AisbenchTimeline, RateTarget, Report,
    ReportFormat,
};
use servemark_schedule::{ArrivalSpec, RampShape};

use crate::{Scores, SentRequests};

/// Paths of the written files, and the reason why tables are missing.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AisbenchSaved {
    /// Folder of the model, which contains the other files.
    pub folder: PathBuf,
    /// CSV table of latencies; `None` if the run has no stage to report.
    pub csv: Option<PathBuf>,
    /// JSON table of common metrics; `None` if `csv` is `None`.
    pub json: Option<PathBuf>,
    /// JSON lines with every request, one file for each data set.
    pub details: Vec<PathBuf>,
    /// HTML page with the timeline of every request and the concurrency; `None` if no request
    /// succeeded.
    pub plot: Option<PathBuf>,
    /// HTML page with the distribution of the request rate.
    pub rps_distribution: PathBuf,
    /// JSON lines with the failed requests, one file for each data set that has any.
    pub failed: Vec<PathBuf>,
    /// JSON file with the server's speculative decoding counters, if they were read.
    pub speculation: Option<PathBuf>,
    /// Reason why there are no tables.
    pub no_stage: Option<NoStage>,
}

impl Scores<'_> {
    /// Returns why AISBench has no tables of the run; `None` if it has.
    pub fn no_stage(&self) -> Option<NoStage> {
        let options = &self.scoring.aisbench;
        let scores = RequestScore::of_log(self.log, &self.metrics(Layout::Aisbench).policy);
        Stage::of(&scores, options.limit(&self.log.header().facts), options.stage).err()
    }

    /// Writes the files that AISBench would write. Files of an earlier run are replaced.
    ///
    /// The details contain the request bodies only if `sent` is given. A run that is known only
    /// by its log has no `sent`; details files that already exist are then kept.
    pub fn save_aisbench(
        &self,
        files: &AisbenchFiles,
        sent: Option<&SentRequests>,
    ) -> io::Result<AisbenchSaved> {
        let (options, facts) = (&self.scoring.aisbench, &self.log.header().facts);
        let scores = RequestScore::of_log(self.log, &self.metrics(Layout::Aisbench).policy);
        let report = self.report(Layout::Aisbench).with_scores(&scores);
        let performances = files.folder.join("performances");
        let folder = performances.join(file_name(options.model(facts)));
        fs::create_dir_all(&folder)?;
        let task = Task { log: self.log, report: &report, options, folder };
        let mut saved = AisbenchSaved::default();
        task.save_tables(&scores, &mut saved)?;
        task.save_pages(&scores, &mut saved)?;
        task.save_requests(sent, &mut saved)?;
        saved.speculation = task.save_speculation(&performances)?;
        saved.folder = task.folder;
        Ok(saved)
    }
}

/// One model on one data set, with the folder of its files.
struct Task<'a> {
    log: &'a RunLog,
    report: &'a Report<'a>,
    options: &'a AisbenchOptions,
    folder: PathBuf,
}

impl Task<'_> {
    fn facts(&self) -> &RunFacts {
        &self.log.header().facts
    }

    fn path(&self, name: &str, end: &str) -> PathBuf {
        self.folder.join(format!("{}{end}", file_name(name)))
    }

    /// Writes a file that is named after the data set.
    fn save(&self, format: &dyn ReportFormat, end: &str) -> io::Result<PathBuf> {
        write(format, self.report, &self.path(self.options.dataset(self.facts()), end))
    }

    fn save_tables(
        &self,
        scores: &[RequestScore<'_>],
        saved: &mut AisbenchSaved,
    ) -> io::Result<()> {
        let (options, limit) = (|| self.options.clone(), self.options.limit(self.facts()));
        saved.no_stage = Stage::of(scores, limit, self.options.stage).err();
        if saved.no_stage.is_none() {
            saved.csv = Some(self.save(&AisbenchCsv::new(options()), ".csv")?);
            saved.json = Some(self.save(&AisbenchJson::new(options()), ".json")?);
        }
        Ok(())
    }

    fn save_pages(&self, scores: &[RequestScore<'_>], saved: &mut AisbenchSaved) -> io::Result<()> {
        let rates = AisbenchRps::new(target(self.log));
        saved.rps_distribution = self.save(&rates, "_rps_distribution_plot.html")?;
        if scores.iter().any(|score| score.success) {
            saved.plot = Some(self.save(&AisbenchTimeline, "_plot.html")?);
        }
        Ok(())
    }

    /// Writes a details file for each data set of the run and, if requests of it failed, a file
    /// of those.
    fn save_requests(
        &self,
        sent: Option<&SentRequests>,
        saved: &mut AisbenchSaved,
    ) -> io::Result<()> {
        let bodies = sent.map(|sent| sent.bodies(self.log));
        let body = |record: &RequestRecord| bodies.as_ref()?.body(record).ok();
        let inputs = AisbenchInputs::in_bodies(&body);
        for part in AisbenchPart::all(self.options, self.facts()) {
            let save = |format: &dyn ReportFormat, end: &str| {
                let path = self.path(&part.name, end);
                if sent.is_none() && path.exists() {
                    Ok(path)
                } else {
                    write(format, self.report, &path)
                }
            };
            saved.details.push(save(&AisbenchDetails::of(&part, inputs), "_details.jsonl")?);
            if part.has_failed(self.log) {
                saved.failed.push(save(&AisbenchFailed::of(&part, inputs), "_failed.jsonl")?);
            }
        }
        Ok(())
    }

    fn save_speculation(&self, performances: &Path) -> io::Result<Option<PathBuf>> {
        let footer = self.log.footer();
        if footer.is_none_or(|footer| footer.server_counters.is_none()) {
            return Ok(None);
        }
        let name = format!("spec_decode_{}.json", server(&self.facts().target));
        write(&AisbenchSpeculationJson, self.report, &performances.join(name)).map(Some)
    }
}

/// Returns the request rate that the plan asks for, if it sets one.
fn target(log: &RunLog) -> Option<RateTarget> {
    let plan = BenchPlan::from_json(log.header().plan.clone()).ok()?;
    let ArrivalSpec::Ramp { ramp, .. } = plan.load.arrivals else {
        return plan.load.arrivals.mean_rate().map(RateTarget::Constant);
    };
    let (from, to) = (ramp.from().per_second(), ramp.to().per_second());
    Some(match ramp.growth() {
        RampShape::Linear => RateTarget::Linear { from, to },
        RampShape::Exponential => RateTarget::Exponential { from, to },
    })
}

fn write(format: &dyn ReportFormat, report: &Report<'_>, path: &Path) -> io::Result<PathBuf> {
    let mut out = io::BufWriter::new(File::create(path)?);
    format.write(report, &mut out)?;
    out.flush()?;
    Ok(path.to_owned())
}

/// Replaces path separators in a name, so that the file cannot end up outside of the folder.
fn file_name(name: &str) -> String {
    let name = name.replace(['/', '\\'], "_");
    if name.trim_matches('.').is_empty() { format!("_{name}") } else { name }
}

/// Returns the host, port and path of an address in characters that are allowed in a file name.
fn server(target: &str) -> String {
    let address = target.split_once("://").map_or(target, |(_, address)| address);
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._-".contains(sign);
    let plain = |sign| if is_plain(sign) { sign } else { '_' };
    address.trim_end_matches('/').chars().map(plain).collect()
}
