//! Collects the models, data sets and summarizer of a command line from files and by name.

use std::path::Path;

use super::args::{AisbenchArgs, USUAL_FOLDER};
use super::catalog::{self, Kind};
use super::python::{Dict, Fault, Library, Located, Place, Value};
use super::section::items;
use super::settings::{self, Setting};
use super::toml;
use crate::nearest::did_you_mean;

/// Models, data sets and summarizer of a command line, before their settings are interpreted.
#[derive(Debug, Default)]
pub(super) struct Config {
    pub(super) models: Vec<Located>,
    pub(super) datasets: Vec<Located>,
    pub(super) summarizer: Option<Located>,
    pub(super) work_dir: Option<String>,
    /// Place where each name was found, for `--search`.
    pub(super) found: Vec<ConfigFile>,
}

/// A config that was given by name, and the place where it was found.
#[derive(Clone, Debug)]
pub(super) struct ConfigFile {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) place: String,
}

impl Config {
    /// Reads the config of a command line, and applies the settings that its flags change.
    pub(super) fn of(
        args: &AisbenchArgs,
        file: Option<&str>,
        library: &Library<'_>,
    ) -> Result<Self, Fault> {
        check_folder(&args.config_dir, library)?;
        let mut config = match file {
            Some(path) if Path::new(path).extension() == Some("toml".as_ref()) => {
                Self::of_names(toml::read(path, library)?, path)?
            }
            Some(path) => Self::of_names(library.file(path)?, path)?,
            None => Self::default(),
        };
        for name in args.models.iter().flatten() {
            let list = config.find(Kind::Models, name, args, library)?;
            config.models.extend(list);
        }
        for name in args.datasets.iter().flatten() {
            let list = config.find(Kind::Datasets, name, args, library)?;
            config.datasets.extend(list);
        }
        if let Some(name) = &args.summarizer {
            config.summarizer = config.find(Kind::Summarizer, name, args, library)?.pop();
        }
        config.apply(&settings::of(&args.own, library)?)?;
        Ok(config)
    }

    /// Creates a config from the variables of a whole config file.
    fn of_names(names: Dict, path: &str) -> Result<Self, Fault> {
        let file = Place { file: path.into(), line: 0 };
        let mut config = Self::default();
        for (name, value) in names {
            match name.as_str() {
                "models" => config.models = items(&value, "models")?,
                "datasets" => config.datasets = items(&value, "datasets")?,
                "summarizer" => config.summarizer = Some(value),
                "work_dir" => config.work_dir = Some(super::section::text(&value, "work_dir")?),
                _ => {}
            }
        }
        for (list, name) in [(&config.models, "models"), (&config.datasets, "datasets")] {
            if list.is_empty() {
                return Err(file.fault(format!("the config has no {name}")));
            }
        }
        Ok(config)
    }

    /// Returns the configs of a name: from a file of the config folder, else from a file of
    /// [`SHIPPED`], else the built-in ones. Adds the place to [`found`](Self::found).
    fn find(
        &mut self,
        kind: Kind,
        name: &str,
        args: &AisbenchArgs,
        library: &Library<'_>,
    ) -> Result<Vec<Located>, Fault> {
        let (stem, key) = name.split_once('/').unwrap_or((name, ""));
        let folder = format!("{}/{}", args.config_dir.trim_end_matches('/'), kind.folder());
        let shipped = format!("{SHIPPED}/{}", kind.folder());
        let mut folders = [&folder, &shipped].into_iter();
        let file = folders
            .find_map(|folder| library.environment.find_below(folder, &format!("{stem}.py")));
        let (value, place) = match file {
            Some(path) => (of_file(kind, key, &path, library)?, path),
            None => (catalog::find(kind, stem, library)?, format!("built in: {stem}")),
        };
        self.found.push(ConfigFile { kind, name: name.to_owned(), place });
        match value {
            Some(value) if kind == Kind::Summarizer => Ok(vec![value]),
            Some(value) => items(&value, kind.folder()),
            None => Err(unknown(kind, stem, &folder, library)?),
        }
    }

    /// Applies settings of flags to all models and all data sets.
    fn apply(&mut self, settings: &[Setting]) -> Result<(), Fault> {
        for setting in settings {
            let list = match setting.of {
                Kind::Models => &self.models,
                _ => &self.datasets,
            };
            for target in list {
                setting.put_into(target)?;
            }
        }
        Ok(())
    }
}

/// Folder of the configs in a checkout of AISBench. A user who runs in a checkout may have edited
/// its configs, so they take precedence over the built-in ones.
const SHIPPED: &str = "ais_bench/benchmark/configs";

/// Returns the value of a kind in a config file: of the variable `models`, of the variable
/// `summarizer` (or `key`), or of all variables that end with `_datasets` (or with `key`) as one
/// list. `key` is empty if the command line does not give it.
fn of_file(
    kind: Kind,
    key: &str,
    path: &str,
    library: &Library<'_>,
) -> Result<Option<Located>, Fault> {
    let names = library.file(path)?;
    let end = match kind {
        Kind::Models => "models",
        Kind::Datasets if key.is_empty() => "_datasets",
        Kind::Summarizer if key.is_empty() => "summarizer",
        Kind::Datasets | Kind::Summarizer => key,
    };
    let is_requested = |name: &str| match kind {
        Kind::Datasets => name.ends_with(end),
        _ => name == end,
    };
    let file = Place { file: path.into(), line: 0 };
    let mut values =
        names.into_iter().filter(|(name, _)| is_requested(name)).map(|(_, value)| value);
    let first = values.next().ok_or_else(|| file.fault(format!("the file has no {end}")))?;
    let mut list = match (&first.value, kind) {
        (Value::List(_), Kind::Datasets) => items(&first, end)?,
        _ => return Ok(Some(first)),
    };
    for more in values {
        list.extend(items(&more, end)?);
    }
    Ok(Some(Located { value: Value::list(list), place: first.place }))
}

/// Refuses a config folder that was given and that is missing or empty. Otherwise the names would
/// be looked up among the built-in configs, and the wrong config would run.
fn check_folder(folder: &str, library: &Library<'_>) -> Result<(), Fault> {
    if folder == USUAL_FOLDER || !library.environment.names_in(folder).is_empty() {
        return Ok(());
    }
    let place = Place { file: AisbenchArgs::CONFIG_DIR.name().into(), line: 0 };
    Err(place.fault(format!("there is no folder {folder} with configs in it")))
}

fn unknown(kind: Kind, name: &str, folder: &str, library: &Library<'_>) -> Result<Fault, Fault> {
    let place = Place { file: kind.flag().name().into(), line: 0 };
    let names = catalog::names(kind, library)?;
    let (known, hint) = (names.join(", "), did_you_mean(name, names.iter().map(String::as_str)));
    let why = format!(
        "there is no {name}.py below {folder}, and {name} is not built in; built in are {known}{hint}"
    );
    Ok(place.fault(why))
}
