//! The engine's own arguments, of which a running server has its own.

use clap::Command;

use crate::error::CliError;

/// Refuses the first of them, by its name.
pub(super) fn refuse(args: &[String], command: &Command) -> Result<(), CliError> {
    let is_ours = |name: &str| {
        let mut flags = command.get_arguments().filter_map(clap::Arg::get_long);
        flags.any(|flag| flag.starts_with(name.trim_start_matches("--")))
    };
    let names = args.iter().filter_map(|arg| arg.split(['=', '.']).next());
    let mut foreign = names.filter(|name| !name.starts_with("--") || !is_ours(name));
    match foreign.find_map(of_engine) {
        None => Ok(()),
        Some(flag) => Err(CliError::setting(flag, WHY)),
    }
}

/// The argument that a name stands for, which may be short, turned off or abbreviated.
fn of_engine(name: &str) -> Option<&'static str> {
    let positive = name.replacen("--no-", "--", 1);
    let is_meant = |flag: &&str| *flag == name || *flag == positive;
    let flags = || ENGINE.split_whitespace();
    let abbreviated = || flags().find(|flag| positive.len() > 3 && flag.starts_with(&positive));
    flags().find(is_meant).or_else(abbreviated)
}

/// Every option of vLLM 0.33.0's engine, with its short names.
const ENGINE: &str = include_str!("../../../../../fixtures/vllm/engine_flags.txt");

const WHY: &str = "is an argument of the engine, and over HTTP the engine runs already: give it \
                   to vllm serve, and leave it out here";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], expected: Option<&str>) {
        let known = ["model", "num-prompts"].map(|name| clap::Arg::new(name).long(name));
        let args: Vec<_> = args.iter().copied().map(str::to_owned).collect();
        let error = refuse(&args, &Command::new("x").args(known)).err();
        let expected = expected.map(|flag| CliError::setting(leak(flag), WHY));
        assert_eq!(error, expected, "{args:?}");
    }

    fn leak(flag: &str) -> &'static str {
        flag.to_owned().leak()
    }

    #[test]
    fn the_engines_arguments_are_known_by_every_name() {
        check(
            &["--num-prompts", "4", "--tensor-parallel-size", "2"],
            Some("--tensor-parallel-size"),
        );
        check(&["--gpu-memory-utilization=0.5"], Some("--gpu-memory-utilization"));
        check(&["-tp", "2"], Some("-tp"));
        check(&["--no-enable-prefix-caching"], Some("--enable-prefix-caching"));
        check(&["--compilation-config.mode", "3"], Some("--compilation-config"));
        check(&["--tensor-par", "3"], Some("--tensor-parallel-size"));
    }

    #[test]
    fn what_the_client_has_as_well_is_its_own() {
        check(&["--model", "tiny", "--num-prom", "3"], None);
        check(&["--such-a-flag", "-1", "word"], None);
    }
}
