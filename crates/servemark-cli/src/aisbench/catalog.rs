//! The built-in configs, under the names of AISBench's config files.

use super::args::AisbenchArgs;
use super::python::{Dict, Fault, Library, Located, Value};
use crate::argparse::Flag;

/// Kind of config that can be given by name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Models,
    Datasets,
    Summarizer,
}

impl Kind {
    /// Returns the name of the folder, inside a config folder, that holds the files of this kind.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Models => "models",
            Self::Datasets => "datasets",
            Self::Summarizer => "summarizers",
        }
    }

    pub(super) fn flag(self) -> Flag {
        match self {
            Self::Models => AisbenchArgs::MODELS,
            Self::Datasets => AisbenchArgs::DATASETS,
            Self::Summarizer => AisbenchArgs::SUMMARIZER,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Models => include_str!("catalog/models.py"),
            Self::Datasets => include_str!("catalog/datasets.py"),
            Self::Summarizer => include_str!("catalog/summarizers.py"),
        }
    }
}

/// Returns the built-in config of this kind and name, or `None` if there is none.
pub(super) fn find(
    kind: Kind,
    name: &str,
    library: &Library<'_>,
) -> Result<Option<Located>, Fault> {
    let names = all(kind, library)?;
    Ok(names.into_iter().find(|(known, _)| known == name).map(|(_, value)| value))
}

/// Returns the names of the built-in configs of this kind.
pub(super) fn names(kind: Kind, library: &Library<'_>) -> Result<Vec<String>, Fault> {
    Ok(all(kind, library)?.into_iter().map(|(name, _)| name).collect())
}

/// Returns the built-in configs of this kind by name: the lists in the text, or the dicts for
/// summarizers. Other variables in the text are parts of these configs.
fn all(kind: Kind, library: &Library<'_>) -> Result<Dict, Fault> {
    let names = library.built_in(&format!("built-in {}", kind.folder()), kind.text())?;
    let is_config = |(_, value): &(String, Located)| match &value.value {
        Value::List(_) => kind != Kind::Summarizer,
        Value::Dict(_) => kind == Kind::Summarizer,
        _ => false,
    };
    Ok(names.into_iter().filter(is_config).collect())
}

/// Returns the variables that a built-in config defines as a module, for files that include the
/// module of this name.
pub(super) fn module(name: &str, library: &Library<'_>) -> Result<Option<Dict>, Fault> {
    if name == "synthetic_config" {
        let text = include_str!("catalog/synthetic_config.py");
        return library.built_in("built-in synthetic_config", text).map(Some);
    }
    if let Some(models) = find(Kind::Models, name, library)? {
        return Ok(Some(vec![("models".to_owned(), models)]));
    }
    if let Some(datasets) = find(Kind::Datasets, name, library)? {
        return Ok(Some(vec![(variable(&datasets), datasets)]));
    }
    if let Some(summarizer) = find(Kind::Summarizer, name, library)? {
        return Ok(Some(vec![("summarizer".to_owned(), summarizer)]));
    }
    Ok(None)
}

/// Returns the variable that holds these data sets in AISBench's file: their short name with
/// `_datasets` at the end.
fn variable(datasets: &Located) -> String {
    let Value::List(items) = &datasets.value else { return String::new() };
    let items = items.borrow();
    let Some(Value::Dict(first)) = items.first().map(|first| &first.value) else {
        return String::new();
    };
    let first = first.borrow();
    let abbr = first.iter().find(|(key, _)| key == "abbr").map(|(_, value)| &value.value);
    let Some(Value::Text(abbr)) = abbr else { return String::new() };
    format!("{}_datasets", abbr.replace('-', "_"))
}
