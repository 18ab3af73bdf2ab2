//! Refuses common misspellings in sources and documents.
//!
//! The table is short on purpose: it holds what is mistyped most often and is never right.

use std::path::{Path, PathBuf};

use crate::metadata::{files, root};

/// Returns the misspelt words of the workspace's sources and documents, each with its place.
pub(super) fn faults() -> anyhow::Result<Vec<String>> {
    let root = root();
    let mut found = Vec::new();
    for path in texts(&root)? {
        let text = std::fs::read_to_string(&path)?;
        let words = misspelt(&text).into_iter();
        found.extend(words.map(|(line, wrong, right)| {
            format!("{}:{line}: {wrong}: write {right}", path.display())
        }));
    }
    Ok(found)
}

/// Returns the paths of the documents for users.
pub(super) fn documents() -> anyhow::Result<Vec<PathBuf>> {
    let root = root();
    let mut paths = files(&root.join("docs"), "md")?;
    paths.extend([root.join("README.md"), root.join("CHANGELOG.md")]);
    Ok(paths)
}

/// Returns the paths of all sources and documents. Fixtures are recordings and are left alone.
fn texts(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut paths = vec![root.join("README.md"), root.join("CHANGELOG.md")];
    paths.push(root.join("CONTRIBUTING.md"));
    for folder in ["benches", "bins", "crates", "docs", "xtask"] {
        paths.extend(files(&root.join(folder), "md")?);
        paths.extend(files(&root.join(folder), "rs")?);
    }
    paths.retain(|path| !path.ends_with("tidy/spelling.rs"));
    Ok(paths)
}

/// Returns the misspelt words of a text: the one-based line, the word, and its right spelling.
fn misspelt(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words = line.split(|character: char| !character.is_ascii_alphabetic());
        for word in words.filter(|word| word.len() > 2) {
            let is_it = |(wrong, _): &&(&str, &str)| word.eq_ignore_ascii_case(wrong);
            found.extend(WRONG.iter().find(is_it).map(|(wrong, right)| (number, *wrong, *right)));
        }
    }
    found
}

/// Misspellings and their right spellings.
const WRONG: &[(&str, &str)] = &[
    ("accomodate", "accommodate"),
    ("acknowledgement", "acknowledgment"),
    ("adress", "address"),
    ("agressive", "aggressive"),
    ("alot", "a lot"),
    ("apparant", "apparent"),
    ("arguement", "argument"),
    ("asyncronous", "asynchronous"),
    ("begining", "beginning"),
    ("beleive", "believe"),
    ("calender", "calendar"),
    ("comparision", "comparison"),
    ("compatability", "compatibility"),
    ("consistant", "consistent"),
    ("definately", "definitely"),
    ("dependant", "dependent"),
    ("desciption", "description"),
    ("embarass", "embarrass"),
    ("enviroment", "environment"),
    ("existance", "existence"),
    ("explicitely", "explicitly"),
    ("formated", "formatted"),
    ("garantee", "guarantee"),
    ("independant", "independent"),
    ("infomation", "information"),
    ("initalize", "initialize"),
    ("lenght", "length"),
    ("libary", "library"),
    ("maintainance", "maintenance"),
    ("neccessary", "necessary"),
    ("occured", "occurred"),
    ("occurence", "occurrence"),
    ("overriden", "overridden"),
    ("paramter", "parameter"),
    ("percentil", "percentile"),
    ("perfomance", "performance"),
    ("persistant", "persistent"),
    ("posible", "possible"),
    ("preceed", "precede"),
    ("prefered", "preferred"),
    ("recieve", "receive"),
    ("recieved", "received"),
    ("reciever", "receiver"),
    ("refered", "referred"),
    ("relevent", "relevant"),
    ("reponse", "response"),
    ("resourse", "resource"),
    ("responce", "response"),
    ("seperate", "separate"),
    ("seperately", "separately"),
    ("seperator", "separator"),
    ("sucess", "success"),
    ("sucessful", "successful"),
    ("suport", "support"),
    ("supress", "suppress"),
    ("teh", "the"),
    ("thier", "their"),
    ("throughtput", "throughput"),
    ("tokeniser", "tokenizer"),
    ("transfered", "transferred"),
    ("truely", "truly"),
    ("unneccessary", "unnecessary"),
    ("untill", "until"),
    ("usefull", "useful"),
    ("wich", "which"),
    ("writen", "written"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_is_found_with_its_line() {
        assert_eq!(misspelt("the\nTeh end, lenghts"), [(2, "teh", "the")]);
    }
}
