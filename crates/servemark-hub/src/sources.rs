//! The default sources of data sets, for runs without a file.

/// The source of a data set.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum DatasetSource {
    /// A file of a data set on the hub.
    Hub {
        /// The repository, `owner/name`.
        repository: String,
        /// The file's path in the repository.
        file: String,
    },
    /// Several files of a data set on the hub.
    Files {
        /// The repository, `owner/name`.
        repository: String,
        /// The files' paths in the repository.
        files: Vec<String>,
    },
    /// A file of a data set on ModelScope.
    ModelScope {
        /// The repository, `owner/name`.
        repository: String,
        /// The file's path in the repository.
        file: String,
    },
    /// The rows of a data set on the hub, in the Parquet tables that the hub generates for every
    /// data set.
    Table {
        /// The repository, `owner/name`.
        repository: String,
        /// The subset; if absent, the only one or the one named `default`.
        subset: Option<String>,
        /// The split.
        split: String,
    },
    /// A file at a URL outside the hubs.
    Web {
        /// URL of the file.
        url: String,
    },
}

impl DatasetSource {
    /// Returns the source of a file in a data set on the hub.
    pub fn hub(repository: impl Into<String>, file: impl Into<String>) -> Self {
        Self::Hub { repository: repository.into(), file: file.into() }
    }

    /// Returns the source of a file at a URL outside the hubs.
    pub fn web(url: impl Into<String>) -> Self {
        Self::Web { url: url.into() }
    }

    /// Returns where the data set is published, in words: `the hub`, `ModelScope`, `GitHub` or a
    /// host's name.
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

    /// Returns the source from which SGLang 0.5.23 or evalscope 1.14.1 downloads a data set, by its
    /// name in Servemark: for `mooncake` with the workload, for evalscope's with the prefix
    /// `evalscope/`, or `modelscope/` for those that evalscope downloads from ModelScope.
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

/// Returns the host of a URL, by its common name if it has one.
pub(crate) fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    match rest.split('/').next().unwrap_or_default() {
        "github.com" => "GitHub".to_owned(),
        host => host.to_owned(),
    }
}

/// The name of Hugging Face's hub, or of the one set by `HF_ENDPOINT`, in messages.
pub(crate) const HUGGING_FACE: &str = "the hub";
/// The name of ModelScope in messages.
pub(crate) const MODEL_SCOPE: &str = "ModelScope";

/// Data sets on the hub or at a URL: name, repository or base URL, and file.
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

/// Data sets on ModelScope: name, repository and file.
const MODELSCOPE: &[(&str, &str, &str)] = &[
    ("modelscope/longalpaca", "AI-ModelScope/LongAlpaca-12k", "LongAlpaca-12k.json"),
    ("modelscope/openqa", "AI-ModelScope/HC3-Chinese", "open_qa.jsonl"),
    ("modelscope/share_gpt_en", "swift/sharegpt", "common_en_70k.jsonl"),
    ("modelscope/share_gpt_zh", "swift/sharegpt", "common_zh_70k.jsonl"),
    ("modelscope/trie_agentic_coding", TRIE, "agentic_coding_8k.jsonl"),
    ("modelscope/trie_code_qa", TRIE, "code_qa_8k.jsonl"),
    ("modelscope/trie_office_work", TRIE, "office_work_8k.jsonl"),
];

/// Data sets in tables: name, repository and split.
const TABLES: &[(&str, &str, &str)] = &[
    ("evalscope/flickr8k", "clip-benchmark/wds_flickr8k", "test"),
    ("evalscope/kontext_bench", "black-forest-labs/kontext-bench", "test"),
    ("evalscope/swe_smith", "SWE-bench/SWE-smith-trajectories", "tool"),
];

const SHAREGPT_90K: &str = "shareAI/ShareGPT-Chinese-English-90k";
const TRIE: &str = "evalscope/trie-workloads";
const SHAREGPT: &str = "anon8231489123/ShareGPT_Vicuna_unfiltered";
const SHAREGPT_FILE: &str = "ShareGPT_V3_unfiltered_cleaned_split.json";

/// The base URL that serves large files, too; GitHub's host for raw files returns only pointers to
/// them.
const MOONCAKE: &str = "https://github.com/kvcache-ai/Mooncake/raw/main/FAST25-release";
