//! Program of the overhead study: measures the client's cost and error.

#[cfg(target_os = "linux")]
mod program {
    use std::io::{Write, stderr, stdout};
    use std::{env, fs};

    use anyhow::{Context, ensure};
    use servemark::client::raise_nofile;
    use servemark_benches::overhead::{
        Options, Study, document, draw, hog, measure, serve, write_plan, write_report,
    };

    pub(crate) fn main() -> anyhow::Result<()> {
        let args: Vec<String> = env::args().skip(1).collect();
        if serve(&args, &mut stdout().lock())? || hog(&args)? {
            return Ok(());
        }
        let options = Options::parse(args)?;
        if options.plan {
            return Ok(write_plan(&options, &mut stdout().lock())?);
        }
        let study = study(&options)?;
        keep(&options, &study)?;
        write_report(&study, options.style, &mut stdout().lock())?;
        let failed = study.failed.len();
        ensure!(failed == 0, "{failed} runs failed");
        Ok(())
    }

    /// Runs a new study, or reads the one that was asked for.
    fn study(options: &Options) -> anyhow::Result<Study> {
        if let Some(path) = &options.from {
            let json = fs::read_to_string(path);
            let json = json.with_context(|| format!("cannot read {}", path.display()))?;
            return serde_json::from_str(&json)
                .with_context(|| format!("{} is no study", path.display()));
        }
        raise_nofile()?;
        let program = env::current_exe().context("cannot find this program again")?;
        measure(options, &program, |step| {
            // Progress is lost without harm if standard error is closed.
            let _ = writeln!(stderr(), "{step}");
        })
    }

    fn keep(options: &Options, study: &Study) -> anyhow::Result<()> {
        if let Some(path) = &options.out {
            let json = serde_json::to_string_pretty(study)?;
            fs::write(path, json).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if let Some(folder) = &options.plots {
            draw(study, folder)?;
        }
        options.docs.as_ref().map_or(Ok(()), |root| document(study, root))
    }
}

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    program::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> anyhow::Result<()> {
    anyhow::bail!("the overhead study needs Linux: it pins cores and reads through epoll")
}
