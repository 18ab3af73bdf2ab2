//! `servemark man`: a manual page for each command, from the flags that the command parses.

use std::ffi::OsString;
use std::io;

use clap::{Command, CommandFactory, Parser};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::commands::completions::whole;
use crate::error::{CliError, UsageError};
use crate::own::{PLAIN_EXIT_CODES, notes, parse_command};

/// Print the manual page of a command
#[derive(Clone, Debug, Parser)]
#[command(name = "man", max_term_width = 100, after_help = notes(&EXAMPLES, PLAIN_EXIT_CODES))]
struct ManArgs {
    /// Words of the command; without any, the page of servemark is printed
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Print the commands that have a page, one a line
    #[arg(long, conflicts_with = "command")]
    list: bool,
}

const EXAMPLES: [&str; 3] = [
    "servemark man > servemark.1",
    "servemark man vllm bench serve | man -l -",
    "servemark man --list",
];

/// Returns the command with its flags, for completions.
pub(crate) fn clap_command() -> Command {
    ManArgs::command()
}

/// Parses the arguments of `servemark man` and returns a page, or the list of pages.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<String, UsageError> {
    let ManArgs { command: words, list } = parse_command(PROGRAM, args)?;
    let mut program = whole().disable_help_subcommand(true);
    program.build();
    if list {
        return Ok(names(&program, "").join("\n") + "\n");
    }
    let command = find(&program, &words).map_err(|error| UsageError::refused(PROGRAM, error))?;
    let unwritten = |error: io::Error| CliError::Peer(error.to_string());
    page(command.clone()).map_err(|error| UsageError::refused(PROGRAM, unwritten(error)))
}

const PROGRAM: &str = "servemark man";

/// Returns the words of each command below a command, separated by spaces.
fn names(command: &Command, before: &str) -> Vec<String> {
    let mut found = Vec::new();
    for below in command.get_subcommands() {
        let name = format!("{before}{}", below.get_name());
        let further = names(below, &format!("{name} "));
        found.push(name);
        found.extend(further);
    }
    found
}

/// Returns the command that consists of these words.
fn find<'a>(program: &'a Command, words: &[String]) -> Result<&'a Command, CliError> {
    let mut found = program;
    for word in words {
        let unknown = || {
            let known = found.get_subcommands().map(Command::get_name);
            CliError::unknown_command(word.as_str(), known)
        };
        found = found.find_subcommand(word).ok_or_else(unknown)?;
    }
    Ok(found)
}

/// Returns the manual page of a command that has been built.
fn page(mut command: Command) -> io::Result<String> {
    // A synopsis of 200 flags is not readable: that of the help text has `[OPTIONS]`.
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim().to_owned();
    let notes = command.get_after_long_help().or_else(|| command.get_after_help());
    let notes = notes.map(ToString::to_string).unwrap_or_default();
    let command = command.override_usage(usage).after_help(None::<&str>);
    let man = Man::new(command.after_long_help(None::<&str>));
    // An empty date is left out, so that the next field would be taken for it.
    let man =
        man.date(" ").source(concat!("servemark ", env!("CARGO_PKG_VERSION"))).manual("Servemark");
    let mut page = Vec::new();
    man.render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned() + &notes_section(&notes))
}

/// Returns the section with the end of a help text. Lines that the help text indents, such as
/// examples, are not joined to paragraphs.
fn notes_section(notes: &str) -> String {
    let mut roff = Roff::new();
    if !notes.is_empty() {
        roff.control("SH", ["NOTES"]);
    }
    let mut is_indented = false;
    for line in notes.lines() {
        if line.starts_with(' ') != is_indented && !line.is_empty() {
            is_indented = !is_indented;
            roff.control(if is_indented { "nf" } else { "fi" }, []);
        }
        match line {
            "" => roff.control("PP", []),
            line => roff.text([roman(line)]),
        };
    }
    if is_indented {
        roff.control("fi", []);
    }
    roff.to_roff()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &[&str]) -> String {
        parse(words.iter().map(OsString::from)).unwrap()
    }

    #[test]
    fn each_command_has_a_page() {
        let list = text(&["--list"]);
        for name in ["compare", "bench-serving", "vllm bench serve", "evalscope perf", "man"] {
            assert!(list.lines().any(|line| line == name), "{name}: {list}");
        }
        for name in list.lines().chain([""]) {
            let words: Vec<&str> = name.split_whitespace().collect();
            let page = text(&words);
            let dashed: Vec<&str> = ["servemark"].into_iter().chain(words).collect();
            let dashed = dashed.join("-");
            assert!(page.contains(&format!("\n.TH {dashed} 1 ")), "{name}: {page}");
            let heading = format!("\n.SH NAME\n{} \\- ", dashed.replace('-', "\\-"));
            assert!(page.contains(&heading), "{name}: {page}");
            check_structure(&page);
        }
    }

    /// Requests of roff and macros of manual pages.
    const REQUESTS: [&str; 12] =
        ["IP", "PP", "RE", "RS", "SH", "TH", "TP", "br", "el", "fi", "ie", "nf"];

    /// Checks that each section is there once, and that each request is one that `man` knows.
    #[track_caller]
    fn check_structure(page: &str) {
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"] {
            let heading = format!("\n.SH {section}\n");
            assert_eq!(page.matches(&heading).count(), 1, "{section}: {page}");
        }
        for request in page.lines().filter_map(|line| line.strip_prefix('.')) {
            let name = request.split(' ').next().unwrap_or_default();
            assert!(REQUESTS.contains(&name), "{request}: {page}");
        }
        assert_eq!(page.matches("\n.nf\n").count(), page.matches("\n.fi\n").count(), "{page}");
    }

    #[test]
    fn the_page_has_the_flags_and_the_notes_of_the_help() {
        let page = text(&["compare"]);
        for part in ["\\-\\-fail\\-if", "\n.SH NOTES\nExample", "\n.nf\n  servemark compare"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(page.contains("\n.SH SYNOPSIS\n\\fBservemark compare\\fR "), "{page}");
    }

    #[test]
    fn the_page_of_the_program_lists_the_commands() {
        let page = text(&[]);
        for part in ["max\\-streams", "\nservemark\\-compare(1)\n", "\nservemark\\-vllm(1)\n"] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    #[test]
    fn an_unknown_command_is_refused_with_the_nearest_one() {
        let words = ["vllm", "bench", "serv"].map(OsString::from);
        let error = parse(words.into_iter()).unwrap_err().to_string();
        assert!(error.contains("serv") && error.contains("serve"), "{error}");
    }
}
