//! The published data sets that vLLM supports, by name on the hub.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::SpecError;

/// A data set on the hub that vLLM supports.
///
/// ```
/// use servemark_datasets::HubDataset;
///
/// let known: HubDataset = "openai/gsm8k".parse()?;
/// assert_eq!((known.split(), known.subset()), (Some("test"), Some("main")));
/// assert!("openai/gsm9k".parse::<HubDataset>().is_err());
/// # Ok::<(), servemark_datasets::SpecError>(())
/// ```
#[derive(Clone, Copy, Deserialize, Eq, PartialEq, Serialize)]
#[serde(into = "String", try_from = "String")]
pub struct HubDataset(&'static Entry);

/// Properties of a supported data set.
#[derive(Debug, Eq, PartialEq)]
struct Entry {
    name: &'static str,
    kind: Kind,
}

/// How a data set's rows become requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Aimo,
    Bfcl,
    Blazedit,
    Conversation,
    Gsm8k,
    HumanEval,
    InstructCoder,
    MlPerf,
    MmStar,
    Mmvu,
    MtBench,
    PicturedConversation,
    Speech,
    VisionArenaBench,
    VisionArenaChat,
    Zeta,
}

impl HubDataset {
    /// Returns all supported data sets, sorted by name.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(Self)
    }

    /// Returns the name on the hub.
    pub const fn as_str(self) -> &'static str {
        self.0.name
    }

    /// Returns the split that is read by default, or `None` if the user must name one.
    pub const fn split(self) -> Option<&'static str> {
        match self.0.kind {
            Kind::Conversation | Kind::PicturedConversation => None,
            Kind::Mmvu => Some("validation"),
            Kind::HumanEval | Kind::Gsm8k => Some("test"),
            Kind::MmStar => Some("val"),
            _ => Some("train"),
        }
    }

    /// Returns the subset that is read by default.
    pub const fn subset(self) -> Option<&'static str> {
        match self.0.kind {
            Kind::Gsm8k => Some("main"),
            _ => None,
        }
    }

    /// Returns whether a subset is ignored for this data set.
    pub const fn is_undivided(self) -> bool {
        let kind = self.0.kind;
        matches!(
            kind,
            Kind::Bfcl | Kind::MmStar | Kind::Mmvu | Kind::VisionArenaBench | Kind::VisionArenaChat
        )
    }

    /// Returns whether requests have images, videos or audio.
    pub const fn is_multimodal(self) -> bool {
        matches!(
            self.0.kind,
            Kind::MmStar
                | Kind::Mmvu
                | Kind::PicturedConversation
                | Kind::Speech
                | Kind::VisionArenaBench
                | Kind::VisionArenaChat
        )
    }

    /// Returns whether requests have audio.
    pub const fn is_audio(self) -> bool {
        matches!(self.0.kind, Kind::Speech)
    }

    /// Returns whether requests call tools, which requires a chat route.
    pub const fn calls_tools(self) -> bool {
        matches!(self.0.kind, Kind::Bfcl)
    }

    /// Returns whether vLLM recognizes the data set by its path only, so that `--hf-name` cannot
    /// assign it to a folder.
    pub const fn needs_its_path(self) -> bool {
        matches!(self.0.kind, Kind::Blazedit)
    }

    /// Returns how rows become requests.
    pub(super) const fn kind(self) -> Kind {
        self.0.kind
    }
}

impl Kind {
    /// Returns the columns that are read.
    pub(super) const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Aimo => &["problem", "solution"],
            Self::Bfcl => &["question", "function"],
            Self::Blazedit => &["code", "change_request", "norm_distance"],
            Self::Conversation | Self::PicturedConversation => &["conversations", "image"],
            Self::Gsm8k => &["question"],
            Self::HumanEval => &["prompt"],
            Self::InstructCoder => &["input", "instruction"],
            Self::MlPerf => &["system_prompt", "question", "output"],
            Self::MmStar => &["question", "image"],
            Self::Mmvu => &["question", "choices", "video"],
            Self::MtBench => &["turns"],
            Self::Speech => &["audio", "url"],
            Self::VisionArenaBench => &["turns", "images"],
            Self::VisionArenaChat => &["conversation", "images"],
            Self::Zeta => &["events", "input", "output"],
        }
    }

    /// Returns the default output length in tokens, or `None` if each row determines it.
    pub(super) const fn output_tokens(self) -> Option<u32> {
        match self {
            Self::Aimo
            | Self::Conversation
            | Self::MlPerf
            | Self::PicturedConversation
            | Self::Zeta => None,
            Self::Bfcl => Some(512),
            Self::Blazedit => Some(4000),
            Self::Gsm8k | Self::HumanEval | Self::MtBench => Some(256),
            Self::InstructCoder => Some(200),
            Self::MmStar | Self::Mmvu | Self::VisionArenaBench | Self::VisionArenaChat => Some(128),
            Self::Speech => Some(1024),
        }
    }
}

impl fmt::Debug for HubDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HubDataset").field(&self.0.name).finish()
    }
}

impl fmt::Display for HubDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.name)
    }
}

impl FromStr for HubDataset {
    type Err = SpecError;

    fn from_str(name: &str) -> Result<Self, SpecError> {
        let found = Self::all().find(|known| known.as_str() == name);
        found.ok_or_else(|| SpecError::UnknownName {
            name: name.to_owned(),
            known: Self::all().map(Self::as_str).collect::<Vec<_>>().join(", "),
        })
    }
}

impl TryFrom<String> for HubDataset {
    type Error = SpecError;

    fn try_from(name: String) -> Result<Self, SpecError> {
        name.parse()
    }
}

impl From<HubDataset> for String {
    fn from(known: HubDataset) -> Self {
        known.as_str().to_owned()
    }
}

const fn entry(name: &'static str, kind: Kind) -> Entry {
    Entry { name, kind }
}

static TABLE: [Entry; 27] = [
    entry("AI-MO/NuminaMath-1.5", Kind::Aimo),
    entry("AI-MO/NuminaMath-CoT", Kind::Aimo),
    entry("AI-MO/aimo-validation-aime", Kind::Aimo),
    entry("Aeala/ShareGPT_Vicuna_unfiltered", Kind::Conversation),
    entry("ArtificialAnalysis/Earnings22-Cleaned-AA", Kind::Speech),
    entry("D4nt3/esb-datasets-earnings22-validation-tiny-filtered", Kind::Speech),
    entry("LIUM/tedlium", Kind::Speech),
    entry("Lin-Chen/MMStar", Kind::MmStar),
    entry("edinburghcstr/ami", Kind::Speech),
    entry("facebook/voxpopuli", Kind::Speech),
    entry("gorilla-llm/Berkeley-Function-Calling-Leaderboard", Kind::Bfcl),
    entry("kensho/spgispeech", Kind::Speech),
    entry("likaixin/InstructCoder", Kind::InstructCoder),
    entry("lmarena-ai/VisionArena-Chat", Kind::VisionArenaChat),
    entry("lmarena-ai/vision-arena-bench-v0.1", Kind::VisionArenaBench),
    entry("lmms-lab/LLaVA-OneVision-Data", Kind::PicturedConversation),
    entry("mgoin/mlperf-inference-llama2-data", Kind::MlPerf),
    entry("mgoin/mlperf-inference-llama3.1-data", Kind::MlPerf),
    entry("openai/gsm8k", Kind::Gsm8k),
    entry("openai/openai_humaneval", Kind::HumanEval),
    entry("openslr/librispeech_asr", Kind::Speech),
    entry("philschmid/mt-bench", Kind::MtBench),
    entry("speechcolab/gigaspeech", Kind::Speech),
    entry("vdaita/edit_10k_char", Kind::Blazedit),
    entry("vdaita/edit_5k_char", Kind::Blazedit),
    entry("yale-nlp/MMVU", Kind::Mmvu),
    entry("zed-industries/zeta", Kind::Zeta),
];
