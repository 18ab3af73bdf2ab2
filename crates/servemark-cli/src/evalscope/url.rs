//! The URL to which requests go, by evalscope's rules.

use servemark_backends::EvalscopeApi;
use servemark_client::BaseUrl;

use super::args::TargetArgs;
use crate::error::CliError;
use crate::number::refused;

/// A URL, split into its parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Address {
    /// Scheme, host and port.
    base: String,
    path: String,
    /// Query with its question mark; empty if there is none.
    query: String,
}

impl Address {
    /// Splits a URL into its parts, without its fragment.
    pub(super) fn of(url: &str) -> Self {
        let (url, _fragment) = url.split_once('#').unwrap_or((url, ""));
        let (place, query) = url.split_at(url.find('?').unwrap_or(url.len()));
        let host = place.find("://").map_or(0, |scheme| scheme + "://".len());
        let path = place[host..].find('/').map_or(place.len(), |slash| host + slash);
        let (base, path) = place.split_at(path);
        Self { base: base.to_owned(), path: path.to_owned(), query: query.to_owned() }
    }

    /// Returns the address with the endpoint of an API at the end of its path, if that does not end
    /// with a known endpoint; and a warning if it was changed.
    pub(super) fn completed(self, api: EvalscopeApi) -> (Self, Option<String>) {
        let Some(end) = ending(api) else { return (self, None) };
        let path = self.path.trim_end_matches('/').to_owned();
        if api == EvalscopeApi::OpenaiResponses
            && let Some(root) =
                path.strip_suffix("chat/completions").filter(|root| root.ends_with('/'))
        {
            let warning = "OpenAI Responses API selected: URL auto-adjusted to responses endpoint";
            return (Self { path: format!("{root}responses"), ..self }, Some(warning.to_owned()));
        }
        if ENDINGS.iter().any(|known| path.ends_with(&format!("/{known}"))) {
            return (self, None);
        }
        let warning = format!(
            "URL has no endpoint path, auto-appended \"/{end}\". If this is not intended, please \
             specify the full URL explicitly."
        );
        (Self { path: format!("{path}/{end}"), ..self }, Some(warning))
    }

    /// Returns whether the path is that of chat completions.
    pub(super) fn is_chat(&self) -> bool {
        self.path.trim_end_matches('/').ends_with(CHAT)
    }

    /// Returns the address of the route that takes token ids: completions in place of chat
    /// completions.
    pub(super) fn for_token_ids(self) -> Self {
        let path = self.path.trim_end_matches('/').strip_suffix(CHAT);
        let path = path.map_or_else(|| self.path.clone(), |root| format!("{root}completions"));
        Self { path, ..self }
    }

    /// Returns the address with `v1/completions` in place of `v1/chat/completions`, for data sets
    /// of completions; and a warning if it was changed.
    pub(super) fn for_completions(self) -> (Self, Option<String>) {
        let path = self.path.replace("v1/chat/completions", "v1/completions");
        let warning = "The API URL is not set correctly for `speed_benchmark`. Using \
                       `v1/completions` instead of `v1/chat/completions` by system.";
        let warning = (path != self.path).then(|| warning.to_owned());
        (Self { path, ..self }, warning)
    }

    /// Returns the base URL of the server.
    pub(super) fn server(&self) -> Result<BaseUrl, CliError> {
        self.base.parse().map_err(refused(TargetArgs::URL))
    }

    /// Returns the path and the query to which requests go.
    pub(super) fn endpoint(&self) -> String {
        let path = if self.path.is_empty() { "/" } else { &self.path };
        format!("{path}{}", self.query)
    }

    /// Returns the whole URL, without a fragment.
    pub(super) fn url(&self) -> String {
        format!("{}{}{}", self.base, self.path, self.query)
    }
}

/// Returns the endpoint at the end of the paths of an API; `None` if evalscope appends none.
fn ending(api: EvalscopeApi) -> Option<&'static str> {
    match api {
        EvalscopeApi::Openai => Some(CHAT),
        EvalscopeApi::OpenaiResponses => Some("responses"),
        EvalscopeApi::OpenaiEmbedding => Some("embeddings"),
        EvalscopeApi::OpenaiRerank => Some("reranks"),
        EvalscopeApi::Systemone => Some("systemone"),
        EvalscopeApi::Autotrust => Some("decide"),
        _ => None,
    }
}

const CHAT: &str = "chat/completions";

/// Known endpoints at the end of paths.
const ENDINGS: [&str; 8] =
    [CHAT, "completions", "responses", "embeddings", "reranks", "rerank", "systemone", "decide"];
