//! `servemark completions` and `servemark man`: completion scripts and the manual page.

use std::ffi::OsString;

use clap::{Command, CommandFactory, Parser};
use clap_complete::Shell;

use crate::error::{CliError, UsageError};
use crate::own::{PLAIN_EXIT_CODES, notes, parse_command};
use crate::{
    ab, aisbench, compare, evalscope, explore, export, launch, rerun, run_file, schema, score,
    selftest, sglang, vllm,
};

/// Print the script with which a shell completes the commands and flags
#[derive(Clone, Debug, Parser)]
#[command(name = "completions", max_term_width = 100,
          after_help = notes(&EXAMPLES, PLAIN_EXIT_CODES))]
struct CompletionsArgs {
    /// Name of the shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

const EXAMPLES: [&str; 2] = [
    "servemark completions bash > /etc/bash_completion.d/servemark",
    "servemark completions zsh > ~/.zfunc/_servemark",
];

/// Print the manual page
#[derive(Clone, Debug, Parser)]
#[command(name = "man", max_term_width = 100,
          after_help = notes(&["servemark man > servemark.1"], PLAIN_EXIT_CODES))]
struct ManArgs {}

/// Parses the arguments of `servemark completions` and returns the script.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<String, UsageError> {
    let CompletionsArgs { shell } = parse_command("servemark completions", args)?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut whole(), "servemark", &mut script);
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Parses the arguments of `servemark man` and returns the page.
pub(crate) fn parse_man(args: impl Iterator<Item = OsString>) -> Result<String, UsageError> {
    let ManArgs {} = parse_command("servemark man", args)?;
    let mut page = Vec::new();
    let result = clap_mangen::Man::new(whole()).render(&mut page);
    result
        .map_err(|error| UsageError::refused("servemark man", CliError::Peer(error.to_string())))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}

/// Returns the program with its commands.
pub(crate) fn whole() -> Command {
    let vllm = Command::new("vllm").about("vLLM's benchmark commands, same command lines");
    let bench = Command::new("bench").about("Benchmarks");
    let bench = bench.subcommands(vllm::bench_commands());
    let evalscope = Command::new("evalscope").about("EvalScope's benchmark, same command line");
    let whole = explore::clap_command().name("servemark").version(env!("CARGO_PKG_VERSION"));
    #[cfg(feature = "engine")]
    let whole = whole.subcommand(sglang::offline::clap_command().name("bench-offline"));
    whole.subcommands([
        ab::ab_command(),
        aisbench::clap_command().name("ais_bench"),
        sglang::embedding::clap_command().name("bench-embedding"),
        sglang::clap_command().name("bench-serving"),
        compare::clap_command(),
        CompletionsArgs::command(),
        explore::demo_command(),
        selftest::clap_command().name("doctor"),
        export::clap_command(),
        launch::clap_command(),
        evalscope.subcommand(evalscope::clap_command().name("perf")),
        ManArgs::command(),
        ab::noise_command(),
        rerun::clap_command(),
        run_file::clap_command(),
        schema::clap_command(),
        score::clap_command(),
        selftest::clap_command(),
        vllm.subcommand(bench),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_knows_the_commands_and_their_flags() {
        for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
            let script = parse([OsString::from(shell)].into_iter()).unwrap();
            for word in [
                "compare",
                "fail-if",
                "bench-serving",
                "request-rate",
                "parquet",
                "sla-auto-tune",
                "ais_bench",
                "bench-embedding",
                "launch",
            ] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }

    #[test]
    fn the_manual_page_has_the_commands() {
        let page = parse_man(std::iter::empty()).unwrap();
        for word in [".TH", "compare", "run", "max\\-streams"] {
            assert!(page.contains(word), "{word}: {page}");
        }
    }

    /// Adds every command that does something by itself.
    fn add_commands(command: &Command, found: &mut Vec<Command>) {
        if !command.has_subcommands() || command.get_name() == "servemark" {
            found.push(command.clone());
        }
        command.get_subcommands().for_each(|below| add_commands(below, found));
    }

    #[test]
    fn the_help_of_each_command_has_examples_and_exit_codes() {
        let mut commands = vec![sglang::one_batch::clap_command(), vllm::slices_command()];
        add_commands(&whole(), &mut commands);
        for mut command in commands {
            let help = command.render_long_help().to_string();
            for part in ["Example", "Exit codes: 0 "] {
                assert!(help.contains(part), "{}: {part}: {help}", command.get_name());
            }
        }
    }

    #[test]
    fn help_texts_name_the_thing_and_ask_no_question() {
        let mut commands = vec![sglang::one_batch::clap_command(), vllm::slices_command()];
        add_commands(&whole(), &mut commands);
        for command in &commands {
            for arg in command.get_arguments() {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                let first = help.split_whitespace().next().unwrap_or_default();
                let question = ["How", "What", "Where", "Which", "Who", "Whose", "Nothing"];
                assert!(!question.contains(&first), "{} {arg}: {help}", command.get_name());
            }
        }
    }
}
