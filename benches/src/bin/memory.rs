//! Program of the memory study: measures the memory of streams that wait, and of tokens that are
//! kept and scored.

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    use std::io::{Write, stderr, stdout};

    use anyhow::Context;
    use servemark_benches::memory::{Options, measure, measure_case, write_report};
    use servemark_benches::overhead::serve;

    let args: Vec<String> = std::env::args().skip(1).collect();
    if serve(&args, &mut stdout().lock())? {
        return Ok(());
    }
    if let [CHILD, case] = &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        let figures = measure_case(&serde_json::from_str(case)?)?;
        return Ok(writeln!(stdout(), "{}", serde_json::to_string(&figures)?)?);
    }
    let options = Options::parse(args)?;
    let program = std::env::current_exe().context("cannot find this program again")?;
    let rows = measure(&options, &[program.as_os_str(), CHILD.as_ref()], |case| {
        // Progress is lost without harm if standard error is closed.
        let _ = writeln!(stderr(), "{case}");
    })?;
    Ok(write_report(&rows, &mut stdout().lock())?)
}

/// First argument with which the program measures one case and prints its figures.
#[cfg(target_os = "linux")]
const CHILD: &str = "--child";

#[cfg(not(target_os = "linux"))]
fn main() -> anyhow::Result<()> {
    anyhow::bail!("the memory study needs Linux: it asks the kernel how much a process has")
}
