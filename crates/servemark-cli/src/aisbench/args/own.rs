//! Our flags that change the settings of a config.

use clap::{ArgAction, Args};
use servemark_report::PrefillRow;

use crate::aisbench::catalog::Kind;
use crate::aisbench::config::Setting;
use crate::aisbench::python::{Fault, Library, Located, Place, Value};
use crate::argparse::flags;
use crate::own::NOT_SIMULATED;
use crate::python;

fn parse_style(month: &str) -> Result<PrefillRow, String> {
    python::named(month, &PrefillRow::RELEASES, PrefillRow::of_release)
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Servemark: what the config says")]
pub(in crate::aisbench) struct OwnArgs {
    /// Set a key of all models or of all data sets to a Python value, such as models.batch_size=64
    /// or datasets.config.RequestCount=500; a single word or path needs no quotes; may be given
    /// several times
    #[arg(long, value_name = "KEY=VALUE", action = ArgAction::Append)]
    pub(in crate::aisbench) set: Vec<String>,
    /// The server's host: models.host_ip
    #[arg(long, value_name = "HOST")]
    host_ip: Option<String>,
    /// The server's port: models.host_port
    #[arg(long, value_name = "PORT", value_parser = python::int)]
    host_port: Option<i64>,
    /// The server's URL, in place of host and port: models.url
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The model's name in requests: models.model
    #[arg(long, value_name = "NAME")]
    model_name: Option<String>,
    /// The path of the tokenizer: models.path
    #[arg(long, value_name = "PATH")]
    tokenizer_path: Option<String>,
    /// How many requests may be in flight at once: models.batch_size
    #[arg(long, value_name = "N", value_parser = python::int)]
    batch_size: Option<i64>,
    /// How many requests are sent a second; 0 sends as many as may be in flight:
    /// models.request_rate
    #[arg(long, value_name = "RATE", value_parser = python::float)]
    request_rate: Option<f64>,
    /// The most tokens of an answer: models.max_out_len
    #[arg(long, value_name = "TOKENS", value_parser = python::int)]
    max_out_len: Option<i64>,
    /// The file of the data set: datasets.path
    #[arg(long, value_name = "PATH")]
    dataset_path: Option<String>,
    /// How many synthetic prompts there are: datasets.config.RequestCount
    #[arg(long, value_name = "N", value_parser = python::int)]
    request_count: Option<i64>,
    /// The month of the AISBench release whose tables are printed. Before August 2026 the prefill
    /// throughput is one number of the run, and an answer that came whole has a first token
    #[arg(long, value_name = "MONTH", default_value = PrefillRow::RELEASES[0], value_parser = parse_style)]
    pub(in crate::aisbench) style: PrefillRow,
    /// The seed of all draws; AISBench has none
    #[arg(long, value_name = "SEED", default_value = "0", value_parser = python::int)]
    pub(in crate::aisbench) seed: i64,
}

flags! { OwnArgs {
    SET = "--set";
    HOST_IP = "--host-ip" => [NOT_SIMULATED];
    HOST_PORT = "--host-port" => [NOT_SIMULATED];
    URL = "--url" => [NOT_SIMULATED];
    MODEL_NAME = "--model-name";
    TOKENIZER_PATH = "--tokenizer-path";
    BATCH_SIZE = "--batch-size";
    REQUEST_RATE = "--request-rate";
    MAX_OUT_LEN = "--max-out-len";
    DATASET_PATH = "--dataset-path";
    REQUEST_COUNT = "--request-count";
    STYLE = "--style";
    SEED = "--seed";
}}

impl OwnArgs {
    /// Returns the settings that the flags change. Those of `--set` come last, so they take
    /// precedence.
    pub(in crate::aisbench) fn settings(
        &self,
        library: &Library<'_>,
    ) -> Result<Vec<Setting>, Fault> {
        let text = |value: &Option<String>| value.clone().map(Value::Text);
        let whole = |value: Option<i64>| value.map(Value::Int);
        let named = [
            (Self::HOST_IP, "models.host_ip", text(&self.host_ip)),
            (Self::HOST_PORT, "models.host_port", whole(self.host_port)),
            (Self::URL, "models.url", text(&self.url)),
            (Self::MODEL_NAME, "models.model", text(&self.model_name)),
            (Self::TOKENIZER_PATH, "models.path", text(&self.tokenizer_path)),
            (Self::BATCH_SIZE, "models.batch_size", whole(self.batch_size)),
            (Self::REQUEST_RATE, "models.request_rate", self.request_rate.map(Value::Float)),
            (Self::MAX_OUT_LEN, "models.max_out_len", whole(self.max_out_len)),
            (Self::DATASET_PATH, "datasets.path", text(&self.dataset_path)),
            (Self::REQUEST_COUNT, "datasets.config.RequestCount", whole(self.request_count)),
        ];
        let mut settings = Vec::new();
        for (flag, path, value) in named {
            if let Some(value) = value {
                let place = Place { file: flag.name().into(), line: 0 };
                settings.push(setting(path, Located { value, place })?);
            }
        }
        for given in &self.set {
            settings.push(any(given, library)?);
        }
        Ok(settings)
    }
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
