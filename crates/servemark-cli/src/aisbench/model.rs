//! Models of a config: the server, the requests and the load.

use std::num::NonZero;
use std::path::PathBuf;

use serde_json::Value as Json;
use servemark_backends::AisbenchClass;
use servemark_core::JsonObject;
use servemark_schedule::{ArrivalSpec, Burstiness, Ramp, RampShape, Rate, ScheduleError};

use super::python::{Fault, Located, Place, Value};
use super::section::{Section, class, text, whole};

/// A model of a config with `attr="service"`.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) place: Place,
    pub(super) abbr: String,
    pub(super) class: AisbenchClass,
    pub(super) stream: bool,
    /// Path of the tokenizer.
    pub(super) path: Option<String>,
    /// Position of `path` in the config; that of the model if it is not set.
    pub(super) tokenizer: Place,
    /// Model name in requests.
    pub(super) name: Option<String>,
    pub(super) arrivals: ArrivalSpec,
    /// Requests per second without burstiness and ramp. `--pressure` opens the slots of the
    /// concurrency limit at this rate; without it, all are open from the start.
    pub(super) rate: Option<Rate>,
    pub(super) use_timestamp: bool,
    /// Maximum number of attempts per request, including the first.
    pub(super) tries: NonZero<u32>,
    pub(super) api_key: Option<String>,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) url: Option<String>,
    /// Position of `url` in the config; that of the model if it is not set.
    pub(super) address: Place,
    pub(super) tls: bool,
    pub(super) max_out_len: u32,
    pub(super) batch_size: NonZero<u32>,
    pub(super) generation: JsonObject,
}

impl Model {
    pub(super) fn of(value: &Located) -> Result<Self, Fault> {
        let mut section = Section::of(value, "a model")?;
        let model = Self::read(&mut section)?;
        section.finish()?;
        Ok(model)
    }

    fn read(section: &mut Section) -> Result<Self, Fault> {
        let place = section.place.clone();
        if let Some(attr) = section.take("attr") {
            let word = text(&attr, "attr")?;
            if word != "service" {
                let why = format!(
                    "models of the attr {word:?} are not built; only those of a \"service\" are"
                );
                return Err(attr.fault(why));
            }
        }
        let kind = section.require("type")?;
        let (class, forced) = class_of(&class(&kind)?).ok_or_else(|| {
            kind.fault(format!("the model class {} is not built", class_name(&kind)))
        })?;
        section.ignore(&IGNORED);
        refuse_set(section, &["meta_template", "returns_tool_calls"])?;
        let stream = section.flag("stream")?.unwrap_or_default();
        let rate = section.number("request_rate", 0.0, FASTEST)?.unwrap_or_default();
        let traffic = Traffic::of(section.section("traffic_cfg", "traffic_cfg")?)?;
        let (written, url) = (section.place_of("url"), section.word("url")?);
        let (name, model_name) = (section.word("model")?, section.word("model_name")?);
        Ok(Self {
            abbr: section.word("abbr")?.unwrap_or_else(|| class.as_str().to_owned()),
            class,
            stream: forced || stream,
            tokenizer: section.place_of("path").unwrap_or_else(|| place.clone()),
            path: section.word("path")?,
            name: name.or(model_name),
            rate: paced(rate),
            arrivals: traffic.arrivals(rate).map_err(|error| place.fault(error.to_string()))?,
            use_timestamp: section.flag("use_timestamp")?.unwrap_or_default(),
            tries: tries(section)?,
            api_key: section.word("api_key")?,
            host: section.word("host_ip")?.unwrap_or_else(|| "localhost".to_owned()),
            port: section.whole("host_port", 1, 65_535)?.unwrap_or(8080),
            address: written.filter(|_| url.is_some()).unwrap_or_else(|| place.clone()),
            url,
            tls: section.flag("enable_ssl")?.unwrap_or_default(),
            max_out_len: section.whole("max_out_len", 1, u32::MAX.into())?.unwrap_or(512),
            batch_size: section
                .whole("batch_size", 1, MOST_AT_ONCE)?
                .and_then(NonZero::new)
                .unwrap_or(NonZero::<u32>::MIN),
            generation: in_order(section.object("generation_kwargs")?),
            place,
        })
    }

    /// Returns the server's URL as the config gives it, with a scheme; `None` if `url` is not set.
    pub(super) fn base_url(&self) -> Option<String> {
        let scheme = if self.tls { "https" } else { "http" };
        let url = self.url.as_deref()?.trim();
        Some(if url.contains("://") { url.to_owned() } else { format!("{scheme}://{url}") })
    }

    /// Returns how many times each row is sent (`num_return_sequences`).
    pub(super) fn repeats(&self) -> Result<NonZero<u32>, Fault> {
        let Some(value) = self.generation.get("num_return_sequences") else {
            return Ok(NonZero::<u32>::MIN);
        };
        let number =
            value.as_u64().and_then(|number| u32::try_from(number).ok()).and_then(NonZero::new);
        number.ok_or_else(|| self.place.fault("num_return_sequences must be 1 or more"))
    }

    /// Returns the path of the file that assigns adapters to rows (`lora_data_map_file`).
    pub(super) fn adapters(&self) -> Option<PathBuf> {
        self.generation.get("lora_data_map_file")?.as_str().map(PathBuf::from)
    }
}

/// Returns the class of a name, and whether the name alone requests streaming; `None` for unknown
/// names.
fn class_of(class: &str) -> Option<(AisbenchClass, bool)> {
    Some(match class {
        "VLLMCustomAPIChat" | "VLLMFunctionCallAPIChat" => (AisbenchClass::VllmChat, false),
        "VLLMCustomAPIChatStream" | "VllmMultiturnAPIChatStream" => (AisbenchClass::VllmChat, true),
        "VLLMCustomAPI" => (AisbenchClass::Vllm, false),
        "VLLMCustomAPIStream" => (AisbenchClass::Vllm, true),
        "MindieStreamApi" => (AisbenchClass::MindieStream, true),
        "TritonCustomAPI" => (AisbenchClass::Triton, false),
        "TritonCustomAPIStream" => (AisbenchClass::Triton, true),
        "TGICustomAPI" => (AisbenchClass::Tgi, false),
        "TGICustomAPIStream" => (AisbenchClass::Tgi, true),
        _ => return None,
    })
}

fn class_name(kind: &Located) -> String {
    class(kind).unwrap_or_default()
}

/// Returns the number of attempts per request. Refuses zero, with which AISBench sends nothing at
/// all.
fn tries(section: &mut Section) -> Result<NonZero<u32>, Fault> {
    let Some(value) = section.take("retry") else { return Ok(USUAL_TRIES) };
    let tries: u32 = whole(&value, "retry", 0, 1000)?;
    let nothing = "retry counts all tries of a request, the first among them: 1 is the least";
    NonZero::new(tries).ok_or_else(|| value.fault(nothing))
}

/// Refuses keys that are not supported, unless they are absent, `None` or `False`.
fn refuse_set(section: &mut Section, keys: &[&str]) -> Result<(), Fault> {
    for key in keys {
        match section.take(key) {
            None => {}
            Some(value) if value.value == Value::Bool(false) => {}
            Some(value) => return Err(value.fault(format!("{key} is not built"))),
        }
    }
    Ok(())
}

/// The section `traffic_cfg` of a model: the burstiness and the ramp of the request rate.
#[derive(Debug)]
struct Traffic {
    burstiness: f64,
    ramp: Option<(RampShape, f64, f64)>,
}

impl Traffic {
    fn of(section: Option<Section>) -> Result<Self, Fault> {
        let Some(mut section) = section else { return Ok(Self { burstiness: 1.0, ramp: None }) };
        let burstiness = section.number("burstiness", 0.0, f64::MAX)?.unwrap_or(1.0);
        let growth =
            section.take("ramp_up_strategy").map(|value| growth(&value)).transpose()?.flatten();
        let from = section.number("ramp_up_start_rps", 0.0, FASTEST)?;
        let to = section.number("ramp_up_end_rps", 0.0, FASTEST)?;
        let ends = growth.map(|growth| Some((growth, from?, to?)));
        let incomplete =
            || section.place.fault("a ramp needs ramp_up_start_rps and ramp_up_end_rps");
        let ramp = ends.map(|ends| ends.ok_or_else(incomplete)).transpose()?;
        section.finish()?;
        Ok(Self { burstiness, ramp })
    }

    fn arrivals(&self, rate: f64) -> Result<ArrivalSpec, ScheduleError> {
        // In AISBench, a shape of zero means even gaps.
        let burstiness = match self.burstiness {
            0.0 => Burstiness::EVEN,
            shape => Burstiness::new(shape)?,
        };
        match self.ramp {
            Some((_, _, to)) if to < SLOWEST => Ok(ArrivalSpec::Burst),
            Some((growth, from, to)) => {
                let ramp = Ramp::new(growth, Rate::new(from)?, Rate::new(to)?)?;
                Ok(ArrivalSpec::Ramp { ramp, burstiness })
            }
            None => Ok(paced(rate).map_or(ArrivalSpec::Burst, |requests_per_second| {
                ArrivalSpec::Gamma { requests_per_second, burstiness }
            })),
        }
    }
}

/// Parses how the rate grows in a ramp; an empty string means that there is no ramp.
fn growth(value: &Located) -> Result<Option<RampShape>, Fault> {
    match text(value, "ramp_up_strategy")?.as_str() {
        "" => Ok(None),
        "linear" => Ok(Some(RampShape::Linear)),
        "exponential" => Ok(Some(RampShape::Exponential)),
        other => {
            Err(value
                .fault(format!("ramp_up_strategy must be linear or exponential, not {other:?}")))
        }
    }
}

/// Returns a request rate; `None` if it is so low that AISBench ignores it.
fn paced(rate: f64) -> Option<Rate> {
    Rate::new(rate).ok().filter(|_| rate >= SLOWEST)
}

const USUAL_TRIES: NonZero<u32> = NonZero::new(2).expect("it is not zero");
const SLOWEST: f64 = 0.001;
const FASTEST: f64 = 64_000.0;
const MOST_AT_ONCE: i64 = 100_000;
/// Keys that concern accuracy or AISBench's own process.
const IGNORED: [&str; 8] = [
    "custom_client",
    "min_out_len",
    "pred_postprocessor",
    "response_anomaly",
    "run_cfg",
    "summarizer_abbr",
    "trust_remote_code",
    "verbose",
];

/// Sorts the keys of an object and of all objects inside it. AISBench writes its config, sorted in
/// this way, into a file for the process that sends, so requests have their keys in this order.
pub(super) fn in_order(object: JsonObject) -> JsonObject {
    let mut entries: Vec<_> = object.into_iter().collect();
    entries.sort_by(|(one, _), (other, _)| one.cmp(other));
    entries.into_iter().map(|(key, value)| (key, sorted(value))).collect()
}

fn sorted(value: Json) -> Json {
    match value {
        Json::Object(object) => Json::Object(in_order(object)),
        Json::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}
