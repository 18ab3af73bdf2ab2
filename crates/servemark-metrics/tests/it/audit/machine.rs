//! The client's threads, the network, and Little's law.

use super::*;

#[test]
fn a_shard_without_idle_time_is_the_limit() {
    let shards = |cpu: u64, run_delay: u64| {
        Run::with_cost(move |cost| cost.shards = vec![shard(10, 0), shard(cpu, run_delay)])
    };
    shards(90, 4).is(Verdict::Clean, "");
    shards(90, 5).is(Verdict::ClientLimited, "shard 2 ran, or waited for a core, for 95.0 %");
    shards(40, 60).is(Verdict::ClientLimited, "100.0 %");
}

#[test]
fn of_a_thread_of_which_no_more_is_known_its_cpu_time_counts() {
    let run = Run::with_cost(|cost| *cost = ClientCost::new(96, 100));
    run.is(Verdict::ClientLimited, "shard 1 ran, or waited for a core, for 96.0 %");
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
    assert_eq!(Run::clean().audit().network.departure.samples, 0);
    let departure = Run::with(3, |request| request.left_after = Some(20)).audit().network.departure;
    assert_eq!(
        (departure.samples, departure.median_us, departure.max_us),
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

#[test]
fn failures_that_hold_much_of_the_concurrency_break_it() {
    let failing = |every: u64| {
        Run::with_each(move |request| request.fails = (request.due / 10_000).is_multiple_of(every))
    };
    failing(12).is(Verdict::Clean, "");
    failing(8).is(Verdict::Suspect, "5.5 requests were in flight");
}

#[test]
fn a_run_of_a_few_latencies_is_not_held_against_it() {
    let mut run = Run::clean();
    run.requests.truncate(100);
    let audit = run.audit();
    assert_eq!(audit.littles_law, None);
    assert!(audit.unchecked[0].starts_with("Little's law"), "{:?}", audit.unchecked);
}
