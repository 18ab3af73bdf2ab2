//! The configs that come with the program, by the names that AISBench's own have.

use super::python::{Dict, Fault, Library, Located, Value};

/// What can be asked for by name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Models,
    Datasets,
    Summarizer,
}

impl Kind {
    /// The folder of a config folder in which files of this kind are.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Models => "models",
            Self::Datasets => "datasets",
            Self::Summarizer => "summarizers",
        }
    }

    pub(super) fn flag(self) -> &'static str {
        match self {
            Self::Models => "--models",
            Self::Datasets => "--datasets",
            Self::Summarizer => "--summarizer",
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

/// What is built in under a name.
pub(super) fn find(
    kind: Kind,
    name: &str,
    library: &Library<'_>,
) -> Result<Option<Located>, Fault> {
    let names = all(kind, library)?;
    Ok(names.into_iter().find(|(known, _)| known == name).map(|(_, value)| value))
}

/// The names of what is built in.
pub(super) fn names(kind: Kind, library: &Library<'_>) -> Result<Vec<String>, Fault> {
    Ok(all(kind, library)?.into_iter().map(|(name, _)| name).collect())
}

/// Configs are lists, or the dict of a summarizer; what else the texts hold is a part of them.
fn all(kind: Kind, library: &Library<'_>) -> Result<Dict, Fault> {
    let names = library.built_in(&format!("built-in {}", kind.folder()), kind.text())?;
    let is_config = |(_, value): &(String, Located)| match &value.value {
        Value::List(_) => kind != Kind::Summarizer,
        Value::Dict(_) => kind == Kind::Summarizer,
        _ => false,
    };
    Ok(names.into_iter().filter(is_config).collect())
}

/// A config as the module of its name, for files that include it.
pub(super) fn module(name: &str, library: &Library<'_>) -> Result<Option<Dict>, Fault> {
    if let Some(models) = find(Kind::Models, name, library)? {
        return Ok(Some(vec![("models".to_owned(), models)]));
    }
    if let Some(datasets) = find(Kind::Datasets, name, library)? {
        return Ok(Some(vec![(variable(&datasets), datasets)]));
    }
    if let Some(summarizer) = find(Kind::Summarizer, name, library)? {
        return Ok(Some(vec![("summarizer".to_owned(), summarizer)]));
    }
    let text = Kind::Datasets.text();
    let parts = library.built_in("built-in datasets", text)?;
    let part = parts.into_iter().find(|(known, _)| known == name && name == "synthetic_config");
    Ok(part.map(|part| vec![part]))
}

/// What the peer's file calls its data sets: after their short name.
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
