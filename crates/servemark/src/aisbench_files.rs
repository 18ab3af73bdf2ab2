//! The files that AISBench's performance mode leaves behind.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use servemark_core::{RequestRecord, RunLog};
use servemark_metrics::{NoStage, RequestScore, Stage};
use servemark_plan::{AisbenchFiles, BenchPlan, Layout};
use servemark_report::{
    AisbenchCsv, AisbenchDetails, AisbenchFailed, AisbenchInputs, AisbenchJson, AisbenchPart,
    AisbenchRps, AisbenchSpeculationJson, AisbenchTimeline, RateTarget, Report, ReportFormat,
};
use servemark_schedule::{ArrivalSpec, Growth};

use crate::{Scores, Sent};

/// Where the files are, and what there is none of.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct AisbenchSaved {
    /// The folder of the model, in which the others are.
    pub folder: PathBuf,
    /// The first table; absent where the run has no stage to tell of.
    pub csv: Option<PathBuf>,
    /// The second table; absent with the first.
    pub json: Option<PathBuf>,
    /// Every request, a file for each data set.
    pub details: Vec<PathBuf>,
    /// The page with every request's life and the number in flight, if any request succeeded.
    pub plot: Option<PathBuf>,
    /// The page with the rates at which requests were sent.
    pub rps_distribution: PathBuf,
    /// The requests that failed, a file for each data set of which any did.
    pub failed: Vec<PathBuf>,
    /// What the server guessed, if it was asked.
    pub speculation: Option<PathBuf>,
    /// Why there are no tables.
    pub no_stage: Option<NoStage>,
}

impl Scores<'_> {
    /// Writes the files that AISBench would leave behind. Those of a run before are replaced.
    ///
    /// The details have what requests asked if somebody says what was sent. Nobody can of a run that is
    /// known by its log alone: details that it left then stay.
    pub fn save_aisbench(
        &self,
        files: &AisbenchFiles,
        sent: Option<&Sent>,
    ) -> io::Result<AisbenchSaved> {
        let options = || self.scoring.aisbench.clone();
        let facts = &self.log.header().facts;
        let performances = files.folder.join("performances");
        let folder = performances.join(file_name(options().model(facts)));
        fs::create_dir_all(&folder)?;
        let report = self.report(Layout::Aisbench);
        let scores = RequestScore::of_log(self.log, &self.metrics(Layout::Aisbench).policy);
        let report = report.with_scores(&scores);
        let path = |name: &str, end: &str| folder.join(format!("{}{end}", file_name(name)));
        let save = |format: &dyn ReportFormat, end: &str| {
            write(format, &report, &path(options().dataset(facts), end))
        };
        let mut saved = AisbenchSaved {
            rps_distribution: save(
                &AisbenchRps::new(target(self.log)),
                "_rps_distribution_plot.html",
            )?,
            no_stage: Stage::of(&scores, options().limit(facts), options().stage).err(),
            folder: folder.clone(),
            ..AisbenchSaved::default()
        };
        if saved.no_stage.is_none() {
            saved.csv = Some(save(&AisbenchCsv::new(options()), ".csv")?);
            saved.json = Some(save(&AisbenchJson::new(options()), ".json")?);
        }
        if scores.iter().any(|score| score.success) {
            saved.plot = Some(save(&AisbenchTimeline, "_plot.html")?);
        }
        let bodies = sent.map(|sent| sent.bodies(self.log));
        let body = |record: &RequestRecord| bodies.as_ref()?.body(record).ok();
        let inputs = AisbenchInputs::in_bodies(&body);
        for part in AisbenchPart::all(&options(), facts) {
            let save_requests = |format: &dyn ReportFormat, end: &str| {
                let path = path(&part.name, end);
                if sent.is_none() && path.exists() {
                    return Ok(path);
                }
                write(format, &report, &path)
            };
            let details = AisbenchDetails::of(&part, inputs);
            saved.details.push(save_requests(&details, "_details.jsonl")?);
            if part.has_failed(self.log) {
                let failed = AisbenchFailed::of(&part, inputs);
                saved.failed.push(save_requests(&failed, "_failed.jsonl")?);
            }
        }
        if self.log.footer().is_some_and(|footer| footer.server_counters.is_some()) {
            let path = performances.join(format!("spec_decode_{}.json", server(&facts.target)));
            saved.speculation = Some(write(&AisbenchSpeculationJson, &report, &path)?);
        }
        Ok(saved)
    }
}

/// The rate that the plan asks for, if it has one of its own.
fn target(log: &RunLog) -> Option<RateTarget> {
    let plan: BenchPlan = serde_json::from_value(log.header().plan.clone()).ok()?;
    let ArrivalSpec::Ramp { ramp, .. } = plan.load.arrivals else {
        return plan.load.arrivals.mean_rate().map(RateTarget::Constant);
    };
    let (from, to) = (ramp.from().per_second(), ramp.to().per_second());
    Some(match ramp.growth() {
        Growth::Linear => RateTarget::Linear { from, to },
        Growth::Exponential => RateTarget::Exponential { from, to },
    })
}

fn write(format: &dyn ReportFormat, report: &Report<'_>, path: &Path) -> io::Result<PathBuf> {
    let mut out = io::BufWriter::new(File::create(path)?);
    format.write(report, &mut out)?;
    out.flush()?;
    Ok(path.to_owned())
}

/// A name that no folder can be left by.
fn file_name(name: &str) -> String {
    let name = name.replace(['/', '\\'], "_");
    if name.trim_matches('.').is_empty() { format!("_{name}") } else { name }
}

/// The part of an address that tells servers apart, in letters that a file's name may have.
fn server(target: &str) -> String {
    let address = target.split_once("://").map_or(target, |(_, address)| address);
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._-".contains(sign);
    let plain = |sign| if is_plain(sign) { sign } else { '_' };
    address.trim_end_matches('/').chars().map(plain).collect()
}
