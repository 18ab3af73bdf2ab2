//! Selects the files of a repository that are the tables of a split.
//!
//! The hub converts every data set to files `SUBSET/SPLIT/NUMBER.parquet`; of a very large one it
//! converts only the beginning, into `SUBSET/partial-SPLIT`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::HubError;
use crate::hub_request::HubRequest;

/// The name of a split of a data set on the hub, and of its subset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    /// The subset; if absent, the only one or the one named `default`.
    pub(crate) subset: Option<&'a str>,
    pub(crate) split: &'a str,
}

impl Table<'_> {
    /// Returns the subset and its files of this split.
    pub(crate) fn select_files<'f>(
        self,
        files: &[&'f str],
        wanted: &HubRequest,
    ) -> Result<(&'f str, Vec<&'f str>), HubError> {
        let parts: Vec<[&str; 2]> = files.iter().filter_map(|file| parts(file)).collect();
        let subsets: BTreeSet<&str> = parts.iter().map(|[subset, _]| *subset).collect();
        let subset = self.subset_among(&subsets).ok_or_else(|| {
            let missing = match self.subset {
                Some(subset) => format!("subset {subset:?}"),
                None => "default subset (choose one with `workload.dataset.subset`)".to_owned(),
            };
            wanted.no_part(missing, list(&subsets))
        })?;
        let is_ours = |file: &&&str| parts_are(file, subset, self.split);
        let found: Vec<&str> = files.iter().filter(is_ours).copied().collect();
        if found.is_empty() {
            let splits = parts.iter().filter(|[other, _]| *other == subset);
            let splits = splits.map(|[_, split]| plain(split)).collect();
            return Err(wanted.no_part(format!("split {:?}", self.split), list(&splits)));
        }
        Ok((subset, found))
    }

    fn subset_among<'s>(self, subsets: &BTreeSet<&'s str>) -> Option<&'s str> {
        match self.subset {
            Some(named) => subsets.get(named).copied(),
            None if subsets.len() == 1 => subsets.first().copied(),
            None => subsets.get("default").copied(),
        }
    }

    /// Returns the folder of the subset in a snapshot, if the split is in it.
    pub(crate) fn cached(self, snapshot: &Path) -> Option<PathBuf> {
        let entries = std::fs::read_dir(snapshot).ok()?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let names: Vec<String> = names.collect();
        let subset = self.subset_among(&names.iter().map(String::as_str).collect())?;
        let folder = snapshot.join(subset);
        let is_there = |split: String| folder.join(split).is_dir();
        let there = is_there(self.split.to_owned()) || is_there(format!("partial-{}", self.split));
        there.then_some(folder)
    }
}

/// Returns the subset and the split of a table's path.
fn parts(file: &str) -> Option<[&str; 2]> {
    let [subset, split, table] = file.split('/').collect::<Vec<_>>()[..] else { return None };
    table.ends_with(".parquet").then_some([subset, split])
}

fn parts_are(file: &str, subset: &str, split: &str) -> bool {
    parts(file).is_some_and(|[known, of]| known == subset && plain(of) == split)
}

fn plain(split: &str) -> &str {
    split.strip_prefix("partial-").unwrap_or(split)
}

fn list(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(", ")
}
