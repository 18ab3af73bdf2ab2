//! Energy and cost of a run beside a scripted exporter of GPU readings.

use servemark_testkit::{ExporterAnswer, ScriptedExporter};

use crate::program::{Folder, simulated, text};

/// An exporter of two GPUs that take 100 W and 150 W.
fn gpus() -> ScriptedExporter {
    let lines = "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\",UUID=\"GPU-a\"} 100\n\
                 DCGM_FI_DEV_POWER_USAGE{gpu=\"1\",UUID=\"GPU-b\"} 150\n";
    ScriptedExporter::start(move |_| ExporterAnswer::Text(lines.to_owned()))
}

#[test]
fn a_run_tells_its_energy_and_its_cost() {
    let folder = Folder::new();
    let exporter = gpus();
    let url = exporter.url("/metrics");
    let flags = ["--gpu-metrics", &url, "--metrics-interval", "0.1", "--gpus", "2"];
    let price = ["--price-per-gpu-hour", "2.5", "--run-log", "run.jsonl", "--num-prompts", "40"];
    let load = ["--request-rate", "20", "--full"];
    let output = folder.run(&simulated(&[&flags[..], &price, &load].concat()));
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for row in ["Energy of the GPUs", "of 2 GPUs, 250.0 W in the mean", "Per GPU, of 2"] {
        assert!(table.contains(row), "{row} is not in {table}");
    }
}

#[test]
fn a_price_needs_the_number_of_gpus() {
    let folder = Folder::new();
    let output = folder.run(&simulated(&["--price-per-gpu-hour", "2.5"]));
    let news = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{news}");
    assert!(news.contains("--price-per-gpu-hour") && news.contains("--gpus"), "{news}");
}

/// The tests need no GPU: without one, the program prints a warning and the run goes on.
#[test]
fn gpus_that_are_not_there_are_a_warning_if_asked_for() {
    let folder = Folder::new();
    for (asked, is_said) in [("nvml", true), ("auto", false)] {
        let output = folder.run(&simulated(&["--gpu-metrics", asked, "--num-prompts", "4"]));
        let news = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{news}");
        let has_gpu = text(&output.stdout).contains("Energy of the GPUs");
        assert!(has_gpu || news.contains("NVML") == is_said, "{news}");
    }
}
