//! Summarizers of a config: the columns of the tables, and the part of the run that they cover.

use servemark_metrics::{StableCounting, StableRule, StageSpec, StageStatistic};
use servemark_report::AisbenchOptions;

use super::python::{Fault, Located};
use super::section::{Section, class, items, text};

/// Returns the options of a task's tables. Unknown statistics are left out and named in `warnings`,
/// as in AISBench.
pub(super) fn options(
    model: &str,
    dataset: &str,
    summarizer: Option<&Located>,
    warnings: &mut Vec<String>,
) -> Result<AisbenchOptions, Fault> {
    let options = AisbenchOptions::new(model, dataset);
    let Some(summarizer) = summarizer else { return Ok(options) };
    let mut section = Section::of(summarizer, "a summarizer")?;
    if section.text("attr")?.as_deref() != Some("performance") {
        // A summarizer of accuracy selects the default tables, as in AISBench.
        return Ok(options);
    }
    section.ignore(&["type"]);
    let calculator = section.section("calculator", "a calculator")?;
    section.finish()?;
    let Some(mut calculator) = calculator else { return Ok(options) };
    let kind = calculator.require("type")?;
    let statistics = calculator.take("stats_list");
    calculator.finish()?;
    let options = match class(&kind)?.as_str() {
        "DefaultPerfMetricCalculator" => options,
        "StablePerfMetricCalculator" => options.with_stage(StageSpec::Stable {
            rule: StableRule::default(),
            counting: StableCounting::default(),
        }),
        other => return Err(kind.fault(format!("the calculator {other} is not built"))),
    };
    match statistics {
        Some(list) => Ok(options.with_statistics(parse_statistics(&list, warnings)?)),
        None => Ok(options),
    }
}

fn parse_statistics(
    list: &Located,
    warnings: &mut Vec<String>,
) -> Result<Vec<StageStatistic>, Fault> {
    let mut known = Vec::new();
    for item in items(list, "stats_list")? {
        let name = text(&item, "a statistic")?;
        match name.parse() {
            Ok(statistic) => known.push(statistic),
            Err(_) => warnings.push(format!("{}: there is no statistic {name:?}", item.place)),
        }
    }
    known.truncate(MOST_COLUMNS);
    Ok(if known.is_empty() { vec![StageStatistic::Average] } else { known })
}

const MOST_COLUMNS: usize = 8;
