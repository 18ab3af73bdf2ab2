//! fish's completions of commands below the second word, which clap's script leaves out: `vllm bench
//! serve`.

use std::fmt::Write as _;

use clap::Command;
use clap_complete::{Shell, generate};

/// Functions of fish that compare the words before the one to complete with the words of a command.
const FUNCTIONS: &str = "
function __fish_servemark_words_begin
    set -l words (commandline -opc)
    set -e words[1]
    test (count $words) -ge (count $argv); and test \"$words[1..\"(count $argv)\"]\" = \"$argv\"
end

function __fish_servemark_words_are
    set -l words (commandline -opc)
    set -e words[1]
    test \"$words\" = \"$argv\"
end

";

/// Number of words of the commands that clap's script completes.
const MOST_WORDS: usize = 2;

/// Returns the end of the script for a program that has been built.
pub(super) fn deep_commands(program: &Command) -> String {
    let mut script = FUNCTIONS.to_owned();
    add(program, &mut Vec::new(), &mut script);
    script
}

fn add<'a>(command: &'a Command, words: &mut Vec<&'a str>, script: &mut String) {
    // A command with others below it has no flag besides `--help`.
    if words.len() > MOST_WORDS && !command.has_subcommands() {
        script.push_str(&flags(command.clone(), &words.join(" ")));
    }
    for below in command.get_subcommands() {
        if words.len() > MOST_WORDS {
            let (words, name) = (words.join(" "), below.get_name());
            let about = below.get_about().map(ToString::to_string).unwrap_or_default();
            let about = about.replace('\\', "\\\\").replace('\'', "\\'");
            writeln!(
                script,
                "complete -c servemark -n \"__fish_servemark_words_are {words}\" -f -a {name} -d '{about}'"
            )
            .expect("a string takes all text");
        }
        words.push(below.get_name());
        add(below, words, script);
        words.pop();
    }
}

/// Returns clap's lines for the flags of a command, each with the condition that the command line
/// begins with these words.
fn flags(mut command: Command, words: &str) -> String {
    // clap writes lines without conditions for a program that has no commands.
    let mut lines = Vec::new();
    generate(Shell::Fish, &mut command, "servemark", &mut lines);
    let condition = format!("complete -c servemark -n \"__fish_servemark_words_begin {words}\" ");
    String::from_utf8_lossy(&lines).replace("complete -c servemark ", &condition)
}
