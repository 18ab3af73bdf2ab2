//! Facts that a file of ranks does not contain: how its model splits text, and its special tokens.
//! Models define them in their own code, so they are listed here by the name of the model's file.

/// The properties of a tokenizer that its file of ranks does not contain.
#[derive(Debug)]
pub(super) struct Encoding {
    /// The pattern by which text is split.
    pub(super) pattern: &'static str,
    /// Whether text is normalized to NFC first.
    pub(super) composes: bool,
    pub(super) special: Special,
}

/// The tokens that no merge produces.
#[derive(Debug)]
pub(super) enum Special {
    /// These tokens, with these ids.
    At(&'static [(&'static str, u32)]),
    /// The tokens of Qwen's first models, numbered after the last rank.
    Qwen,
    /// This number of ids after the last rank; `tokenizer_config.json` names some of them.
    Reserved(u32),
}

/// Returns the encoding of a file by the file's name.
pub(super) fn of_file(name: &str) -> Option<&'static Encoding> {
    ENCODINGS.iter().find(|(known, _)| *known == name).map(|(_, encoding)| encoding)
}

/// Returns the names of the known files.
pub(super) fn file_names() -> String {
    ENCODINGS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl Special {
    /// Returns the tokens with their ids; the first free id is `count`.
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
        // Kimi's models.
        "tiktoken.model",
        Encoding {
            pattern: r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            composes: false,
            special: Special::Reserved(256),
        },
    ),
    (
        // The encoding that transformers assumes; the special tokens are in tokenizer_config.json.
        "tokenizer.model",
        Encoding { pattern: THREE_DIGITS, composes: false, special: Special::At(&[]) },
    ),
];

/// GPT-2's pattern in its original spelling, which the library matches faster than newer,
/// equivalent ones.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
const GPT2_SPECIAL: Special = Special::At(&[("<|endoftext|>", 50_256)]);

/// A pattern that splits text into words and single digits.
pub(super) const SINGLE_DIGITS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// A pattern that splits text into words and groups of up to three digits.
const THREE_DIGITS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
