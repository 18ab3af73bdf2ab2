//! Finds processes of a run, running or left behind.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::conformance::process::{output, poll};

/// A process of a run.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) id: u32,
    /// Command line of the process, or the title that it set for itself.
    pub(super) title: String,
}

/// Returns all processes whose working directory is `folder`. A run is started in a folder of its
/// own, and all its child processes inherit it, independent of session and parent.
pub(super) fn living_in(folder: &Path) -> anyhow::Result<Vec<Process>> {
    let entries = fs::read_dir("/proc")?.filter_map(Result::ok);
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(numbers.filter_map(|id| Process::living_in(id, folder)).collect())
}

/// Returns the titles of processes that are still running after a delay, and kills them.
pub(super) fn left_in(folder: &Path) -> anyhow::Result<Vec<String>> {
    if poll(A_WHILE, || Ok(living_in(folder)?.is_empty().then_some(()))).is_ok() {
        return Ok(Vec::new());
    }
    let left = living_in(folder)?;
    for process in &left {
        signal("KILL", process.id)?;
    }
    Ok(left.into_iter().map(|process| process.title).collect())
}

/// Sends a signal to a process.
pub(super) fn signal(name: &str, id: u32) -> anyhow::Result<()> {
    output(Command::new("kill").args(["-s", name, &id.to_string()])).map(drop)
}

impl Process {
    /// Returns `None` for a process that has ended, because it has no working directory.
    fn living_in(id: u32, folder: &Path) -> Option<Self> {
        let place = Path::new("/proc").join(id.to_string());
        if fs::read_link(place.join("cwd")).ok()? != folder {
            return None;
        }
        let line = fs::read(place.join("cmdline")).ok()?;
        let title = String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned();
        Some(Self { id, title })
    }
}

const A_WHILE: Duration = Duration::from_secs(15);

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::conformance::process::ProcessGroup;

    #[test]
    fn a_process_is_known_by_its_folder() {
        let folder = std::env::temp_dir().join(format!("servemark-strays-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let folder = folder.canonicalize().unwrap();
        let mut sleeper = Command::new("sleep");
        let group = ProcessGroup::spawn(sleeper.arg("600").current_dir(&folder)).unwrap();
        // The command line is empty for a moment while the program is being loaded.
        let found = poll(A_WHILE, || {
            let found = living_in(&folder)?;
            Ok(found.iter().all(|process| !process.title.is_empty()).then_some(found))
        });
        let found: Vec<_> =
            found.unwrap().into_iter().map(|process| (process.id, process.title)).collect();
        assert_eq!(found, [(group.leader(), "sleep 600".to_owned())]);
        drop(group);
        assert!(left_in(&folder).unwrap().is_empty());
        fs::remove_dir(folder).unwrap();
    }
}
