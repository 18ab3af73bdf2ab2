//! Runs the sampler study on a small load, as a user starts it.

use std::process::Command;

#[test]
fn a_small_study_gives_a_table() {
    let output = Command::new(env!("CARGO_BIN_EXE_sampler"))
        .args("--runs 1 --urls 2 --changing 62 --streams 2 --tokens 60 --itl-ms 10".split(' '))
        .output()
        .expect("it starts");
    let (table, news) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    let (table, news) = (table.unwrap(), news.unwrap());
    assert!(output.status.success(), "{news}");
    assert!(
        table.starts_with("2 URLs every 100 ms beside 2 streams, 62 % of the numbers new:"),
        "{table}"
    );
    // How large the share is depends on the machine and on the profile of the build.
    let median = table.lines().find_map(|line| line.strip_prefix("| median | | "));
    let shares: Vec<f64> = median
        .into_iter()
        .flat_map(|row| row.split(" | ").take(2))
        .filter_map(|share| share.strip_suffix(" %")?.parse().ok())
        .collect();
    assert!(table.contains("| 1 | ") && shares.iter().all(|share| *share > 0.0), "{table}");
    assert_eq!(shares.len(), 2, "{table}");
    assert!(news.starts_with("round 1 of 1: Round"), "{news}");
}
