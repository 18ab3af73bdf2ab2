//! `servemark completions` and `servemark man`: completion scripts and the manual page.

use std::ffi::OsString;

use clap::{Command, Parser};
use clap_complete::Shell;

use crate::error::{CliError, UsageError};
use crate::own::parse_command;
use crate::{
    ab, aisbench, compare, evalscope, explore, export, launch, rerun, run_file, schema, score,
    selftest, sglang, vllm,
};

/// Print the script with which a shell completes the commands and flags
///
/// Examples:
///   servemark completions bash > /etc/bash_completion.d/servemark
///   servemark completions zsh > ~/.zfunc/_servemark
#[derive(Clone, Debug, Parser)]
#[command(name = "completions", max_term_width = 100, verbatim_doc_comment)]
struct CompletionsArgs {
    /// Name of the shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Print the manual page: servemark man > servemark.1
#[derive(Clone, Debug, Parser)]
#[command(name = "man", max_term_width = 100)]
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
    let serve = vllm::clap_command().name("serve");
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
        explore::demo_command(),
        selftest::clap_command().name("doctor"),
        export::clap_command(),
        launch::clap_command(),
        evalscope.subcommand(evalscope::clap_command().name("perf")),
        ab::noise_command(),
        rerun::clap_command(),
        run_file::clap_command(),
        schema::clap_command(),
        score::clap_command(),
        selftest::clap_command(),
        vllm.subcommand(bench.subcommand(serve)),
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
}
