//! The tag with which templates mark the model's own text: `{% generation %}`.
//!
//! transformers uses it to find the tokens to train on; its text is that of the block. The engine
//! supports only its own tags, so this tag becomes `with`, a block that also limits the scope of
//! variables set inside it.

/// Replaces the tag with a block that the engine supports.
pub(crate) fn plain(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let (before, inside) = rest.split_at(start + 2);
        let Some(length) = inside.find("%}") else { break };
        let (tag, behind) = inside.split_at(length);
        plain.push_str(before);
        plain.push_str(&replaced(tag));
        rest = behind;
    }
    plain + rest
}

/// Replaces the word of a tag, given without delimiters but with its whitespace control.
fn replaced(tag: &str) -> String {
    let word = tag.trim_matches(|sign: char| sign.is_whitespace() || sign == '-' || sign == '+');
    match word {
        "generation" => tag.replace(word, "with"),
        "endgeneration" => tag.replace(word, "endwith"),
        _ => tag.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(source: &str, expected: &str) {
        assert_eq!(plain(source), expected);
    }

    #[test]
    fn only_the_tag_is_replaced() {
        becomes("{%- generation -%}a{% endgeneration %}", "{%- with -%}a{% endwith %}");
        becomes(
            "{% if add_generation_prompt %}generation{% endif %}",
            "{% if add_generation_prompt %}generation{% endif %}",
        );
        becomes("{{ generation }}{% generation", "{{ generation }}{% generation");
        becomes("{%}", "{%}");
        becomes("{%} {% generation %}", "{%} {% generation %}");
    }
}
