//! A series of the program on the page of a run: the prompt tokens that were sent in each tenth of
//! a second. The page is written to the file that the command line names, or to the folder for
//! temporary files.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use servemark::backends::{ChatSpec, CommonSpec};
use servemark::core::{RunLog, Sample, Session};
use servemark::mock::{MockServer, MockSpec};
use servemark::page::{RunPage, SeriesLayer, SeriesPanel};
use servemark::runner::LoadSpec;
use servemark::schedule::ArrivalSpec;
use servemark::{Bench, Scores};

/// Returns a panel with the prompt tokens that were sent in each tenth of a second.
fn prompt_tokens(log: &RunLog) -> SeriesPanel {
    let mut tokens: Vec<u32> = Vec::new();
    for record in log.measured() {
        let Some(sent) = record.sent else { continue };
        let tenth = usize::try_from(sent.as_nanos() / 100_000_000).unwrap_or(usize::MAX);
        if tokens.len() <= tenth {
            tokens.resize(tenth + 1, 0);
        }
        tokens[tenth] += record.planned.prompt_tokens;
    }
    let tenths = (0_u32..).zip(tokens);
    let points = tenths.map(|(tenth, sum)| (f64::from(tenth) / 10.0, Some(f64::from(sum))));
    SeriesPanel {
        title: "Prompt tokens".to_owned(),
        unit: "tokens".to_owned(),
        about: "Prompt tokens that were sent in each tenth of a second.".to_owned(),
        layers: vec![SeriesLayer { name: "sent".to_owned(), points: points.collect() }],
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server =
        MockServer::start(MockSpec::new(Duration::from_millis(20), Duration::from_millis(1)))?;
    let target = server.base_url().parse()?;
    let chat = ChatSpec::new(CommonSpec::new("m"));
    let prompts = vec![Session::from(Sample::new("Tell me a story.", 5, 16)); 200];
    let load = LoadSpec::new(ArrivalSpec::at_rate(100.0)?);
    let bench = Bench::at(target, ("chat", chat), ("stories", prompts), 200, load);
    let run = bench.run()?;

    let scores = Scores::of(&run.log, &bench.plan.scoring);
    let judgements = scores.judgements();
    let panels = vec![prompt_tokens(&run.log)];
    let page = RunPage::default().with_judgements(&judgements).with_panels(panels);
    let usual = || std::env::temp_dir().join("servemark-own-panel.html");
    let path = std::env::args_os().nth(1).map_or_else(usual, PathBuf::from);
    scores.write_report(&page, &mut File::create(&path)?)?;
    println!("{}", path.display());
    Ok(())
}
