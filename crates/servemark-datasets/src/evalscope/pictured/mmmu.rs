//! MMMU questions with several images, alternating between subjects.

use std::path::Path;

use servemark_core::{DatasetError, DrawContext, Medium};

use super::{message, picture, place, text_part};
use crate::evalscope::RequestDraft;
use crate::split_files;
use crate::table::{Cell, Record, Records};

/// Returns the first `count` questions with two or more images: the first row of each subject, then
/// the second row of each, and so on.
pub(super) fn ask(
    path: &Path,
    count: usize,
    _context: &DrawContext<'_>,
) -> Result<Vec<RequestDraft>, DatasetError> {
    let subjects = SUBJECTS.iter().map(|subject| {
        let files = split_files::of_split(path, Some(subject), "validation")?;
        Records::open(&files, &COLUMNS)
    });
    let subjects = subjects.collect::<Result<Vec<_>, DatasetError>>()?;
    let lengths: Vec<usize> =
        subjects.iter().map(|records| records.lengths().iter().sum()).collect();
    let turns = (0..lengths.iter().copied().max().unwrap_or_default()).flat_map(|row| {
        let lengths = &lengths;
        (0..lengths.len()).filter(move |subject| row < lengths[*subject]).map(move |at| (at, row))
    });
    let mut asked = Vec::new();
    for (subject, row) in turns {
        if asked.len() == count {
            break;
        }
        for record in subjects[subject].read(&[row])? {
            asked.extend(question(&record)?);
        }
    }
    Ok(asked)
}

/// Returns a row's question, or `None` if it has fewer than two images.
fn question(row: &Record) -> Result<Option<RequestDraft>, DatasetError> {
    let mut pictures = Vec::new();
    for (number, column) in (1..).zip(&COLUMNS[..7]) {
        pictures.extend(picture(row, column)?.map(|picture| (number, picture)));
    }
    if pictures.len() < 2 {
        return Ok(None);
    }
    let question = row.text("question")?;
    let options = row.cell.get("options").and_then(Cell::text);
    let text = match options.filter(|options| !options.is_empty() && *options != "[]") {
        Some(options) => format!("{question}\nOptions: {options}"),
        None => question.to_owned(),
    };
    Ok(Some(with_images(&text, pictures)))
}

/// Builds a request with images inserted at the text's placeholders. If the text has no
/// placeholders, all images follow it.
fn with_images(text: &str, pictures: Vec<(u32, Medium)>) -> RequestDraft {
    let (mut parts, mut media, mut rest) = (Vec::new(), Vec::new(), text);
    while let Some((before, number, behind)) = next_place(rest) {
        parts.extend((!before.trim().is_empty()).then(|| text_part(before)));
        if let Some((_, picture)) = pictures.iter().find(|(known, _)| *known == number) {
            parts.push(place());
            media.push(picture.clone());
        }
        rest = behind;
    }
    if rest.len() == text.len() || (parts.is_empty() && rest.trim().is_empty()) {
        let parts = [text_part(text)].into_iter().chain(pictures.iter().map(|_| place()));
        return message(
            parts.collect(),
            pictures.into_iter().map(|(_, picture)| picture).collect(),
        );
    }
    parts.extend((!rest.trim().is_empty()).then(|| text_part(rest)));
    message(parts, media)
}

/// Finds the next `<image 1>` or `<image_1>` and returns the text before it, its number and the
/// text after it.
fn next_place(text: &str) -> Option<(&str, u32, &str)> {
    text.match_indices("<image").find_map(|(at, mark)| {
        let rest = text[at + mark.len()..].strip_prefix([' ', '_'])?;
        let (digits, behind) = rest.split_once('>')?;
        let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        Some((&text[..at], is_number.then(|| digits.parse().ok())??, behind))
    })
}

/// Columns with the images, the question and the options.
const COLUMNS: [&str; 9] = [
    "image_1", "image_2", "image_3", "image_4", "image_5", "image_6", "image_7", "question",
    "options",
];

const SUBJECTS: [&str; 30] = [
    "Accounting",
    "Agriculture",
    "Architecture_and_Engineering",
    "Art",
    "Art_Theory",
    "Basic_Medical_Science",
    "Biology",
    "Chemistry",
    "Clinical_Medicine",
    "Computer_Science",
    "Design",
    "Diagnostics_and_Laboratory_Medicine",
    "Economics",
    "Electronics",
    "Energy_and_Power",
    "Finance",
    "Geography",
    "History",
    "Literature",
    "Manage",
    "Marketing",
    "Materials",
    "Math",
    "Mechanical_Engineering",
    "Music",
    "Pharmacy",
    "Physics",
    "Psychology",
    "Public_Health",
    "Sociology",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_by_their_numbers() {
        assert_eq!(next_place("a <image 1> b"), Some(("a ", 1, " b")));
        assert_eq!(next_place("<image x> <image_12>"), Some(("<image x> ", 12, "")));
        assert_eq!(next_place("<image 1"), None);
    }

    #[test]
    fn pictures_stand_where_the_text_says() {
        let pictures =
            || (1..=2).map(|number| (number, Medium::image(number.to_string()))).collect();
        let asked = with_images("See <image 2> and <image 1>.", pictures());
        let uris: Vec<_> = asked.media.iter().map(|medium| medium.uri().unwrap()).collect();
        assert_eq!(uris, ["2", "1"]);
        assert_eq!(with_images("No place.", pictures()).media.len(), 2);
    }
}
