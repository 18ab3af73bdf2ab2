//! Selects the files of a model that make up its tokenizer.

/// Returns the files of a model's tokenizer; empty if the model has none.
pub(crate) fn tokenizer_files<'a>(files: &[&'a str]) -> Vec<&'a str> {
    let is_whole = files.contains(&WHOLE);
    if !files.iter().any(|file| is_vocabulary(file)) {
        return Vec::new();
    }
    let is_wanted = |file: &&&str| {
        COMPANIONS.contains(*file)
            || is_vocabulary(file) && (!is_whole || [WHOLE, MISTRALS].contains(*file))
    };
    files.iter().filter(is_wanted).copied().collect()
}

/// Whether a file defines the tokens, alone or with its companions.
fn is_vocabulary(file: &str) -> bool {
    VOCABULARIES.contains(&file) || file.ends_with(".tiktoken") && !file.contains('/')
}

/// If `tokenizer.json` exists, no other vocabulary is needed except Mistral's own, which can be
/// selected.
const WHOLE: &str = "tokenizer.json";
const MISTRALS: &str = "tekken.json";

const VOCABULARIES: [&str; 4] = [WHOLE, MISTRALS, "tokenizer.model", "vocab.json"];

/// Small files with further settings; the last of them is also needed by the Python tools.
const COMPANIONS: [&str; 9] = [
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "merges.txt",
    "preprocessor_config.json",
    "processor_config.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
    "config.json",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_files(files: &[&str], expected: &[&str]) {
        assert_eq!(tokenizer_files(files), expected);
    }

    #[test]
    fn no_weights_and_no_second_vocabulary() {
        check_files(
            &["README.md", "model.safetensors", "tokenizer.json", "tokenizer.model", "merges.txt"],
            &["tokenizer.json", "merges.txt"],
        );
        check_files(
            &["tokenizer.json", "tekken.json", "tokenizer.model"],
            &["tokenizer.json", "tekken.json"],
        );
        check_files(
            &["qwen.tiktoken", "tokenizer_config.json"],
            &["qwen.tiktoken", "tokenizer_config.json"],
        );
    }

    #[test]
    fn without_a_vocabulary_nothing_is_wanted() {
        check_files(&["tokenizer_config.json", "original/tokenizer.tiktoken"], &[]);
    }
}
