//! Where the data sets are that a benchmark takes when it is given no file.

/// A file of a data set.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum DatasetSource {
    /// A file of a data set on the hub.
    Hub {
        /// `owner/name`.
        repository: String,
        /// The file's path in it.
        file: String,
    },
    /// Several files of a data set on the hub.
    Files {
        /// `owner/name`.
        repository: String,
        /// Their paths in it.
        files: Vec<String>,
    },
    /// A file of a data set on ModelScope.
    ModelScope {
        /// `owner/name`.
        repository: String,
        /// The file's path in it.
        file: String,
    },
    /// The rows of a data set on the hub, as the tables of parquet that the hub makes of each.
    Table {
        /// `owner/name`.
        repository: String,
        /// Which subset, where it has several.
        subset: Option<String>,
        /// Which split.
        split: String,
    },
    /// A file at an address of its own.
    Web {
        /// The address.
        url: String,
    },
}

impl DatasetSource {
    /// A file of a data set on the hub.
    pub fn hub(repository: impl Into<String>, file: impl Into<String>) -> Self {
        Self::Hub { repository: repository.into(), file: file.into() }
    }

    /// A file at an address of its own.
    pub fn web(url: impl Into<String>) -> Self {
        Self::Web { url: url.into() }
    }

    /// Where the data set is published, in words: `the hub`, `ModelScope`, `GitHub` or a host's name.
    ///
    /// ```
    /// use servemark_hub::DatasetSource;
    ///
    /// let place = |name| DatasetSource::of(name).unwrap().place();
    /// assert_eq!(place("sharegpt"), "the hub");
    /// assert_eq!(place("mooncake/toolagent"), "GitHub");
    /// assert_eq!(place("modelscope/openqa"), "ModelScope");
    /// ```
    pub fn place(&self) -> String {
        match self {
            Self::Files { .. } | Self::Hub { .. } | Self::Table { .. } => HUGGING_FACE.to_owned(),
            Self::ModelScope { .. } => MODEL_SCOPE.to_owned(),
            Self::Web { url } => host(url),
        }
    }

    /// What SGLang 0.5.23 or evalscope 1.14.1 downloads for a data set, by the name that it has
    /// there; for `mooncake` by that of its workload. What evalscope has from ModelScope begins with
    /// `modelscope/`.
    ///
    /// ```
    /// use servemark_hub::DatasetSource;
    ///
    /// assert!(DatasetSource::of("sharegpt").is_some());
    /// assert!(DatasetSource::of("mooncake/toolagent").is_some());
    /// assert!(DatasetSource::of("custom").is_none());
    /// ```
    pub fn of(dataset: &str) -> Option<Self> {
        if let Some((_, repository, split)) = TABLES.iter().find(|(name, ..)| *name == dataset) {
            let (repository, split) = ((*repository).to_owned(), (*split).to_owned());
            return Some(Self::Table { repository, subset: None, split });
        }
        if let Some((_, repository, file)) = MODELSCOPE.iter().find(|(name, ..)| *name == dataset) {
            let (repository, file) = ((*repository).to_owned(), (*file).to_owned());
            return Some(Self::ModelScope { repository, file });
        }
        let (_, repository, file) = HUB.iter().find(|(name, ..)| *name == dataset).copied()?;
        Some(if repository.contains("://") {
            Self::web(format!("{repository}/{file}"))
        } else {
            Self::hub(repository, file)
        })
    }
}

/// The host of an address, by the name that people know it by.
pub(crate) fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    match rest.split('/').next().unwrap_or_default() {
        "github.com" => "GitHub".to_owned(),
        host => host.to_owned(),
    }
}

/// What errors and news call Hugging Face's hub, or the one that `HF_ENDPOINT` names.
pub(crate) const HUGGING_FACE: &str = "the hub";
/// What errors and news call ModelScope.
pub(crate) const MODEL_SCOPE: &str = "ModelScope";

/// Each data set, where it is, and its file there.
const HUB: &[(&str, &str, &str)] = &[
    ("evalscope/longalpaca", "Yukang/LongAlpaca-12k", "LongAlpaca-12k.json"),
    ("evalscope/openqa", "Hello-SimpleAI/HC3-Chinese", "open_qa.jsonl"),
    ("evalscope/share_gpt_en", SHAREGPT_90K, "sharegpt_jsonl/common_en_70k.jsonl"),
    ("evalscope/share_gpt_zh", SHAREGPT_90K, "sharegpt_jsonl/common_zh_70k.jsonl"),
    ("evalscope/trie_agentic_coding", TRIE, "agentic_coding_8k.jsonl"),
    ("evalscope/trie_code_qa", TRIE, "code_qa_8k.jsonl"),
    ("evalscope/trie_office_work", TRIE, "office_work_8k.jsonl"),
    ("longbench_v2", "THUDM/LongBench-v2", "data.json"),
    ("mmmu", "MMMU/MMMU", "Math/test-00000-of-00001.parquet"),
    ("mooncake/conversation", MOONCAKE, "traces/conversation_trace.jsonl"),
    ("mooncake/mooncake", MOONCAKE, "arxiv-trace/mooncake_trace.jsonl"),
    ("mooncake/synthetic", MOONCAKE, "traces/synthetic_trace.jsonl"),
    ("mooncake/toolagent", MOONCAKE, "traces/toolagent_trace.jsonl"),
    ("random", SHAREGPT, SHAREGPT_FILE),
    ("sharegpt", SHAREGPT, SHAREGPT_FILE),
];

/// Each data set on ModelScope, where it is, and its file there.
const MODELSCOPE: &[(&str, &str, &str)] = &[
    ("modelscope/longalpaca", "AI-ModelScope/LongAlpaca-12k", "LongAlpaca-12k.json"),
    ("modelscope/openqa", "AI-ModelScope/HC3-Chinese", "open_qa.jsonl"),
    ("modelscope/share_gpt_en", "swift/sharegpt", "common_en_70k.jsonl"),
    ("modelscope/share_gpt_zh", "swift/sharegpt", "common_zh_70k.jsonl"),
    ("modelscope/trie_agentic_coding", TRIE, "agentic_coding_8k.jsonl"),
    ("modelscope/trie_code_qa", TRIE, "code_qa_8k.jsonl"),
    ("modelscope/trie_office_work", TRIE, "office_work_8k.jsonl"),
];

/// Each data set of tables, where it is, and its split.
const TABLES: &[(&str, &str, &str)] = &[
    ("evalscope/flickr8k", "clip-benchmark/wds_flickr8k", "test"),
    ("evalscope/kontext_bench", "black-forest-labs/kontext-bench", "test"),
    ("evalscope/swe_smith", "SWE-bench/SWE-smith-trajectories", "tool"),
];

const SHAREGPT_90K: &str = "shareAI/ShareGPT-Chinese-English-90k";
const TRIE: &str = "evalscope/trie-workloads";
const SHAREGPT: &str = "anon8231489123/ShareGPT_Vicuna_unfiltered";
const SHAREGPT_FILE: &str = "ShareGPT_V3_unfiltered_cleaned_split.json";

/// The address under which big files are found, too; the one of raw files answers with pointers to
/// them.
const MOONCAKE: &str = "https://github.com/kvcache-ai/Mooncake/raw/main/FAST25-release";
