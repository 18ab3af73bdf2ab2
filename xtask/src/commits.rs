//! Checks the subjects of commits.

use std::process::Command;

use anyhow::{Context, ensure};

/// Maximum number of characters of a subject.
const LONGEST: usize = 72;

/// Checks the subjects of the commits in a range of `git log`, without merges.
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    let [range] = args else { anyhow::bail!("give one range, such as origin/main..HEAD") };
    let log = Command::new("git").args(["log", "--no-merges", "--format=%s", range]).output();
    let log = log.context("cannot run git log")?;
    ensure!(log.status.success(), "git log {range}: {}", String::from_utf8_lossy(&log.stderr));
    let subjects = String::from_utf8_lossy(&log.stdout);
    let faults: Vec<_> = subjects.lines().filter_map(fault).collect();
    ensure!(faults.is_empty(), "subjects of commits:\n  {}", faults.join("\n  "));
    Ok(())
}

/// Returns what is wrong with a subject, if anything is. Whether it is in the imperative is left to
/// its readers, except for common endings of other forms.
fn fault(subject: &str) -> Option<String> {
    let length = subject.chars().count();
    if length > LONGEST {
        return Some(format!("{subject}: {length} characters of {LONGEST}"));
    }
    let Some((_, sentence)) = subject.split_once(": ") else {
        return Some(format!("{subject}: write `area: imperative sentence`"));
    };
    let verb = sentence.split(' ').next().unwrap_or_default();
    let is_other_form =
        ["added", "adds", "changed", "changes", "fixed", "fixes", "removed", "removes"];
    if is_other_form.contains(&verb.to_lowercase().as_str()) {
        return Some(format!("{subject}: write the imperative of \"{verb}\""));
    }
    sentence.ends_with('.').then(|| format!("{subject}: omit the full stop"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_and_an_imperative_pass() {
        assert_eq!(fault("client: wait for the server"), None);
        assert_eq!(fault("metrics, report: name the part"), None);
    }

    #[test]
    fn other_subjects_are_faults() {
        let long = format!("client: wait {}", "x".repeat(60));
        for subject in ["wait for the server", "client: added a wait", "client: wait.", &long] {
            assert!(fault(subject).is_some(), "{subject}");
        }
    }
}
