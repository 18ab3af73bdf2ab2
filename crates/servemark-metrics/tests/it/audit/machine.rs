//! The client's threads, the network, and Little's law.

use super::*;

#[test]
fn a_shard_without_idle_time_of_its_own_doing_is_the_limit() {
    let shards = |cpu: u64, run_delay: u64| {
        Run::with_cost(move |cost| cost.shards = vec![shard(10, 0), shard(cpu, run_delay)])
    };
    shards(90, 4).is(Verdict::Clean, "");
    shards(94, 6).is(Verdict::Corrected, "shard 2 ran, or waited for a core, for 100.0 %");
    shards(95, 0).is(Verdict::ClientLimited, "shard 2 ran for 95.0 %");
}

#[test]
fn of_a_thread_of_which_no_more_is_known_its_cpu_time_counts() {
    let run = Run::with_cost(|cost| *cost = ClientCost::new(96, 100));
    run.is(Verdict::ClientLimited, "shard 1 ran for 96.0 %");
    assert_eq!(
        run.audit().unchecked,
        ["waits for a core: the system does not say", "steal: the system does not say"]
    );
}

#[test]
fn a_run_log_that_holds_up_the_shards_limits_the_client() {
    let waiting = |millis: u64| Run::with_cost(move |cost| cost.log_wait_ns = millis * 1_000_000);
    waiting(199).is(Verdict::Clean, "");
    waiting(200).is(Verdict::ClientLimited, "the writer of the run log for 1.0 %");
}

#[test]
fn steal_makes_the_kernels_stamps_suspect() {
    let stolen = |millis: u64| Run::with_cost(move |cost| cost.steal_ns = Some(millis * 1_000_000));
    stolen(1_999).is(Verdict::Clean, "");
    stolen(2_000).is(Verdict::Suspect, "the hypervisor took 5.0 %");
}

#[test]
fn the_network_is_summed_up() {
    let network = Run::clean().audit().network;
    assert_eq!((network.requests, network.retransmits, network.out_of_order), (1_000, 1_000, 0));
    assert_eq!((network.rtt.median_us, network.min_rtt.max_us), (Some(60.0), Some(30.0)));
}

#[test]
fn how_far_a_departure_is_from_the_write_is_told_where_it_is_known() {
    assert_eq!(Run::clean().audit().network.transmit.samples, 0);
    let transmit = Run::with(3, |request| request.left_after = Some(20)).audit().network.transmit;
    assert_eq!(
        (transmit.samples, transmit.median_us, transmit.max_us),
        (3, Some(20.0), Some(20.0))
    );
}

#[test]
fn littles_law_holds_in_the_middle_of_a_steady_run() {
    let law = Run::clean().audit().littles_law.unwrap();
    assert!((law.concurrency - 5.5).abs() < 0.01, "{law:?}");
    assert!((law.requests_per_s - 100.0).abs() < 0.2, "{law:?}");
    assert!((law.mean_e2el_ms - 55.0).abs() < 1e-9 && law.difference.abs() < 0.01, "{law:?}");
}

/// Returns a run in which `percent` of the requests fail `ends_after` microseconds after they were
/// sent.
fn failing(percent: u64, ends_after: u64) -> Run {
    Run::with_each(move |request| {
        let index = (request.due - 1_000_000) / 10_000;
        // Failures are spread evenly over the run: 37 has no factor in common with 100.
        if index * 37 % 100 < percent {
            (request.fails, request.ends_after) = (true, ends_after);
            request.pieces.retain(|&(after, _)| after < ends_after);
        }
    })
}

#[test]
fn failures_count_on_both_sides_however_many_and_slow_they_are() {
    for percent in [0, 20, 60] {
        for ends_after in [1_500, 55_000, 220_000] {
            let audit = failing(percent, ends_after).audit();
            let law = audit.littles_law.expect("a long run");
            assert!(law.difference.abs() < 0.02, "{percent} % after {ends_after} us: {law:?}");
            assert_eq!(audit.verdict, Verdict::Clean, "{percent} % after {ends_after} us: {audit}");
        }
    }
}

#[test]
fn tries_that_were_made_again_count_on_both_sides_too() {
    let steady = Run::clean().audit().littles_law.expect("a long run");
    let mut run = failing(20, 220_000);
    run.requests.iter_mut().for_each(|request| request.is_retried = request.fails);
    let law = run.audit().littles_law.expect("a long run");
    assert!(law.difference.abs() < 0.02, "{law:?}");
    assert!(law.concurrency > steady.concurrency + 2.0, "{law:?}");
}

#[test]
fn requests_that_pile_up_in_the_run_break_it() {
    let piling = Run::with_each(|request| {
        let index = (request.due - 1_000_000) / 10_000;
        // One in three requests of the second half hangs until the run is over.
        if index > 500 && index.is_multiple_of(3) {
            request.ends_after = 11_500_000 - request.sent;
        }
    });
    let law = piling.audit().littles_law.expect("a long run");
    assert!(law.difference < -0.5, "{law:?}");
    piling.is(Verdict::Suspect, "throughput x mean latency of all that ended gives");
}

#[test]
fn a_run_of_a_few_latencies_is_not_held_against_it() {
    let mut run = Run::clean();
    run.requests.truncate(100);
    let audit = run.audit();
    assert_eq!(audit.littles_law, None);
    assert!(audit.unchecked[0].starts_with("Little's law"), "{:?}", audit.unchecked);
}
