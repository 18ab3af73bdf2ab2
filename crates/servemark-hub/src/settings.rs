//! The hubs, their tokens and their caches: the settings that the hubs' own tools read from the
//! environment. This crate leaves reading them to the caller.

use std::fmt;
use std::path::{Path, PathBuf};

/// The hubs, their tokens and their caches.
///
/// The token is not shown by `Debug` and is not part of a plan.
///
/// ```
/// use servemark_hub::HubSettings;
///
/// let settings = HubSettings::from_variables(|name| match name {
///     "HF_TOKEN" => Some("hf_secret".to_owned()),
///     "HF_HOME" => Some("/data/hf".to_owned()),
///     _ => None,
/// });
/// assert!(format!("{settings:?}").contains("/data/hf/hub"));
/// assert!(!format!("{settings:?}").contains("secret"));
/// ```
#[derive(Clone, Eq, PartialEq)]
pub struct HubSettings {
    pub(crate) endpoint: String,
    pub(crate) cache: PathBuf,
    /// The cache for files that come from no hub.
    pub(crate) own_cache: PathBuf,
    pub(crate) token: Token,
    /// The environment variable that forbids downloads, if one does.
    pub(crate) offline: Option<&'static str>,
    /// The size limit of a file in bytes, as the user gave it.
    pub(crate) most_bytes: Option<String>,
    pub(crate) modelscope: ModelScopeSettings,
    /// Whether models and tokenizers come from ModelScope.
    pub(crate) models_from_modelscope: bool,
}

/// Source of a hub's access token.
#[derive(Clone, Eq, PartialEq)]
pub(crate) enum Token {
    None,
    Given(String),
    /// A file that is read when the token is needed; it need not exist.
    File(PathBuf),
}

/// The settings of ModelScope, which serves models if it is selected, and data sets of its own.
#[derive(Clone, Eq, PartialEq)]
pub(crate) struct ModelScopeSettings {
    pub(crate) endpoint: String,
    pub(crate) cache: PathBuf,
    pub(crate) token: Option<String>,
}

impl HubSettings {
    /// The environment variables that are read.
    pub const VARIABLES: [&'static str; 18] = [
        "HF_ENDPOINT",
        "HF_HOME",
        "HF_HUB_CACHE",
        "HF_HUB_DISABLE_IMPLICIT_TOKEN",
        "HF_HUB_OFFLINE",
        "HF_TOKEN",
        "HF_TOKEN_PATH",
        "HOME",
        "HUGGINGFACE_HUB_CACHE",
        "HUGGING_FACE_HUB_TOKEN",
        "MODELSCOPE_API_TOKEN",
        "MODELSCOPE_CACHE",
        "MODELSCOPE_DOMAIN",
        "MODELSCOPE_ENDPOINT",
        MOST_BYTES,
        "SGLANG_USE_MODELSCOPE",
        "TRANSFORMERS_OFFLINE",
        "XDG_CACHE_HOME",
    ];

    /// Builds the settings from environment variables, with the precedence of the Python libraries.
    /// An empty variable counts as unset.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let variables = Variables { get: &variable };
        let caches = variables.path("XDG_CACHE_HOME").unwrap_or_else(|| variables.home(".cache"));
        let home = variables.path("HF_HOME").unwrap_or_else(|| caches.join("huggingface"));
        let cache = variables.path("HF_HUB_CACHE").or(variables.path("HUGGINGFACE_HUB_CACHE"));
        Self {
            endpoint: variables.url("HF_ENDPOINT").unwrap_or_else(|| HUB.to_owned()),
            cache: cache.unwrap_or_else(|| home.join("hub")),
            own_cache: caches.join("servemark"),
            token: variables.token(&home),
            offline: variables.offline(),
            most_bytes: variables.text(MOST_BYTES),
            modelscope: variables.modelscope(),
            models_from_modelscope: variables.chooses_modelscope(),
        }
    }

    /// Returns settings that forbid downloads and use only `cache`.
    pub fn offline(cache: impl Into<PathBuf>) -> Self {
        let cache = cache.into();
        let endpoint = MODELSCOPE.to_owned();
        Self {
            most_bytes: None,
            modelscope: ModelScopeSettings { endpoint, cache: cache.clone(), token: None },
            models_from_modelscope: false,
            endpoint: HUB.to_owned(),
            own_cache: cache.clone(),
            cache,
            token: Token::None,
            offline: Some("the program's settings"),
        }
    }
}

/// Forbids downloads, so that a program without settings downloads nothing.
impl Default for HubSettings {
    fn default() -> Self {
        Self::offline(PathBuf::new())
    }
}

impl fmt::Debug for HubSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubSettings")
            .field("endpoint", &self.endpoint)
            .field("cache", &self.cache)
            .field("offline", &self.offline)
            .field("modelscope", &self.modelscope.endpoint)
            .field("models_from_modelscope", &self.models_from_modelscope)
            .finish_non_exhaustive()
    }
}

/// The environment, as the Python libraries read it.
struct Variables<'a> {
    get: &'a dyn Fn(&str) -> Option<String>,
}

impl Variables<'_> {
    fn text(&self, name: &str) -> Option<String> {
        (self.get)(name).filter(|value| !value.is_empty())
    }

    /// Returns a URL without a trailing slash; the scheme defaults to `https`.
    fn url(&self, name: &str) -> Option<String> {
        let url = self.text(name)?;
        let url = url.trim().trim_end_matches('/');
        Some(if url.contains("://") { url.to_owned() } else { format!("https://{url}") })
    }

    /// Returns a path, with `~` replaced by the home folder.
    fn path(&self, name: &str) -> Option<PathBuf> {
        let path = self.text(name)?;
        Some(match path.strip_prefix("~/") {
            Some(rest) => self.home(rest),
            None => path.into(),
        })
    }

    fn home(&self, rest: &str) -> PathBuf {
        self.text("HOME").map(PathBuf::from).unwrap_or_default().join(rest)
    }

    fn is_on(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| is_yes(&value))
    }

    fn token(&self, home: &Path) -> Token {
        if self.is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
            return Token::None;
        }
        let given = self.text("HF_TOKEN").or_else(|| self.text("HUGGING_FACE_HUB_TOKEN"));
        match given.as_deref().map(str::trim).filter(|token| !token.is_empty()) {
            Some(token) => Token::Given(token.to_owned()),
            None => Token::File(self.path("HF_TOKEN_PATH").unwrap_or_else(|| home.join("token"))),
        }
    }

    /// Returns the variable that forbids downloads. Only the first of the two that is set counts.
    fn offline(&self) -> Option<&'static str> {
        let set = ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"];
        let first = set.into_iter().find(|name| self.text(name).is_some())?;
        self.is_on(first).then_some(first)
    }

    fn modelscope(&self) -> ModelScopeSettings {
        let endpoint = self.url("MODELSCOPE_ENDPOINT").or_else(|| self.url("MODELSCOPE_DOMAIN"));
        ModelScopeSettings {
            endpoint: endpoint.unwrap_or_else(|| MODELSCOPE.to_owned()),
            cache: self.path("MODELSCOPE_CACHE").unwrap_or_else(|| self.home(".cache/modelscope")),
            token: self.text("MODELSCOPE_API_TOKEN"),
        }
    }

    fn chooses_modelscope(&self) -> bool {
        self.text("SGLANG_USE_MODELSCOPE").is_some_and(|word| word.eq_ignore_ascii_case("true"))
    }
}

fn is_yes(value: &str) -> bool {
    ["1", "on", "yes", "true"].contains(&value.to_ascii_lowercase().as_str())
}

/// The variable that sets the size limit of a file in bytes.
pub(crate) const MOST_BYTES: &str = "SERVEMARK_HUB_MAX_BYTES";

const HUB: &str = "https://huggingface.co";
const MODELSCOPE: &str = "https://www.modelscope.cn";

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> HubSettings {
        HubSettings::from_variables(|name| {
            let known = variables.iter().find(|(known, _)| *known == name);
            assert!(HubSettings::VARIABLES.contains(&name), "{name} is read and not listed");
            known.map(|(_, value)| (*value).to_owned())
        })
    }

    #[track_caller]
    fn caches(variables: &[(&str, &str)], expected: &str) {
        let variables = [&[("HOME", "/h")], variables].concat();
        assert_eq!(settings(&variables).cache, Path::new(expected));
    }

    #[test]
    fn the_cache_has_the_precedence_of_the_python_library() {
        caches(&[], "/h/.cache/huggingface/hub");
        caches(&[("XDG_CACHE_HOME", "/x")], "/x/huggingface/hub");
        caches(&[("XDG_CACHE_HOME", "/x"), ("HF_HOME", "~/hf")], "/h/hf/hub");
        caches(&[("HF_HOME", "/hf"), ("HUGGINGFACE_HUB_CACHE", "/old")], "/old");
        caches(&[("HUGGINGFACE_HUB_CACHE", "/old"), ("HF_HUB_CACHE", "/new")], "/new");
        caches(&[("HF_HUB_CACHE", "")], "/h/.cache/huggingface/hub");
    }

    #[track_caller]
    fn token(variables: &[(&str, &str)], expected: &Token) {
        assert!(settings(variables).token == *expected);
    }

    #[test]
    fn the_token_is_given_or_in_a_file_or_not_sent() {
        token(&[("HOME", "/h")], &Token::File("/h/.cache/huggingface/token".into()));
        token(&[("HF_HOME", "/hf")], &Token::File("/hf/token".into()));
        token(&[("HF_TOKEN_PATH", "/t")], &Token::File("/t".into()));
        token(&[("HF_TOKEN", " hf_1\n")], &Token::Given("hf_1".to_owned()));
        token(&[("HF_TOKEN", "hf_1"), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")], &Token::None);
    }

    #[track_caller]
    fn offline(variables: &[(&str, &str)], expected: Option<&str>) {
        assert_eq!(settings(variables).offline, expected);
    }

    #[test]
    fn either_variable_forbids_the_network() {
        offline(&[], None);
        for yes in ["1", "true", "YES", "On"] {
            offline(&[("HF_HUB_OFFLINE", yes)], Some("HF_HUB_OFFLINE"));
            offline(&[("TRANSFORMERS_OFFLINE", yes)], Some("TRANSFORMERS_OFFLINE"));
        }
        offline(&[("HF_HUB_OFFLINE", "0"), ("TRANSFORMERS_OFFLINE", "1")], None);
    }

    #[test]
    fn modelscope_is_chosen_by_the_word_true() {
        assert!(!settings(&[("SGLANG_USE_MODELSCOPE", "1")]).models_from_modelscope);
        let chosen = [("SGLANG_USE_MODELSCOPE", "True"), ("HOME", "/h")];
        let chosen_settings = settings(&chosen);
        assert!(chosen_settings.models_from_modelscope);
        let modelscope = chosen_settings.modelscope;
        assert_eq!(modelscope.endpoint, "https://www.modelscope.cn");
        assert_eq!(modelscope.cache, Path::new("/h/.cache/modelscope"));
        let domain = [&chosen[..], &[("MODELSCOPE_DOMAIN", "www.modelscope.ai/")]].concat();
        assert_eq!(settings(&domain).modelscope.endpoint, "https://www.modelscope.ai");
    }
}
