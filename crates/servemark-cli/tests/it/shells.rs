//! Shells that load the scripts of `servemark completions` and complete command lines with them.

use std::io::Write;
use std::process::{Command, Stdio};

use servemark_cli::{Command as Parsed, Environment, Invocation, dispatch};

fn script(shell: &str) -> String {
    let args = ["completions", shell].map(Into::into);
    match dispatch::parse(args, &Environment::default()).unwrap() {
        Invocation::Command(Parsed::Text(script)) => script,
        other => panic!("{other:?}"),
    }
}

/// Runs a shell with a program on its standard input and returns what it prints, or `None` if the
/// shell is not installed.
fn run(shell: &str, args: &[&str], program: &str) -> Option<String> {
    let mut command = Command::new(shell);
    command.args(args).env_remove("BASH_ENV").env_remove("ENV");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().ok()?;
    // Scripts are longer than a pipe, and the shell prints nothing until it has read them.
    child.stdin.take().unwrap().write_all(program.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{shell}: {:?}", output.status);
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Completes the last word of a command line in Bash.
#[track_caller]
fn check_bash(line: &[&str], expected: &[&str]) {
    let (last, before) = line.split_last().unwrap();
    let previous = before.last().unwrap();
    let words = line.join("' '");
    let at = before.len();
    let program = format!(
        "{}\nset -- $(complete -p servemark)\nwhile [ $# -gt 1 ] && [ \"$1\" != -F ]; do shift; done\n\
         COMP_WORDS=('{words}'); COMP_CWORD={at}\n\"$2\" servemark '{last}' '{previous}'\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        script("bash")
    );
    let Some(output) = run("bash", &["--noprofile", "--norc"], &program) else { return };
    let found: Vec<&str> = output.lines().collect();
    assert_eq!(found, expected, "{line:?}");
}

#[test]
fn bash_completes_commands_flags_and_values() {
    check_bash(&["servemark", "comp"], &["compare", "completions"]);
    check_bash(&["servemark", "compare", "--fail"], &["--fail-if"]);
    check_bash(&["servemark", "vllm", "bench", "ser"], &["serve"]);
    check_bash(&["servemark", "vllm", "bench", "serve", "--request-r"], &["--request-rate"]);
    check_bash(&["servemark", "evalscope", "perf", "--max-turns"], &["--max-turns"]);
    check_bash(&["servemark", "bench-serving", "--backend", "sglang-oai-"], &["sglang-oai-chat"]);
    check_bash(&["servemark", "completions", "po"], &["powershell"]);
    check_bash(&["servemark", "help", "compar"], &["compare"]);
}

#[test]
fn fish_completes_commands_and_flags() {
    for (line, expected) in [
        ("servemark compar", "compare"),
        ("servemark compare --fail", "--fail-if"),
        ("servemark vllm bench serve --request-r", "--request-rate"),
        ("servemark vllm bench sweep plot_", "plot_pareto"),
        ("servemark vllm bench sweep serve --show-st", "--show-stdout"),
    ] {
        let program = format!("{}\ncomplete -C '{line}'\n", script("fish"));
        let Some(output) = run("fish", &["--no-config"], &program) else { return };
        let found: Vec<&str> = output.lines().filter_map(|line| line.split('\t').next()).collect();
        assert_eq!(found, [expected], "{line}");
    }
}

#[test]
fn zsh_reads_the_script() {
    // `compdef` is a function of zsh's completion system, which needs a terminal.
    let program = format!("compdef() {{ print $@ }}\n{}", script("zsh"));
    let Some(output) = run("zsh", &["-f"], &program) else { return };
    assert_eq!(output, "_servemark servemark\n");
}
