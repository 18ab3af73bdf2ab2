//! The files that evalscope leaves in a run's folder.

use std::fs;
use std::io;
use std::path::Path;

use servemark_plan::Layout;
use servemark_report::EvalscopeRun;

use crate::Scores;

impl Scores<'_> {
    /// The run with its numbers as evalscope has them.
    pub fn evalscope(&self) -> EvalscopeRun {
        EvalscopeRun::of(&self.report(Layout::Evalscope), self.scoring.evalscope)
    }

    /// Writes the files of a run to its folder, which is there. The database of its requests is one of
    /// them where the feature `sqlite` is on.
    pub fn save_evalscope(&self, run: &EvalscopeRun, folder: &Path) -> io::Result<()> {
        let arguments = &self.log.header().facts.echo;
        for (name, text) in run.files(arguments) {
            fs::write(folder.join(name), text)?;
        }
        #[cfg(feature = "sqlite")]
        self.save_evalscope_requests(&folder.join("benchmark_data.db"))?;
        Ok(())
    }

    /// What was sent is not in a log, so nobody knows a request's body here.
    #[cfg(feature = "sqlite")]
    fn save_evalscope_requests(&self, path: &Path) -> io::Result<()> {
        let report = self.report(Layout::Evalscope);
        let database = servemark_report::evalscope_database(&report, &|_| None);
        fs::write(path, database.map_err(io::Error::other)?)
    }
}
