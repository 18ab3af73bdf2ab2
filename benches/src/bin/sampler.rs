//! Program of the sampler study: measures what reading the metrics of servers costs beside a run.

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    use std::io::{Write, stderr, stdout};

    use anyhow::Context;
    use servemark_benches::sampler::{Options, export, measure, write_table};

    /// First argument with which the program is the exporter, in a process of its own. The second
    /// one is the percentage of numbers that change.
    const CHILD: &str = "--exporter";

    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [first, changing] = args.as_slice()
        && first == CHILD
    {
        return export(changing.parse()?, &mut stdout().lock());
    }
    let options = Options::parse(args)?;
    let program = std::env::current_exe().context("cannot find this program again")?;
    let changing = options.changing.to_string();
    let rounds =
        measure(&options, &[program.as_os_str(), CHILD.as_ref(), changing.as_ref()], |step| {
            // Progress is lost without harm if standard error is closed.
            let _ = writeln!(stderr(), "{step}");
        })?;
    Ok(write_table(&options, &rounds, &mut stdout().lock())?)
}

#[cfg(not(target_os = "linux"))]
fn main() -> anyhow::Result<()> {
    anyhow::bail!("the study reads the CPU time of a thread from Linux")
}
