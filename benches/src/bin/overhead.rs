//! What the client costs and how far it errs: the overhead study's program.

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    use std::io::{Write, stderr, stdout};

    use anyhow::{Context, ensure};
    use servemark::client::raise_nofile;
    use servemark_benches::overhead::{Options, hog, measure, serve, write_plan, write_report};

    let args: Vec<String> = std::env::args().skip(1).collect();
    if serve(&args, &mut stdout().lock())? || hog(&args)? {
        return Ok(());
    }
    let options = Options::parse(args)?;
    if options.plan {
        return Ok(write_plan(&options, &mut stdout().lock())?);
    }
    raise_nofile()?;
    let program = std::env::current_exe().context("cannot find this program again")?;
    let study = measure(&options, &program, |step| {
        // Whoever closed the screen does not want to know.
        let _ = writeln!(stderr(), "{step}");
    })?;
    if let Some(path) = &options.out {
        let json = serde_json::to_string_pretty(&study)?;
        std::fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    write_report(&study, options.style, &mut stdout().lock())?;
    let failed = study.failed.len();
    ensure!(failed == 0, "{failed} runs failed");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() -> anyhow::Result<()> {
    anyhow::bail!("the overhead study needs Linux: it pins cores and reads through epoll")
}
