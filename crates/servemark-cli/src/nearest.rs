//! Texts about known names: their list, and the one that was most likely meant by an unknown name.

/// Returns `; did you mean NAME?` with the nearest of the known names, or nothing if none is near.
pub(crate) fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, known).map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

/// Joins values by commas, and the last one by the word `last`: `a, b or c`.
pub(crate) fn listed(values: &[&str], last: &str) -> String {
    match values {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., end] => format!("{} {last} {end}", most.join(", ")),
    }
}

/// Returns the known name that differs least from `given`, if it is similar enough to be meant.
/// Case, leading dashes and the choice between dash and underscore do not count. A name that
/// begins with `given` is similar if `given` has four characters or more.
pub(crate) fn nearest<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let given = plain(given);
    let scored = known.into_iter().map(|name| (similarity(&given, &plain(name)), name));
    let similar = scored.filter(|(similarity, _)| *similarity > LEAST);
    // Of names that are equally similar the first is taken, and `max_by` returns the last.
    let best = similar.fold(None, |best: Option<(f64, &str)>, next| match best {
        Some(best) if best.0 >= next.0 => Some(best),
        _ => Some(next),
    });
    best.map(|(_, name)| name)
}

fn plain(name: &str) -> String {
    name.trim_start_matches('-').to_lowercase().replace('_', "-")
}

fn similarity(given: &str, name: &str) -> f64 {
    let begins = given.chars().count() >= SHORTEST_BEGINNING && name.starts_with(given);
    let similarity = strsim::normalized_damerau_levenshtein(given, name);
    if begins { similarity.max(OF_A_BEGINNING) } else { similarity }
}

/// Similarity, from 0 to 1, above which a name is suggested. A name with one error in four letters,
/// or with two in seven, is suggested.
const LEAST: f64 = 0.7;
/// Similarity of a name to its beginning, however much is missing. A name of five or more letters
/// with one wrong letter is more similar.
const OF_A_BEGINNING: f64 = 0.75;
/// Minimum number of characters of a beginning that counts as similar to its name.
const SHORTEST_BEGINNING: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: [&str; 5] =
        ["--seed", "--request-rate", "--ramp-up-start-rps", "--num-prompts", "--goodput"];

    #[track_caller]
    fn check(given: &str, expected: Option<&str>) {
        assert_eq!(nearest(given, FLAGS), expected, "{given}");
    }

    #[test]
    fn the_name_with_the_fewest_errors_is_meant() {
        check("--reqest-rate", Some("--request-rate"));
        check("--rate-request", None);
        check("--NUM_PROMTPS", Some("--num-prompts"));
        check("--sead", Some("--seed"));
        check("--good", Some("--goodput"));
        check("--goo", None);
        check("--nonsense", None);
    }

    #[test]
    fn the_first_of_equally_similar_names_is_meant() {
        assert_eq!(nearest("jxeg", ["jpeg", "jfeg"]), Some("jpeg"));
    }

    #[test]
    fn a_suggestion_is_a_question() {
        assert_eq!(did_you_mean("--goodputs", FLAGS), "; did you mean --goodput?");
        assert_eq!(did_you_mean("", FLAGS), "");
    }
}
