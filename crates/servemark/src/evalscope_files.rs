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

    /// Writes the files of a run to its folder, which is there.
    pub fn save_evalscope(&self, run: &EvalscopeRun, folder: &Path) -> io::Result<()> {
        let arguments = &self.log.header().facts.echo;
        run.files(arguments)
            .into_iter()
            .try_for_each(|(name, text)| fs::write(folder.join(name), text))
    }
}
