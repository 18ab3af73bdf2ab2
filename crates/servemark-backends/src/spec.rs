//! A backend as a value: the form in which plans store it, and from which the codec is built.
//!
//! Each route's own options are in the route's module; this one has the common options and the
//! choice of dialect.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use servemark_core::{JsonObject, Sample};

use crate::route::Dialect;
use crate::{
    AisbenchSpec, AnthropicSpec, BackendName, BatchSpec, ChatSpec, CompletionsSpec, EmbeddingsSpec,
    EvalscopeSpec, GenerateSpec, OllamaSpec, ProvidedSpec, RerankSpec, Route, TrtSpec, TrussSpec,
    VllmSpec, WireBackend,
};

/// Declares the bundled dialects. Each is a spec, which is its own codec and knows its [`Route`].
macro_rules! dialects {
    ($($(#[$doc:meta])+ $name:ident($spec:ident),)+) => {
        /// A dialect with its options.
        ///
        /// ```
        /// use servemark_backends::{Backend, BackendName, BackendSpec, CommonSpec};
        /// use servemark_core::Sample;
        ///
        /// let spec = BackendSpec::new(BackendName::Vllm, CommonSpec::new("tiny-llama"));
        /// let request = spec.build().encode(&Sample::new("Hello", 1, 16))?;
        /// assert_eq!(request.path, "/v1/completions");
        /// # Ok::<(), servemark_core::RequestError>(())
        /// ```
        #[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
        #[serde(tag = "route", rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum BackendSpec {
            $($(#[$doc])+ $name($spec),)+
        }

        impl BackendSpec {
            /// Returns the options that all dialects share.
            pub fn common(&self) -> &CommonSpec {
                match self {
                    $(Self::$name(spec) => &spec.common,)+
                }
            }

            /// Returns the options that all dialects share, for changes.
            pub fn common_mut(&mut self) -> &mut CommonSpec {
                match self {
                    $(Self::$name(spec) => &mut spec.common,)+
                }
            }

            /// Returns the route. Its path is the usual one, which the spec may override.
            pub fn route(&self) -> Route {
                match self {
                    $(Self::$name(spec) => spec.route(),)+
                }
            }

            /// Returns the path of requests, relative to the target's base URL.
            pub fn path(&self) -> Cow<'_, str> {
                let own = match self {
                    $(Self::$name(spec) => spec.own_path(),)+
                };
                own.unwrap_or_else(|| self.route().path().into())
            }

            /// Returns the name by which another client or the program selects the dialect; `None`
            /// for those that a [`BackendName`] selects.
            pub fn own_name(&self) -> Option<&str> {
                match self {
                    $(Self::$name(spec) => spec.own_name(),)+
                }
            }

            /// Builds the codec. A dialect that the program supplies is missing here: its codec
            /// refuses every request.
            pub fn build(&self) -> WireBackend {
                match self {
                    $(Self::$name(spec) => WireBackend::new(spec.clone()),)+
                }
            }
        }

        $(impl From<$spec> for BackendSpec {
            fn from(spec: $spec) -> Self {
                Self::$name(spec)
            }
        })+
    };
}

dialects! {
    /// SGLang's `/generate`.
    Generate(GenerateSpec),
    /// OpenAI's `/v1/completions`.
    Completions(CompletionsSpec),
    /// OpenAI's `/v1/chat/completions`.
    Chat(ChatSpec),
    /// OpenAI's `/v1/embeddings`.
    Embeddings(EmbeddingsSpec),
    /// The route `/v1/rerank`.
    Rerank(RerankSpec),
    /// Anthropic's `/v1/messages`.
    Anthropic(AnthropicSpec),
    /// Ollama's own API.
    Ollama(OllamaSpec),
    /// TensorRT-LLM behind Triton.
    Trt(TrtSpec),
    /// Baseten's Truss.
    Truss(TrussSpec),
    /// A dialect of vLLM's client.
    Vllm(VllmSpec),
    /// An API of evalscope's client.
    Evalscope(EvalscopeSpec),
    /// A class of AISBench's client.
    Aisbench(AisbenchSpec),
    /// Several prompts in one request.
    Batch(BatchSpec),
    /// A dialect that the program supplies.
    Provided(ProvidedSpec),
}

impl BackendSpec {
    /// Returns the dialect of a backend's name, with its own options at their defaults.
    pub fn new(name: BackendName, common: CommonSpec) -> Self {
        name.spec(common)
    }

    /// Sets the name of the model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.common_mut().model = model.into();
        self
    }

    /// Returns whether an answer consists of tokens, unlike embeddings and rankings.
    pub fn generates(&self) -> bool {
        self.route().generates()
    }

    /// Returns whether the dialect accepts messages, and thus conversations of several turns.
    pub fn takes_messages(&self) -> bool {
        self.route().takes_messages()
    }

    /// Returns whether the dialect accepts token ids in place of text.
    pub fn takes_ids(&self) -> bool {
        self.route().takes_ids()
    }

    /// Returns whether the dialect is one of the program that works outside the measured path.
    pub fn is_deferred(&self) -> bool {
        matches!(self, Self::Provided(spec) if spec.deferred)
    }

    /// Asks streams to report the server's counts, on routes that do so only on request.
    #[must_use]
    pub fn with_usage(mut self) -> Self {
        match &mut self {
            Self::Completions(spec) => spec.include_usage = true,
            Self::Chat(spec) => spec.include_usage = true,
            _ => {}
        }
        self
    }

    /// Asks for the server's own times of each request, on routes that give them only on request.
    /// Streams of OpenAI's routes have them beside the counts. If `is_sglang` is set, the server is
    /// SGLang's, whose documents have them as `meta_info`.
    #[must_use]
    pub fn with_server_times(mut self, is_sglang: bool) -> Self {
        let is_openai = matches!(self, Self::Chat(_) | Self::Completions(_));
        let common = self.common_mut();
        if is_openai && is_sglang && !common.stream {
            common.extra_body.entry("return_meta_info").or_insert(true.into());
        }
        self.with_usage()
    }
}

/// The options that all dialects share.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CommonSpec {
    /// The server's name for the model. `/generate` does not send it.
    pub model: String,
    /// Whether answers are requested as streams.
    pub stream: bool,
    /// Whether end tokens are ignored, so that outputs have the requested length.
    pub ignore_eos: bool,
    /// Keys that the run adds to every body. They replace keys of equal name, and a sample's own
    /// keys replace them.
    ///
    /// SGLang's flags that only add keys are expressed here: `--cache-report` adds
    /// `return_cached_tokens_details`, `--fake-prefill` adds `bootstrap_host` and `bootstrap_room`.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub extra_body: JsonObject,
}

impl CommonSpec {
    /// Returns options for a stream of exactly the requested length from this model.
    pub fn new(model: impl Into<String>) -> Self {
        Self { model: model.into(), ..Self::default() }
    }

    /// Returns the additional keys of a sample's body: the run's, overridden by the sample's own.
    pub(crate) fn extra_for(&self, sample: &Sample) -> JsonObject {
        let mut extra = self.extra_body.clone();
        extra.extend(sample.extra_body.clone());
        extra
    }
}

impl Default for CommonSpec {
    fn default() -> Self {
        Self { model: String::new(), stream: true, ignore_eos: true, extra_body: JsonObject::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Backend;

    #[track_caller]
    fn round_trips(name: BackendName, json: &str) {
        let spec = BackendSpec::new(name, CommonSpec::new("m"));
        assert_eq!(serde_json::to_string(&spec).unwrap(), json);
        assert_eq!(serde_json::from_str::<BackendSpec>(json).unwrap(), spec);
    }

    #[test]
    fn a_spec_is_its_own_file_format() {
        round_trips(
            BackendName::Sglang,
            r#"{"route":"generate","model":"m","stream":true,"ignore_eos":true,"temperature":0.0,"top_p":1.0,"return_logprob":false,"top_logprobs_num":0,"logprob_start_len":-1,"return_routed_experts":false}"#,
        );
        round_trips(
            BackendName::Vllm,
            r#"{"route":"completions","model":"m","stream":true,"ignore_eos":true,"include_usage":false}"#,
        );
        round_trips(
            BackendName::LmdeployChat,
            r#"{"route":"chat","model":"m","stream":true,"ignore_eos":true,"include_usage":false}"#,
        );
    }

    #[test]
    fn times_are_asked_of_a_server_that_gives_them_on_request() {
        let options = |stream: bool, is_sglang: bool| {
            let mut common = CommonSpec::new("m");
            common.stream = stream;
            let spec = BackendSpec::new(BackendName::VllmChat, common);
            let request =
                spec.with_server_times(is_sglang).build().encode(&Sample::new("hi", 1, 1));
            let body: serde_json::Value = serde_json::from_slice(&request.unwrap().body).unwrap();
            (body["stream_options"]["include_usage"].clone(), body["return_meta_info"].clone())
        };
        let (null, yes) = (serde_json::Value::Null, serde_json::Value::Bool(true));
        assert_eq!(options(true, false), (yes.clone(), null.clone()));
        assert_eq!(options(true, true), (yes.clone(), null.clone()));
        assert_eq!(options(false, true), (null.clone(), yes));
        assert_eq!(options(false, false), (null.clone(), null));
    }

    #[test]
    fn what_a_file_leaves_out_is_the_default() {
        let spec: BackendSpec = serde_json::from_str(r#"{"route":"chat","model":"m"}"#).unwrap();
        assert_eq!(spec, BackendSpec::new(BackendName::VllmChat, CommonSpec::new("m")));
    }

    #[test]
    fn a_samples_keys_win_and_keep_the_runs_order() {
        let object = |json| serde_json::from_str::<JsonObject>(json).unwrap();
        let mut common = CommonSpec::new("m");
        common.extra_body = object(r#"{"a":1,"b":1}"#);
        let sample = Sample::new("hi", 1, 1).with_extra_body(object(r#"{"c":2,"a":2}"#));
        let extra = serde_json::to_string(&common.extra_for(&sample)).unwrap();
        assert_eq!(extra, r#"{"a":2,"b":1,"c":2}"#);
    }
}
