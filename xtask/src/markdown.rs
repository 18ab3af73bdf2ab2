//! Lines of documents in Markdown.

/// Adds to each line whether it belongs to a block of code. The fences around a block belong to it.
pub(crate) fn with_code<'a>(
    lines: impl Iterator<Item = &'a str>,
) -> impl Iterator<Item = (&'a str, bool)> {
    let mut in_block = false;
    lines.map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_block ^= is_fence;
        (line, in_block || is_fence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_belong_to_their_block() {
        let text = "a\n```sh\nb\n  ```\nc";
        let code: Vec<bool> = with_code(text.lines()).map(|(_, is_code)| is_code).collect();
        assert_eq!(code, [false, true, true, true, false]);
    }
}
