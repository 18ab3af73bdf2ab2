//! Where the verdicts of gates are written for continuous integration.

use std::path::PathBuf;

use clap::Args;

use crate::environment::Environment;

/// Files and annotations with the verdicts of gates.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Continuous integration")]
#[non_exhaustive]
pub struct GateArgs {
    /// Write the verdicts of all gates and the headline figures as Markdown; an existing file is
    /// replaced
    #[arg(long, value_name = "PATH")]
    pub markdown: Option<PathBuf>,
    /// Write the verdicts of all gates as a JUnit file, a test case each; an existing file is
    /// replaced
    #[arg(long, value_name = "PATH")]
    pub junit: Option<PathBuf>,
    /// Print an annotation of GitHub Actions for each gate that does not hold, and append the
    /// Markdown to the file of GITHUB_STEP_SUMMARY; on by itself where GITHUB_ACTIONS is true
    #[arg(long)]
    pub github: bool,
    /// File to which GitHub's summary of the step is appended.
    #[arg(skip)]
    pub step_summary: Option<PathBuf>,
}

impl GateArgs {
    /// Returns the flags with what the environment adds to them.
    pub(crate) fn in_environment(self, environment: &Environment) -> Self {
        let github = self.github || environment.is_on("GITHUB_ACTIONS");
        let summary = environment.variable("GITHUB_STEP_SUMMARY").filter(|_| github);
        Self { github, step_summary: summary.map(PathBuf::from), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn github_is_known_by_its_variables() {
        let at_github = Environment::default()
            .with_variable("GITHUB_ACTIONS", "true")
            .with_variable("GITHUB_STEP_SUMMARY", "/summary.md");
        let args = GateArgs::default().in_environment(&at_github);
        assert!(args.github);
        assert_eq!(args.step_summary, Some("/summary.md".into()));
        let elsewhere = Environment::default().with_variable("GITHUB_STEP_SUMMARY", "/summary.md");
        assert_eq!(GateArgs::default().in_environment(&elsewhere), GateArgs::default());
    }
}
