//! What a file of ranks does not say: how its model splits text, and its special tokens. Both are
//! in the models' own code, so they are known here by the name that the file has there.

/// What belongs to a file of ranks.
#[derive(Debug)]
pub(super) struct Encoding {
    /// The pattern by which text is split.
    pub(super) pattern: &'static str,
    /// Whether text is composed (NFC) first.
    pub(super) composes: bool,
    pub(super) special: Special,
}

/// The tokens that no merge makes.
#[derive(Debug)]
pub(super) enum Special {
    /// These, with these ids.
    At(&'static [(&'static str, u32)]),
    /// Those of Qwen's first models, from behind the last rank on.
    Qwen,
    /// So many places behind the last rank, of which `tokenizer_config.json` names some.
    Reserved(u32),
}

/// The encoding to which a file belongs, by its name.
pub(super) fn of_file(name: &str) -> Option<&'static Encoding> {
    ENCODINGS.iter().find(|(known, _)| *known == name).map(|(_, encoding)| encoding)
}

/// Names of the files that are known.
pub(super) fn known() -> String {
    ENCODINGS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl Special {
    /// The tokens with their ids, if `count` ranks come before them.
    pub(super) fn tokens(&self, count: u32) -> Vec<(String, u32)> {
        match self {
            Self::At(tokens) => {
                tokens.iter().map(|(token, id)| ((*token).to_owned(), *id)).collect()
            }
            Self::Qwen => {
                let named = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"].map(str::to_owned);
                let extra = (0..205).map(|number| format!("<|extra_{number}|>"));
                named.into_iter().chain(extra).zip(count..).collect()
            }
            Self::Reserved(places) => {
                (count..count + places).map(|id| (format!("<|reserved_token_{id}|>"), id)).collect()
            }
        }
    }
}

const ENCODINGS: [(&str, Encoding); 7] = [
    (
        "cl100k_base.tiktoken",
        Encoding {
            pattern: THREE_DIGITS,
            composes: false,
            special: Special::At(&[
                ("<|endoftext|>", 100_257),
                ("<|fim_prefix|>", 100_258),
                ("<|fim_middle|>", 100_259),
                ("<|fim_suffix|>", 100_260),
                ("<|endofprompt|>", 100_276),
            ]),
        },
    ),
    (
        "o200k_base.tiktoken",
        Encoding {
            pattern: r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            composes: false,
            special: Special::At(&[("<|endoftext|>", 199_999), ("<|endofprompt|>", 200_018)]),
        },
    ),
    ("p50k_base.tiktoken", Encoding { pattern: GPT2, composes: false, special: GPT2_SPECIAL }),
    (
        // Qwen's first models. The pattern is also that of SGLang's JSON files.
        "qwen.tiktoken",
        Encoding { pattern: SINGLE_DIGITS, composes: true, special: Special::Qwen },
    ),
    ("r50k_base.tiktoken", Encoding { pattern: GPT2, composes: false, special: GPT2_SPECIAL }),
    (
        // Kimi.
        "tiktoken.model",
        Encoding {
            pattern: r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            composes: false,
            special: Special::Reserved(256),
        },
    ),
    (
        // What transformers takes it for; its special tokens are in tokenizer_config.json.
        "tokenizer.model",
        Encoding { pattern: THREE_DIGITS, composes: false, special: Special::At(&[]) },
    ),
];

/// The patterns in their first spelling: the library's own is faster there and means the same.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const GPT2_SPECIAL: Special = Special::At(&[("<|endoftext|>", 50_256)]);

/// Words, and every digit by itself.
pub(super) const SINGLE_DIGITS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The same with up to three digits in a row.
const THREE_DIGITS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
