//! Recognises the arguments of vLLM's engine on a command line.

use crate::error::CliError;

/// Returns whether a name is the full name of an engine's flag.
pub(super) fn is_flag(name: &str) -> bool {
    flags().any(|flag| flag == name)
}

/// Returns whether a name is an engine's switch with the prefix `--no-`.
pub(super) fn is_negated(name: &str) -> bool {
    name.strip_prefix("--no-").is_some_and(|rest| is_flag(&format!("--{rest}")))
}

/// Replaces abbreviated flags by their full names. They may be flags of the command or of the
/// engine, because vLLM has one parser for both.
pub(super) fn spelled_out(args: Vec<String>, command: &[&str]) -> Result<Vec<String>, CliError> {
    args.into_iter().map(|arg| spell_out(arg, command)).collect()
}

fn spell_out(arg: String, command: &[&str]) -> Result<String, CliError> {
    let (name, value) = arg.split_at(arg.find('=').unwrap_or(arg.len()));
    let is_exact = command.contains(&name) || is_flag(name);
    if is_exact || name.len() < 3 || !name.starts_with("--") {
        return Ok(arg);
    }
    let all = command.iter().copied().chain(flags().map(|flag| -> &str { flag }));
    match all.filter(|flag| flag.starts_with(name)).collect::<Vec<_>>().as_slice() {
        [] => Ok(arg),
        [flag] => Ok(format!("{flag}{value}")),
        several => Err(CliError::Ambiguous { given: arg.clone(), matches: several.join(", ") }),
    }
}

/// Returns the last value of the option with these names.
pub(super) fn value<'a>(args: &'a [String], names: &[&str]) -> Option<&'a str> {
    args.iter().enumerate().rev().find_map(|(place, arg)| match arg.split_once('=') {
        Some((name, value)) => names.contains(&name).then_some(value),
        None if names.contains(&arg.as_str()) => args.get(place + 1).map(String::as_str),
        None => None,
    })
}

/// Returns whether a switch is on; the last argument for it counts.
pub(super) fn is_on(args: &[String], switch: &str) -> bool {
    let off = switch.replacen("--", "--no-", 1);
    args.iter().rev().find(|arg| **arg == switch || **arg == off).is_some_and(|arg| arg == switch)
}

/// Refuses the first engine flag among the arguments, because a server's engine already runs.
pub(super) fn refuse(args: &[String]) -> Result<(), CliError> {
    match flags_of(args).next() {
        None => Ok(()),
        Some(flag) => Err(CliError::setting(flag, WHY)),
    }
}

/// Returns the names of the flags among the arguments.
pub(super) fn flags_of(args: &[String]) -> impl Iterator<Item = &'static str> {
    args.iter().filter_map(|arg| of_engine(name_in(arg)))
}

/// Returns whether all flags among the arguments are the engine's.
pub(super) fn are_known(args: &[String]) -> bool {
    let mut flags = args.iter().map(|arg| name_in(arg)).filter(|name| name.starts_with("--"));
    args.first().is_none_or(|arg| arg.starts_with('-'))
        && flags.all(|name| of_engine(name).is_some())
}

fn name_in(arg: &str) -> &str {
    arg.split_once(['=', '.']).map_or(arg, |(name, _)| name)
}

/// Returns the engine's flag for a name, which may be a short name or a negated switch.
fn of_engine(name: &str) -> Option<&'static str> {
    let positive = name.replacen("--no-", "--", 1);
    ENGINE.split_whitespace().find(|flag| *flag == name || *flag == positive)
}

/// Returns the full names of the engine's flags.
fn flags() -> impl Iterator<Item = &'static str> {
    ENGINE.split_whitespace().filter(|flag| flag.starts_with("--"))
}

/// Recorded options of vLLM 0.33.0's engine with their short names.
const ENGINE: &str = include_str!("../../../flags/vllm/engine_flags.txt");

const WHY: &str = "is an argument of the engine, and a server's engine runs already: give it to \
                   vllm serve, or name no server here";

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(args: &[&str]) -> Vec<String> {
        args.iter().copied().map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(args: &[&str], expected: Option<&'static str>) {
        let expected = expected.map(|flag| CliError::setting(flag, WHY));
        assert_eq!(refuse(&owned(args)).err(), expected, "{args:?}");
    }

    #[test]
    fn the_engines_arguments_are_known_by_every_name() {
        check(&["4", "--tensor-parallel-size", "2"], Some("--tensor-parallel-size"));
        check(&["--gpu-memory-utilization=0.5"], Some("--gpu-memory-utilization"));
        check(&["-tp", "2"], Some("-tp"));
        check(&["--no-enable-prefix-caching"], Some("--enable-prefix-caching"));
        check(&["--compilation-config.mode", "3"], Some("--compilation-config"));
        check(&["--such-a-flag", "-1", "word"], None);
    }

    #[test]
    fn names_may_be_abbreviated_as_one_parser_takes_them() {
        let command = ["--num-prompts", "--enable-multimodal-chat"];
        let spelled = |args: &[&str]| spelled_out(owned(args), &command);
        let full = spelled(&["--num-prom=3", "--tensor-par", "2", "-tp", "--new-one"]).unwrap();
        assert_eq!(full, ["--num-prompts=3", "--tensor-parallel-size", "2", "-tp", "--new-one"]);
        let error = spelled(&["--enable-m"]).unwrap_err().to_string();
        let both = "--enable-m could match --enable-multimodal-chat, --enable-mamba-cache";
        assert!(error.contains(both), "{error}");
    }

    #[test]
    fn the_last_value_counts() {
        let args = owned(&["-dp", "2", "--x", "--data-parallel-size=4"]);
        assert_eq!(value(&args, &["--data-parallel-size", "-dp"]), Some("4"));
        assert_eq!(value(&args[..3], &["--data-parallel-size", "-dp"]), Some("2"));
        assert_eq!(value(&args, &["--y"]), None);
    }
}
