//! Runs a benchmark command: vLLM's in this process, any other as a child process.

use anyhow::bail;
use servemark::runner::Stop;
use servemark::{ChildStdout, ExitCode, RunContext, Scores, execute, run_command};
use servemark_cli::{Environment, vllm};

use crate::{context, report, screen};

/// Runs a benchmark to its end. Returns an error if it fails.
pub(super) fn run(
    command: &[String],
    output: ChildStdout,
    context: &RunContext,
) -> anyhow::Result<()> {
    match own(command) {
        Some(arguments) => run_here(arguments, output, context),
        None => run_started(command, output, context),
    }
}

/// Returns the arguments of vLLM's benchmark, if the command is one, under any of its names.
fn own(command: &[String]) -> Option<&[String]> {
    let (program, rest) = command.split_first()?;
    let rest = match program.rsplit('/').next() {
        Some("vllm") => rest,
        Some("servemark") if rest.first().is_some_and(|word| word == "vllm") => &rest[1..],
        _ => return None,
    };
    match rest {
        [bench, serve, arguments @ ..] if bench == "bench" && serve == "serve" => Some(arguments),
        _ => None,
    }
}

fn run_here(arguments: &[String], text: ChildStdout, context: &RunContext) -> anyhow::Result<()> {
    let arguments = arguments.iter().map(Into::into);
    let parsed = vllm::parse("vllm bench serve", arguments, &Environment::from_process())?;
    if parsed.plan_only.is_some() {
        bail!("--plan-only measures nothing, and a sweep needs a result");
    }
    if parsed.json {
        bail!("--json belongs in front of --bench-cmd: the sweep prints one document of all runs");
    }
    for warning in &parsed.warnings {
        screen::eprint_line(&format!("warning: {warning}"));
    }
    let mut context = context::with_settings(context, &parsed);
    if text == ChildStdout::Yes {
        context = context::with_screen(context, &parsed);
    }
    let run = execute(&parsed.plan, &context)?;
    let scores = Scores::of_run(&run, &parsed.plan.scoring);
    if text == ChildStdout::Yes {
        report::show(&scores, parsed.full)?;
    }
    match report::keep(&run, &scores, &parsed.plan.output)? {
        ExitCode::Ok => Ok(()),
        ExitCode::Interrupted => bail!("the benchmark was stopped"),
        code => bail!("the benchmark ended with the exit code {}", code as u8),
    }
}

/// Runs a child process to its end.
pub(super) fn run_started(
    command: &[String],
    output: ChildStdout,
    context: &RunContext,
) -> anyhow::Result<()> {
    let status = run_command(command, output, context)?;
    if context.stop.signal().is(Stop::Drain) {
        bail!("{} was stopped", command.join(" "));
    }
    if !status.success() {
        bail!("{} ended with {status}", command.join(" "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vllms_own_benchmark_is_known_by_its_names() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        for (line, arguments) in [
            ("vllm bench serve --model m", Some("--model m")),
            ("/usr/bin/vllm bench serve --model m", Some("--model m")),
            ("bin/servemark vllm bench serve --model m", Some("--model m")),
            ("servemark bench serve --model m", None),
            ("vllm bench latency --model m", None),
            ("python bench.py vllm bench serve", None),
        ] {
            assert_eq!(own(&words(line)).map(<[String]>::to_vec), arguments.map(words), "{line}");
        }
    }
}
