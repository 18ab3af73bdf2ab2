//! The picture of lengths, compared with the values that vLLM passes to Matplotlib.

use serde_json::Value;
use servemark_metrics::{Audit, MetricPolicy, Metrics};
use servemark_report::chart::{Figure, Panel};
use servemark_report::{DatasetStatsPlot, Report};

use crate::recorded::Recorded;

fn figure(run: &Recorded) -> Figure {
    let log = run.golden.log();
    let metrics = Metrics::score(&log, &MetricPolicy::vllm());
    DatasetStatsPlot::figure(&Report::new(&log, &metrics, &Audit::of(&log)))
}

fn panels(figure: &Figure) -> Vec<&Panel> {
    figure.rows.iter().flatten().collect()
}

#[test]
fn panels_and_histograms_are_vllms() {
    for name in ["plots", "plots_named"] {
        let run = Recorded::from_name(name);
        let theirs = &run.left.drawn["statistics"];
        let figure = figure(&run);
        let panels = panels(&figure);
        let texts =
            |of: fn(&Panel) -> &str| -> Value { panels.iter().map(|panel| of(panel)).collect() };
        assert_eq!(texts(|panel| &panel.title), theirs["titles"]);
        assert_eq!(texts(|panel| &panel.x.label), theirs["labels"]);
        for (panel, histogram) in panels.iter().zip(theirs["histograms"].as_array().unwrap()) {
            let bars = &panel.bars[0].bars;
            let counts: Vec<_> = bars.iter().map(|bar| bar.y.1).collect();
            let expected: Vec<f64> = serde_json::from_value(histogram["counts"].clone()).unwrap();
            assert_eq!(counts, expected, "{name}: {}", panel.title);
            let mut edges: Vec<f64> = bars.iter().map(|bar| bar.x.0).collect();
            edges.push(bars[29].x.1);
            assert_eq!(Value::from(edges), histogram["edges"], "{name}: {}", panel.title);
        }
    }
}

#[test]
fn each_request_has_its_prompt_with_its_answer_on_top() {
    let run = Recorded::from_name("plots");
    let (figure, log) = (figure(&run), run.golden.log());
    let columns = &panels(&figure)[3].bars;
    for (record, (prompt, answer)) in
        log.measured().zip(columns[0].bars.iter().zip(&columns[1].bars))
    {
        let usage = record.usage.unwrap();
        assert_eq!(prompt.y, (0.0, f64::from(usage.prompt_tokens.unwrap())));
        let output = if record.is_success() { usage.completion_tokens.unwrap() } else { 0 };
        assert_eq!((answer.x, answer.y), (prompt.x, (prompt.y.1, prompt.y.1 + f64::from(output))));
    }
}

#[test]
fn a_drawing_has_its_boxes() {
    let svg = figure(&Recorded::from_name("plots")).svg().unwrap();
    assert!(svg.matches("<polygon").count() > 60, "{}", svg.matches("<polygon").count());
    assert!(svg.contains("Tokens per Request (Stacked)"));
}
