//! Parses `--random-mm-bucket-config`, a dictionary as Python writes it.

use crate::python::repr;

/// Shares of the sizes of pictures and videos, in the order of the command line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Buckets(pub(super) Vec<(ItemSize, f64)>);

/// Height, width and frames; a picture has one.
pub(super) type ItemSize = [i64; 3];

/// Reads `{(256, 256, 1): 0.5, "(720, 1280, 1)": 0.5}`; the message is argparse's.
pub(super) fn parse_buckets(text: &str) -> Result<Buckets, String> {
    let message = || format!("invalid _parse_mm_bucket_config value: {}", repr(text));
    buckets(text).ok_or_else(message)
}

fn buckets(text: &str) -> Option<Buckets> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let mut buckets: Vec<(ItemSize, f64)> = Vec::new();
    while !rest.is_empty() {
        let (size, behind) = size_ahead(rest)?;
        let behind = behind.trim_start().strip_prefix(':')?;
        let (share, next) = behind.split_once(',').unwrap_or((behind, ""));
        let share = share.trim().parse().ok()?;
        match buckets.iter_mut().find(|(known, _)| *known == size) {
            Some(known) => known.1 = share,
            None => buckets.push((size, share)),
        }
        rest = next.trim();
    }
    Some(Buckets(buckets))
}

/// Parses a size, quoted or not, at the beginning of a text. Returns it with the rest of the text.
fn size_ahead(text: &str) -> Option<(ItemSize, &str)> {
    let quoted = ['"', '\''].into_iter().find_map(|quote| Some((quote, text.strip_prefix(quote)?)));
    let (inner, behind) = match quoted {
        Some((quote, rest)) => rest.split_once(quote)?,
        None => text.split_at(text.find(')')? + 1),
    };
    Some((size(inner)?, behind))
}

fn size(text: &str) -> Option<ItemSize> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    let numbers = inner.split(',').map(|number| number.trim().parse().ok());
    numbers.collect::<Option<Vec<i64>>>()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_tuples_in_quotes_or_not() {
        let text = r#" {(1, 2, 3): 0.25,"(4,5,6)" : 1 , '( 7, 8, 9 )': .5, (1,2,3): 1e-1,} "#;
        let expected = vec![([1, 2, 3], 0.1), ([4, 5, 6], 1.0), ([7, 8, 9], 0.5)];
        assert_eq!(parse_buckets(text), Ok(Buckets(expected)));
        assert_eq!(parse_buckets("{}"), Ok(Buckets(Vec::new())));
    }

    #[test]
    fn anything_else_is_refused_in_argparses_words() {
        for text in ["", "{(1, 2): 1}", "{(1, 2, 3)}", "{(1, 2, x): 1}", "[1]", "{(1, 2, 3: 1}"] {
            let message = format!("invalid _parse_mm_bucket_config value: {}", repr(text));
            assert_eq!(parse_buckets(text), Err(message));
        }
    }
}
