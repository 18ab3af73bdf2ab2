//! The final report of several runs, in the format of the runs' version.

use super::{EvalscopeStyle, EvalscopeSweep, newest, older};

impl EvalscopeSweep<'_> {
    /// Returns the final report, as it is printed and written to `performance_summary.txt`; empty
    /// if there are no runs.
    pub fn summary(&self) -> String {
        match self.runs.first().map(|run| run.options.style) {
            None => String::new(),
            Some(EvalscopeStyle::Newest) => newest::report(self),
            Some(style) => older::report(self, style),
        }
    }
}
