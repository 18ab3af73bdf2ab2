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

/// Returns the lines with these names and what describes them, as Python's library for Prometheus
/// writes them on request.
pub fn with_names(text: &str, names: &[&str]) -> String {
    let (mut kept, mut description) = (String::new(), String::new());
    for line in text.split_inclusive('\n') {
        if line.starts_with("# HELP") {
            description.clear();
        }
        if line.starts_with('#') {
            description.push_str(line);
        } else if names.contains(&line.split(['{', ' ']).next().unwrap_or(line)) {
            kept.push_str(&std::mem::take(&mut description));
            kept.push_str(line);
        }
    }
    kept
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

    #[test]
    fn lines_are_kept_by_their_names() {
        let text = "# HELP a x\n# TYPE a counter\na_total{q=\"1\"} 1\na_total{q=\"2\"} 1\na_created 2\n\
                    # HELP b y\nb 3\n# HELP c z\nc 4\n";
        let kept = "# HELP a x\n# TYPE a counter\na_total{q=\"1\"} 1\na_total{q=\"2\"} 1\n# HELP c z\nc 4\n";
        assert_eq!(with_names(text, &["c", "a_total", "d"]), kept);
    }
}
