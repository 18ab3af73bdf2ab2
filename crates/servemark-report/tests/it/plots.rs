//! Plots for a terminal.

use servemark_metrics::{Audit, MetricPolicy, Metrics, timeline};
use servemark_report::{Report, ThroughputPlots};

use crate::golden::Golden;
use crate::report_text;

fn plots(name: &str) -> String {
    let golden = Golden::all().into_iter().find(|golden| golden.name == name).unwrap();
    let log = golden.log();
    let metrics = Metrics::score(&log, &MetricPolicy::sglang());
    report_text(&ThroughputPlots, &Report::new(&log, &metrics, &Audit::of(&log)))
}

#[test]
fn what_is_plotted_is_what_the_peaks_are_of() {
    for golden in Golden::all() {
        let log = golden.log();
        let scores = golden.exact_scores(&log);
        let metrics = Metrics::of_scores(&log, &golden.policy(), &scores);
        let seconds = timeline(&scores);
        let tokens = seconds.iter().map(|second| second.output_tokens).max().unwrap_or_default();
        let in_flight = seconds.iter().map(|second| second.in_flight).max().unwrap_or_default();
        assert_eq!(tokens, metrics.throughput.peak_output_tokens_per_s, "{}", golden.name);
        assert_eq!(in_flight, metrics.concurrency.peak, "{}", golden.name);
    }
}

#[test]
fn few_seconds_are_wide_and_many_are_narrow() {
    insta::assert_snapshot!(plots("boundaries"), @r"

                                     Output tokens per second
         6.0 |                            ##############
             |                            ##############
             |                            ############################
             |                            ############################
             |                            ############################
             |                            ############################
             |                            ############################
             |              ########################################################
             |              ########################################################
             |              ########################################################
           0 +----------------------------------------------------------------------
              0                                                                    5
                                             Time (s)

                                  Concurrent requests per second
         4.0 |                                          ##############
             |                                          ##############
             |                                          ##############
             |              ##########################################
             |              ##########################################
             |              ########################################################
             |              ########################################################
             |              ########################################################
             |######################################################################
             |######################################################################
           0 +----------------------------------------------------------------------
              0                                                                    5
                                             Time (s)
    ");
    let long = plots("huge_values");
    let axis: Vec<&str> = long.lines().filter(|line| line.ends_with("23458")).collect();
    assert_eq!(axis.len(), 2, "{long}");
    assert!(long.lines().all(|line| line.len() <= 80), "{long}");
}

#[test]
fn a_run_without_a_success_has_empty_plots() {
    let plots = plots("only_failures");
    assert!(plots.contains("Output tokens per second") && !plots.contains('#'), "{plots}");
}
