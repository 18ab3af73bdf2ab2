//! Writes the result files of evalscope.

use std::fs;
use std::io;
use std::path::Path;

#[cfg(feature = "sqlite")]
use servemark_core::RequestRecord;
use servemark_plan::Layout;
use servemark_report::EvalscopeRun;

use crate::{Scores, SentRequests};

impl Scores<'_> {
    /// Returns the run with its numbers by evalscope's definitions.
    pub fn evalscope(&self) -> EvalscopeRun {
        EvalscopeRun::of(&self.report(Layout::Evalscope), self.scoring.evalscope)
    }

    /// Writes the files of a run to an existing folder. With the feature `sqlite`, they include
    /// the database of requests, which contains request bodies if `sent` is given.
    pub fn save_evalscope(
        &self,
        run: &EvalscopeRun,
        sent: Option<&SentRequests>,
        folder: &Path,
    ) -> io::Result<()> {
        let arguments = &self.log.header().facts.echo;
        for (name, text) in run.files(arguments) {
            fs::write(folder.join(name), text)?;
        }
        #[cfg(feature = "sqlite")]
        self.save_evalscope_requests(sent, &folder.join("benchmark_data.db"))?;
        #[cfg(not(feature = "sqlite"))]
        let _ = sent;
        Ok(())
    }

    #[cfg(feature = "sqlite")]
    fn save_evalscope_requests(&self, sent: Option<&SentRequests>, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let bodies = sent.map(|sent| sent.bodies(self.log));
        let body = |record: &RequestRecord| bodies.as_ref()?.body(record).ok();
        let report = self.report(Layout::Evalscope);
        servemark_report::save_evalscope_database(&report, &body, path).map_err(io::Error::other)
    }
}
