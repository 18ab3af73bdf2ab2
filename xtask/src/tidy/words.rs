//! Refuses doc comments that do not stand alone, and figurative names and phrases.
//!
//! A doc comment is read in an editor's hover box, without the line above it. It names components
//! and numbers, and has more than one word. Ordinary comments and documents name them, too.

use std::collections::BTreeMap;
use std::path::Path;

use crate::markdown;

/// Phrases that stand for the name of a component or of a number.
const VAGUE: &[&str] =
    &["nobody", "somebody", "anybody", "everybody", "whoever", "so many", "so much", "how-manieth"];

/// First words of a doc comment that asks a question in place of saying what a function does.
const QUESTIONS: &[&str] = &["How", "What", "Who"];

/// Names of functions and modules that stand for something else than what they do or hold: a
/// metaphor, or a participle that does not say what is returned.
const FIGURATIVE_FUNCTIONS: &[&str] = &[
    "asked",
    "asks",
    "begun",
    "brought",
    "complain",
    "counted",
    "done",
    "drawn",
    "finds",
    "fly",
    "found",
    "furnish",
    "given",
    "gone",
    "greet",
    "hear",
    "heard",
    "held",
    "holds",
    "kept",
    "known",
    "land",
    "left",
    "lent",
    "lift",
    "made",
    "meant",
    "named",
    "overhear",
    "overheard",
    "pass_over",
    "perform",
    "restock",
    "said",
    "say",
    "says",
    "season",
    "seat",
    "seen",
    "sees",
    "settled",
    "shown",
    "shows",
    "spoken",
    "taken",
    "takes",
    "tell",
    "tells",
    "told",
    "wanted",
    "wants",
    "written",
];

/// Names of items that stand for something else than what the item is.
const FIGURATIVE: &[&str] = &[
    "Airborne",
    "Anybody",
    "Asked",
    "Audience",
    "Author",
    "Begun",
    "Clerk",
    "Correspondent",
    "Counted",
    "Departure",
    "Desk",
    "Done",
    "Drawn",
    "Ear",
    "Ended",
    "Flight",
    "Found",
    "Given",
    "Growth",
    "Heard",
    "House",
    "Journal",
    "Kept",
    "Knob",
    "Left",
    "Lift",
    "Made",
    "Meant",
    "News",
    "Orders",
    "Parlour",
    "Places",
    "Prose",
    "Room",
    "Said",
    "Salt",
    "Scissors",
    "Seen",
    "Sent",
    "Settled",
    "Shelf",
    "Shop",
    "Shown",
    "Site",
    "Standing",
    "Taken",
    "Told",
    "Undertaking",
    "Used",
    "Wanted",
    "Worth",
    "Written",
    "Yardstick",
];

/// Names of which the workspace has one item at most: each once stood for many things.
const ONCE: &[&str] = &["Answer", "Part", "Place", "Prepared", "Source", "Stage", "Turn"];

/// Returns the items that share a name of [`ONCE`], given each file's path and text.
pub(super) fn repeated<'a>(files: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in files {
        // Associated types are indented: a trait gives them their names.
        let is_own = |line: &usize| !text.lines().nth(line - 1).unwrap_or("").starts_with(' ');
        for (line, name) in item_names(text).filter(|(line, _)| is_own(line)) {
            if let Some(name) = ONCE.iter().find(|known| **known == name) {
                places.entry(name).or_default().push(format!("{}:{line}", path.display()));
            }
        }
    }
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
    repeated
        .map(|(name, places)| format!("{name} names several items: {}", places.join(", ")))
        .collect()
}

/// A doc comment: its lines without the marker, and the one-based number of the first.
struct DocComment<'a> {
    line: usize,
    lines: Vec<&'a str>,
}

/// Returns the faults of a crate's doc comments, given each file's path and text.
pub(super) fn faults<'a>(files: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in files {
        let comments = doc_comments(text).into_iter();
        let faults = comments.filter_map(|comment| Some((comment.line, fault(&comment)?)));
        let faults = faults.chain(figurative_names(text)).chain(vague_names(text));
        let faults = faults.chain(vague_comments(text)).chain(questions(text));
        found.extend(faults.map(|(line, fault)| format!("{}:{line}: {fault}", path.display())));
    }
    found
}

/// Returns the lines of a document that name no component or number, given its path and text.
pub(super) fn document_faults(path: &Path, text: &str) -> Vec<String> {
    let place = |(line, fault)| format!("{}:{line}: {fault}", path.display());
    vague_lines(text, Some).map(place).collect()
}

/// Returns the ordinary comments that name no component or number, each with its one-based line.
fn vague_comments(text: &str) -> impl Iterator<Item = (usize, String)> {
    vague_lines(text, |line| {
        let comment = line.trim_start().strip_prefix("//")?;
        (!comment.starts_with(['/', '!'])).then_some(comment)
    })
}

/// Returns the vague phrases in the prose that `prose_of` finds in a line, with one-based lines.
fn vague_lines<'a>(
    text: &'a str,
    prose_of: impl Fn(&'a str) -> Option<&'a str>,
) -> impl Iterator<Item = (usize, String)> {
    (1..).zip(text.lines()).filter_map(move |(number, line)| {
        let prose = prose_of(line)?.to_lowercase();
        let phrase = VAGUE.iter().find(|phrase| has_phrase(&prose, phrase))?;
        Some((number, format!("\"{phrase}\": name the component or the number")))
    })
}

/// Returns the items whose names are figurative, each with its one-based line.
fn figurative_names(text: &str) -> impl Iterator<Item = (usize, String)> {
    let functions = function_names(text).filter(|(_, name)| FIGURATIVE_FUNCTIONS.contains(name));
    let figurative = item_names(text).filter(|(_, name)| FIGURATIVE.contains(name));
    let figurative = figurative.chain(functions);
    figurative.map(|(line, name)| (line, format!("{name}: give the item the name of what it is")))
}

/// Returns the functions, such as tests, whose names have a vague word, each with its one-based
/// line.
fn vague_names(text: &str) -> impl Iterator<Item = (usize, String)> {
    let names = function_names(text);
    names.filter(|(_, name)| name.split('_').any(|word| VAGUE.contains(&word))).map(
        |(line, name)| (line, format!("{name}: name the component in place of the vague word")),
    )
}

/// Returns the doc comments of functions that begin with one of [`QUESTIONS`], each with its
/// one-based line.
fn questions(text: &str) -> impl Iterator<Item = (usize, String)> {
    doc_comments(text).into_iter().filter_map(|comment| {
        let first = comment.lines[0].split_whitespace().next()?;
        let after = text.lines().skip(comment.line - 1 + comment.lines.len());
        let item = after.map(str::trim).find(|line| !line.starts_with("#["))?;
        let is_function = item.split('(').next()?.split(' ').any(|word| word == "fn");
        (is_function && QUESTIONS.contains(&first))
            .then(|| (comment.line, format!("\"{first} …\": say what the function does")))
    })
}

/// Returns the names of the types and traits of a file, each with its one-based line.
fn item_names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    const ITEMS: [&str; 4] = ["struct ", "enum ", "trait ", "type "];
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        if line.trim_start().starts_with("//") || line.contains('"') {
            return None;
        }
        let (_, rest) = ITEMS.iter().find_map(|item| line.split_once(item))?;
        let end = rest.find(|sign: char| !sign.is_alphanumeric()).unwrap_or(rest.len());
        Some((number, &rest[..end]))
    })
}

/// Returns the names of the functions and modules of a file, each with its one-based line.
fn function_names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        if line.trim_start().starts_with("//") || line.contains('"') {
            return None;
        }
        let (_, rest) = ["fn ", "mod "].iter().find_map(|item| line.split_once(item))?;
        let end = rest.find(|sign: char| !sign.is_alphanumeric() && sign != '_');
        Some((number, &rest[..end.unwrap_or(rest.len())]))
    })
}

/// Returns what is wrong with a doc comment, if anything is.
fn fault(comment: &DocComment<'_>) -> Option<String> {
    let summary = comment.lines.split(|line| line.trim().is_empty()).next().unwrap_or_default();
    let (summary, prose) = (prose(summary), prose(&comment.lines));
    let mut words = summary.split_whitespace();
    if matches!((words.next(), words.next()), (Some(_), None)) {
        return Some("a doc comment of one word says nothing".to_owned());
    }
    if has_phrase(summary.get(.."the same".len() + 1).unwrap_or_default(), "the same") {
        return Some("a doc comment that begins with \"The same\" needs the line above".to_owned());
    }
    let phrase = VAGUE.iter().find(|phrase| has_phrase(&prose, phrase))?;
    Some(format!("\"{phrase}\" in a doc comment: name the component or the number"))
}

/// Returns the text without code blocks: lower case, one space between words.
fn prose(lines: &[&str]) -> String {
    let lines = markdown::with_code(lines.iter().copied()).filter(|(_, is_code)| !is_code);
    let words = lines.flat_map(|(line, _)| line.split_whitespace().map(str::to_lowercase));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns whether the prose has these words, not as parts of others.
fn has_phrase(prose: &str, phrase: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(char::is_alphanumeric);
    prose.match_indices(phrase).any(|(start, found)| {
        let before = prose[..start].chars().next_back();
        let after = prose[start + found.len()..].chars().next();
        !is_part(before) && !is_part(after)
    })
}

/// Returns the doc comments of a file. A marker that changes begins another comment.
fn doc_comments(text: &str) -> Vec<DocComment<'_>> {
    let mut comments: Vec<DocComment<'_>> = Vec::new();
    let mut last = None;
    for (number, line) in (1..).zip(text.lines()) {
        let marked = marked(line);
        match (marked, comments.last_mut()) {
            (Some((marker, content)), Some(comment)) if last == Some(marker) => {
                comment.lines.push(content);
            }
            (Some((_, content)), _) => {
                comments.push(DocComment { line: number, lines: vec![content] });
            }
            (None, _) => {}
        }
        last = marked.map(|(marker, _)| marker);
    }
    comments
}

/// Splits a line of a doc comment into its marker and its content; four slashes are no marker.
fn marked(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    let of = |marker: &'static str| Some((marker, line.strip_prefix(marker)?));
    of("///").or_else(|| of("//!")).filter(|(_, content)| !content.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = faults([(Path::new("a.rs"), text)]);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn a_doc_comment_of_one_word_is_refused() {
        check(
            "/// Which.\nfn a() {}\n\n    //! Why\n",
            &["a.rs:1: a doc comment of one", "a.rs:4:"],
        );
        check("/// Which.\n///\n/// # Errors\n", &["a.rs:1: a doc comment of one"]);
        check("/// `GET` or `HEAD`.\n///\n/// ```\n/// a\n/// ```\n", &[]);
    }

    #[test]
    fn a_first_line_that_needs_the_one_above_is_refused() {
        check("/// The same, late.\n", &["a.rs:1: a doc comment that begins"]);
        check("fn a() {}\n/// The same with a pause.\n", &["a.rs:2: a doc comment that begins"]);
        check("/// The samefold of it.\n", &[]);
        check("/// Writes twice.\n///\n/// The same bytes are written again.\n", &[]);
    }

    #[test]
    fn words_without_a_name_are_refused_wherever_they_stand() {
        for phrase in VAGUE {
            let (first, rest) = phrase.split_once(' ').unwrap_or((phrase, ""));
            check(&format!("/// Sends it to {first}\n/// {rest}, at once.\n"), &["a.rs:1: \""]);
        }
        check("/// Nobody knows.\n", &["a.rs:1: \"nobody\" in a doc comment"]);
        check("/// Also manyfold, for somebodys.\n", &[]);
    }

    #[test]
    fn code_is_free_and_ordinary_comments_are_not() {
        check("/// Runs it:\n/// ```\n/// let nobody = 1;\n/// ```\n", &[]);
        check("let text = \"/// nobody\";\n", &[]);
        check("// Sent by nobody.\n", &["a.rs:1: \"nobody\""]);
    }

    #[test]
    fn comments_of_two_items_are_two() {
        check("/// Which one.\nfn a() {}\n/// Which.\nfn b() {}\n", &["a.rs:3:"]);
        check("//! Which.\n/// Opens a file.\n", &["a.rs:1:"]);
    }

    #[test]
    fn some_names_stand_for_one_item_at_most() {
        let files = [
            (Path::new("a.rs"), "struct Stage;\nstruct Part;\n"),
            (Path::new("b.rs"), "enum Stage {}\nimpl T for U {\n    type Part = u8;\n}\n"),
        ];
        assert_eq!(repeated(files), ["Stage names several items: a.rs:1, b.rs:1"]);
    }

    #[test]
    fn items_with_figurative_names_are_refused() {
        check("pub(crate) struct Journal<'a> {\n", &["a.rs:1: Journal: give"]);
        check("fn a() {}\nenum Worth {\n", &["a.rs:2: Worth"]);
        check("// struct Journal\nstruct Journals;\nlet a = \"enum Worth\";\n", &[]);
    }

    #[test]
    fn functions_and_ordinary_comments_are_read_too() {
        check("fn season(text: &str) {}\nfn seasonal() {}\n", &["a.rs:1: season"]);
        check(
            "pub(super) fn told() {}\nfn one_is_told() {}\nmod shown;\n",
            &["a.rs:1:", "a.rs:3:"],
        );
        check("    // Nobody waits.\n    let a = 1; // whoever\n", &["a.rs:1: \"nobody\""]);
    }

    #[test]
    fn names_of_tests_name_components() {
        check("fn nobody_waits() {}\nfn the_sender_waits() {}\n", &["a.rs:1: nobody_waits"]);
    }

    #[test]
    fn a_function_is_described_by_a_verb() {
        check("/// What is sent.\n#[test]\nfn sent() {}\n", &["a.rs:1: \"What"]);
        check("/// What is sent.\nsent: u64,\n/// Whatever.. it is.\nfn b() {}\n", &[]);
    }

    #[test]
    fn documents_name_components() {
        let found = document_faults(Path::new("a.md"), "# Title\n\nRuns so many requests.\n");
        assert_eq!(found, ["a.md:3: \"so many\": name the component or the number"]);
    }
}
