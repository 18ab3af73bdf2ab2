//! The output of `--search`: where each config was found.

use super::config::ConfigFile;

/// Formats a table with a header and a line for each name.
pub(super) fn table(found: &[ConfigFile]) -> String {
    let rows =
        found.iter().map(|ConfigFile { kind, name, place }| [kind.flag().name(), name, place]);
    let rows: Vec<[&str; 3]> =
        [["Task Type", "Task Name", "Config File Path"]].into_iter().chain(rows).collect();
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    let line = |row: &[&str; 3]| format!("{:first$}  {:second$}  {}\n", row[0], row[1], row[2]);
    rows.iter().map(line).collect()
}
