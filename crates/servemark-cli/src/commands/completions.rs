//! `servemark completions`: the scripts with which shells complete commands and flags.

mod fish;

use std::ffi::OsString;

use clap::{Command, CommandFactory, Parser};
use clap_complete::Shell;

#[cfg(feature = "mock-server")]
use super::mock_server;
use super::{ab, explore, export, launch, manual, rerun, run_file, schema, score, selftest};
use crate::error::UsageError;
use crate::own::{PLAIN_EXIT_CODES, notes, parse_command};
use crate::{aisbench, compare, evalscope, sglang, vllm};

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

/// Parses the arguments of `servemark completions` and returns the script.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<String, UsageError> {
    let CompletionsArgs { shell } = parse_command("servemark completions", args)?;
    // The program has `help COMMAND`; its commands with further ones below them have no `help`.
    let mut program = whole().mut_subcommands(|below| below.disable_help_subcommand(true));
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "servemark", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == Shell::Fish {
        script.push_str(&fish::deep_commands(&program));
    }
    Ok(script)
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
    #[cfg(feature = "mock-server")]
    let whole = whole.subcommand(mock_server::clap_command());
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
        manual::clap_command(),
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
                let (command, flag) = (command.get_name(), arg.get_id());
                assert!(!question.contains(&first), "{command} {flag}: {help}");
            }
        }
    }
}
