//! Texts in the exposition format whose numbers change, as a busy server writes them.

use std::fmt::Write as _;

/// Returns a text of which `changing` percent of the numbers, spread evenly over the text, rise from
/// one version to the next.
pub fn versions(text: &str, changing: u32) -> Vec<String> {
    let risen = |version: u32| {
        let mut risen = String::with_capacity(text.len() + text.len() / 4);
        // Whole hundreds are numbers that change.
        let mut percent = 0;
        for line in text.lines() {
            let number = line.rsplit_once(' ').filter(|_| !line.starts_with('#'));
            let number = number.and_then(|(name, value)| Some((name, value.parse::<f64>().ok()?)));
            percent += if number.is_some() { changing } else { 0 };
            let number = number.filter(|_| percent >= 100);
            percent %= 100;
            // Writing to a `String` cannot fail.
            let _ = match number {
                Some((name, value)) => writeln!(risen, "{name} {}", value + f64::from(version)),
                None => writeln!(risen, "{line}"),
            };
        }
        risen
    };
    (0..VERSIONS).map(risen).collect()
}

const VERSIONS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_numbers_changes() {
        let text = "# TYPE a gauge\na 1\nb 2\nc 3\nd 4\n";
        let changed = |changing: u32| {
            let versions = versions(text, changing);
            let lines = versions[1].lines().zip(versions[2].lines());
            lines.filter(|(one, other)| one != other).count()
        };
        assert_eq!([0, 25, 50, 100].map(changed), [0, 1, 2, 4]);
    }
}
