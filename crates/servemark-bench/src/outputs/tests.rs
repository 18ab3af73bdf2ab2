use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

/// Creates a folder with a file `old`, a link `link` to it, and a link `nowhere` to a missing
/// file `new`.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("old"), "old").unwrap();
    symlink("old", folder.path().join("link")).unwrap();
    symlink("new", folder.path().join("nowhere")).unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    folder
}

/// Checks the outputs and returns the error message; asserts that the check changes no file.
#[track_caller]
fn check(folder: &TempDir, outputs: &Outputs) -> String {
    let names = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let error = outputs.check().err().map(|error| {
        let source = std::error::Error::source(&error);
        format!("{error}: {}", source.map(ToString::to_string).unwrap_or_default())
    });
    assert_eq!(names(), before);
    assert_eq!(fs::read_to_string(folder.path().join("old")).unwrap(), "old");
    error.unwrap_or_default()
}

#[track_caller]
fn check_pair(one: &str, other: &str, expected: &str) {
    let folder = folder();
    let mut outputs = Outputs::default();
    outputs.add_appended("the result", &folder.path().join(one));
    outputs.add_file("the table", &folder.path().join(other));
    let error = check(&folder, &outputs);
    assert!(error.contains(expected) && error.is_empty() == expected.is_empty(), "{error}");
}

#[test]
fn two_outputs_in_one_file_are_refused_whatever_leads_there() {
    let same = "the result and the table would be written to the same file";
    check_pair("old", "old", same);
    check_pair("new", "new", same);
    check_pair("old", "link", same);
    check_pair("new", "nowhere", same);
    check_pair("new", "sub/../new", same);
    check_pair("new", "./new", same);
    check_pair("old", "new", "");
}

#[test]
fn lines_of_one_kind_share_a_file() {
    let folder = folder();
    let mut outputs = Outputs::default();
    outputs.add_appended("the result", &folder.path().join("new"));
    outputs.add_appended("the result", &folder.path().join("new"));
    assert_eq!(check(&folder, &outputs), "");
    outputs.add_appended("the line about the steady part", &folder.path().join("new"));
    assert!(check(&folder, &outputs).contains("the same file"));
}

#[test]
fn what_is_read_is_not_written() {
    let folder = folder();
    let mut outputs = Outputs::default();
    outputs.add_file("the table", &folder.path().join("link"));
    outputs.add_input(&folder.path().join("old"));
    assert!(check(&folder, &outputs).contains("which this command reads"));
}

#[track_caller]
fn check_file(name: &str, expected: &str) {
    let folder = folder();
    let mut outputs = Outputs::default();
    outputs.add_file("the table", &folder.path().join(name));
    let error = check(&folder, &outputs);
    assert!(error.contains(expected) && error.is_empty() == expected.is_empty(), "{error}");
}

#[test]
fn a_file_that_cannot_be_written_is_told_with_the_cure() {
    check_file("none/new", "there is no folder");
    check_file("old/new", "Not a directory");
    check_file("sub", "which is a folder");
    check_file("new/", "which is a folder");
    check_file(&"x".repeat(300), "name too long");
    check_file("new", "");
    check_file("old", "");
    check_file("nowhere", "");
    check_file("/proc/new", "cannot write the table to /proc/new");
    check_file("/dev/full", "");
}

#[test]
fn a_folder_that_is_made_later_is_tried_where_it_would_be() {
    let folder = folder();
    let made = folder.path().join("a/b");
    let mut outputs = Outputs::default();
    outputs.add_folder("the results", &made);
    outputs.add_file("the table", &made.join("c/new"));
    assert_eq!(check(&folder, &outputs), "");
    let mut outputs = Outputs::default();
    outputs.add_folder("the results", &folder.path().join("old/a"));
    assert!(check(&folder, &outputs).contains("which is no folder"));
}

#[track_caller]
fn check_log(name: &str, if_taken: IfTaken, expected: &str) {
    let folder = folder();
    let mut outputs = Outputs::default();
    outputs.add("the run log", &folder.path().join(name), Kind::RunLog(if_taken));
    let error = check(&folder, &outputs);
    assert!(error.contains(expected) && error.is_empty() == expected.is_empty(), "{error}");
}

#[test]
fn a_run_log_takes_the_place_of_a_file_only_where_that_is_asked_for() {
    check_log("old", IfTaken::Refuse, "`output.run_log_if_taken`");
    check_log("link", IfTaken::Refuse, "`output.run_log_if_taken`");
    check_log("new", IfTaken::Refuse, "");
    check_log("old", IfTaken::Number, "");
    check_log("old", IfTaken::Replace, "");
    check_log("/dev/null", IfTaken::Refuse, "");
    check_log("none/new", IfTaken::Number, "there is no folder");
}
