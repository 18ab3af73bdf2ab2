//! Settings of a config that flags change.

use super::args::OwnArgs;
use super::catalog::Kind;
use super::python::{Dict, Fault, Library, Located, Place, Value, put};

/// The key that a flag changes in all models or all data sets, and its new value. The path leads to
/// the key through nested dicts.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) of: Kind,
    pub(super) path: Vec<String>,
    pub(super) value: Located,
}

impl Setting {
    /// Puts the value into a model or a data set.
    pub(super) fn put_into(&self, target: &Located) -> Result<(), Fault> {
        let (last, path) =
            self.path.split_last().ok_or_else(|| self.value.fault("a key is missing"))?;
        let mut target = target.clone();
        for key in path {
            let Value::Dict(entries) = &target.value else { break };
            let inner = entries
                .borrow()
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value.clone());
            let next = match inner {
                Some(inner) if inner.value != Value::None => inner,
                _ => {
                    let new = Located { value: Value::dict(Dict::new()), ..self.value.clone() };
                    put(&mut entries.borrow_mut(), key.clone(), new.clone());
                    new
                }
            };
            target = next;
        }
        let Value::Dict(entries) = &target.value else {
            return Err(self.value.fault(format!("{} is no key of a dict", self.path.join("."))));
        };
        put(&mut entries.borrow_mut(), last.clone(), self.value.clone());
        Ok(())
    }
}

/// Returns the settings that the flags change. Those of `--set` come last, so they take precedence.
pub(super) fn of(args: &OwnArgs, library: &Library<'_>) -> Result<Vec<Setting>, Fault> {
    let text = |value: &Option<String>| value.clone().map(Value::Text);
    let whole = |value: Option<i64>| value.map(Value::Int);
    let named = [
        (OwnArgs::HOST_IP, "models.host_ip", text(&args.host_ip)),
        (OwnArgs::HOST_PORT, "models.host_port", whole(args.host_port)),
        (OwnArgs::URL, "models.url", text(&args.url)),
        (OwnArgs::MODEL_NAME, "models.model", text(&args.model_name)),
        (OwnArgs::TOKENIZER_PATH, "models.path", text(&args.tokenizer_path)),
        (OwnArgs::BATCH_SIZE, "models.batch_size", whole(args.batch_size)),
        (OwnArgs::REQUEST_RATE, "models.request_rate", args.request_rate.map(Value::Float)),
        (OwnArgs::MAX_OUT_LEN, "models.max_out_len", whole(args.max_out_len)),
        (OwnArgs::DATASET_PATH, "datasets.path", text(&args.dataset_path)),
        (OwnArgs::REQUEST_COUNT, "datasets.config.RequestCount", whole(args.request_count)),
    ];
    let mut settings = Vec::new();
    for (flag, path, value) in named {
        if let Some(value) = value {
            let place = Place { file: flag.name().into(), line: 0 };
            settings.push(setting(path, Located { value, place })?);
        }
    }
    for given in &args.set {
        settings.push(any(given, library)?);
    }
    Ok(settings)
}

/// Parses an argument of `--set`, such as `models.batch_size=64`.
fn any(given: &str, library: &Library<'_>) -> Result<Setting, Fault> {
    let place = Place { file: format!("--set {given}").into(), line: 0 };
    let (path, value) =
        given.split_once('=').ok_or_else(|| place.fault("KEY=VALUE is expected"))?;
    let read = |value: &str| library.built_in(&place.file, &format!("value = {value}"));
    let names = match read(value) {
        Err(_) if is_word(value) => read(&format!("{value:?}")),
        names => names,
    };
    let names = names.map_err(|fault| place.fault(fault.why))?;
    let (_, value) = names.into_iter().next().ok_or_else(|| place.fault("the value is missing"))?;
    setting(path, Located { place, ..value })
}

/// Returns whether a value that is not a Python literal is taken for a string without quotes,
/// because shells remove quotes: a name, an address or a path.
fn is_word(value: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./:@~".contains(letter);
    !value.is_empty() && value.chars().all(is_plain)
}

fn setting(path: &str, value: Located) -> Result<Setting, Fault> {
    let mut keys = path.split('.').map(str::to_owned);
    let of = match keys.next().as_deref() {
        Some("models") => Kind::Models,
        Some("datasets") => Kind::Datasets,
        _ => return Err(value.fault("a key begins with models. or datasets.")),
    };
    Ok(Setting { of, path: keys.collect(), value })
}
