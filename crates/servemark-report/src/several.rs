//! Several runs of one plan, in the table format of vLLM's Rust client with one more column.

use std::io;

use servemark_metrics::{FigureScope, FigureSpread, SeveralRuns};

/// Writes the spread of each figure over several runs of one plan as a table.
pub fn write_several(several: &SeveralRuns, out: &mut dyn io::Write) -> io::Result<()> {
    let runs = several.runs;
    let of =
        |part: FigureScope| several.figures.iter().filter(move |spread| spread.figure.of == part);
    title(&format!(" Multi-Run Summary ({runs} runs) "), out)?;
    of(FigureScope::Run).try_for_each(|spread| writeln!(out, "{}", row(spread)))?;
    writeln!(out, "{:=<WIDTH$}", "")?;
    let Some(steady) = of(FigureScope::Plateau).map(|spread| spread.runs).max() else {
        return Ok(());
    };
    writeln!(out)?;
    title(&format!(" Steady-State Summary ({steady}/{runs} runs) "), out)?;
    of(FigureScope::Plateau).try_for_each(|spread| writeln!(out, "{}", row(spread)))?;
    writeln!(out, "{:=<WIDTH$}", "")
}

fn title(title: &str, out: &mut dyn io::Write) -> io::Result<()> {
    writeln!(out, "{title:=^WIDTH$}")?;
    let [mean, std, cv, min, max] = ["Mean", "Std", "CV (%)", "Min", "Max"];
    writeln!(out, "{:<35} {mean:>10} {std:>10} {cv:>8} {min:>10} {max:>10}", "Metric")?;
    writeln!(out, "{:-<35} {:->10} {:->10} {:->8} {:->10} {:->10}", "", "", "", "", "", "")
}

fn row(spread: &FigureSpread) -> String {
    let [mean, min, max] = [spread.mean, spread.min, spread.max].map(number);
    let std = spread.std.map_or_else(|| "-".to_owned(), number);
    let cv = spread.cv.map_or_else(|| "-".to_owned(), |cv| format!("{:.1}", cv * 100.0));
    let label = spread.figure.to_string();
    format!("{label:<35} {mean:>10} {std:>10} {cv:>8} {min:>10} {max:>10}")
}

/// Formats whole numbers without decimals and others with two.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

const WIDTH: usize = 88;

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::Value;
    use servemark_core::{Footer, Header, RunFacts, RunLog, Stamp};
    use servemark_metrics::{Figure, MetricPolicy, Metrics, Quantity};

    use super::*;

    #[test]
    fn each_number_has_its_spread() {
        let runs = [1_u64, 2, 4].map(|seconds| {
            let mut footer = Footer::default();
            footer.ended = Stamp::from_nanos(seconds * 500_000_000);
            let header = Header::new(0, RunFacts::default(), Value::Null);
            let log = RunLog::new(header, Vec::new(), Some(footer));
            Metrics::score(&log, &MetricPolicy::native())
        });
        let figures = [Quantity::Duration, Quantity::Failed].map(Figure::new);
        let mut out = Vec::new();
        write_several(&SeveralRuns::of(&figures, &runs), &mut out).unwrap();
        assert_snapshot!(String::from_utf8(out).unwrap(), @r"
        ============================== Multi-Run Summary (3 runs) ==============================
        Metric                                    Mean        Std   CV (%)        Min        Max
        ----------------------------------- ---------- ---------- -------- ---------- ----------
        Duration (s)                              1.17       0.76     65.5       0.50          2
        Failed requests                              0          0        -          0          0
        ========================================================================================
        ");
    }
}
