//! What a config says, as flags.

use clap::{ArgAction, Args};

use crate::aisbench::catalog::Kind;
use crate::aisbench::config::Setting;
use crate::aisbench::python::{Fault, Library, Located, Place, Value};
use crate::python;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: what the config says")]
pub(in crate::aisbench) struct OwnArgs {
    /// A key of all models or of all data sets and its value as Python has it, such as
    /// models.batch_size=64 or datasets.config.RequestCount=500, a single word or path without
    /// quotes, too; may be given several times
    #[arg(long, value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub(in crate::aisbench) set: Vec<String>,
    /// The server's host: models.host_ip
    #[arg(long, value_name = "HOST")]
    host_ip: Option<String>,
    /// The server's port: models.host_port
    #[arg(long, value_name = "PORT", value_parser = python::int)]
    host_port: Option<i64>,
    /// Where the server is; host and port then do not count: models.url
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// What requests call the model: models.model
    #[arg(long, value_name = "NAME")]
    model_name: Option<String>,
    /// Where the tokenizer is: models.path
    #[arg(long, value_name = "PATH")]
    tokenizer_path: Option<String>,
    /// How many requests are in flight at most: models.batch_size
    #[arg(long, value_name = "N", value_parser = python::int)]
    batch_size: Option<i64>,
    /// How many requests are sent a second; 0 sends as many as may be in flight:
    /// models.request_rate
    #[arg(long, value_name = "RATE", value_parser = python::float)]
    request_rate: Option<f64>,
    /// How long answers may be: models.max_out_len
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    max_out_len: Option<i64>,
    /// The file of the data set: datasets.path
    #[arg(long, value_name = "PATH")]
    dataset_path: Option<String>,
    /// How many synthetic prompts there are: datasets.config.RequestCount
    #[arg(long, value_name = "N", value_parser = python::int)]
    request_count: Option<i64>,
    /// The seed of all draws; AISBench has none
    #[arg(long, value_name = "SEED", default_value = "0", value_parser = python::int)]
    pub(in crate::aisbench) seed: i64,
}

impl OwnArgs {
    /// What the flags change, in an order in which `--set` comes last.
    pub(in crate::aisbench) fn settings(
        &self,
        library: &Library<'_>,
    ) -> Result<Vec<Setting>, Fault> {
        let text = |value: &Option<String>| value.clone().map(Value::Text);
        let whole = |value: Option<i64>| value.map(Value::Int);
        let named = [
            ("--host-ip", "models.host_ip", text(&self.host_ip)),
            ("--host-port", "models.host_port", whole(self.host_port)),
            ("--url", "models.url", text(&self.url)),
            ("--model-name", "models.model", text(&self.model_name)),
            ("--tokenizer-path", "models.path", text(&self.tokenizer_path)),
            ("--batch-size", "models.batch_size", whole(self.batch_size)),
            ("--request-rate", "models.request_rate", self.request_rate.map(Value::Float)),
            ("--max-out-len", "models.max_out_len", whole(self.max_out_len)),
            ("--dataset-path", "datasets.path", text(&self.dataset_path)),
            ("--request-count", "datasets.config.RequestCount", whole(self.request_count)),
        ];
        let mut settings = Vec::new();
        for (flag, path, value) in named {
            if let Some(value) = value {
                let place = Place { file: flag.into(), line: 0 };
                settings.push(setting(path, Located { value, place })?);
            }
        }
        for given in &self.set {
            settings.push(any(given, library)?);
        }
        Ok(settings)
    }
}

/// `models.batch_size=64`.
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

/// Whether what is no data may be a text without its quotes, which shells take away: a name, an
/// address, a path.
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
