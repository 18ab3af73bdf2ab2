#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::print_stdout, clippy::unwrap_used)]
use servemark_rng::NumpyRandom;
use servemark_statistics::Sample;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

type Gen = Box<dyn FnMut(&mut NumpyRandom, usize) -> Vec<f64>>;

fn ar1(r: f64) -> Gen {
    Box::new(move |g, n| {
        let mut x = g.normal(0.0, 1.0);
        let s = (1.0 - r * r).sqrt();
        (0..n)
            .map(|_| {
                x = r * x + s * g.normal(0.0, 1.0);
                10.0 + x
            })
            .collect()
    })
}

fn queue(rho: f64, general: bool) -> Gen {
    Box::new(move |g, n| {
        let c = 16;
        let mut free: BinaryHeap<Reverse<u64>> = (0..c).map(|_| Reverse(0u64)).collect();
        let mut t = 0.0;
        let rate = rho * c as f64;
        (0..n)
            .map(|_| {
                t += g.exponential(1.0 / rate);
                let Reverse(f) = free.pop().unwrap();
                let f = f as f64 / 1e9;
                let start = f.max(t);
                let s = if general { (g.normal(0.0, 1.0) - 0.5).exp() } else { 1.0 };
                free.push(Reverse(((start + s) * 1e9) as u64));
                start - t + 0.05 + 1e-4 * g.random_sample()
            })
            .collect()
    })
}

/// iteration-level engine: step time a + b*batch; prefill cost per token; ttft of requests in order of arrival
fn engine(load: f64, closed: usize) -> Gen {
    Box::new(move |g, n| {
        let (slots, a, b, pf) = (32usize, 0.010, 0.0005, 0.004);
        let mean_out = 64.0;
        // capacity: requests per second at full batch
        let cap = slots as f64 / (mean_out * (a + b * slots as f64 + 0.0) + slots as f64 * pf);
        let mut arrivals = std::collections::VecDeque::new();
        let mut t = 0.0;
        if closed > 0 {
            for i in 0..closed {
                arrivals.push_back((i, 0.0));
            }
        } else {
            for i in 0..n {
                t += g.exponential(1.0 / (load * cap));
                arrivals.push_back((i, t));
            }
        }
        let mut next_id = closed;
        let mut now = 0.0;
        let mut running: Vec<i64> = vec![];
        let mut ttft = vec![0.0; n];
        let mut got = 0;
        while got < n {
            if running.is_empty() {
                if let Some(&(_, at)) = arrivals.front() {
                    if at > now {
                        now = at;
                    }
                }
            }
            let mut admitted = vec![];
            while running.len() + admitted.len() < slots {
                match arrivals.front() {
                    Some(&(i, at)) if at <= now => {
                        arrivals.pop_front();
                        admitted.push((i, at));
                    }
                    _ => break,
                }
            }
            now += a + b * (running.len() + admitted.len()) as f64 + pf * admitted.len() as f64;
            for (i, at) in admitted {
                if i < n {
                    ttft[i] = now - at;
                    got += 1;
                }
                let len = (g.exponential(mean_out)).max(1.0) as i64;
                running.push(len);
            }
            let before = running.len();
            for r in &mut running {
                *r -= 1;
            }
            running.retain(|r| *r > 0);
            if closed > 0 {
                for _ in running.len()..before {
                    arrivals.push_back((next_id, now));
                    next_id += 1;
                }
            }
        }
        ttft
    })
}

fn main() {
    let reps: usize = std::env::args().nth(1).map_or(400, |a| a.parse().unwrap());
    let only = std::env::args().nth(2);
    let mut cells: Vec<(&str, Gen)> = vec![
        ("lognormal", Box::new(|g, n| (0..n).map(|_| g.normal(0.0, 1.0).exp()).collect())),
        (
            "bimodal",
            Box::new(|g, n| {
                (0..n)
                    .map(|_| {
                        if g.random_sample() < 0.9 {
                            g.normal(1.0, 0.1)
                        } else {
                            g.normal(5.0, 0.3)
                        }
                    })
                    .collect()
            }),
        ),
        ("pareto2.5", Box::new(|g, n| (0..n).map(|_| g.random_sample().powf(-0.4)).collect())),
        ("ar.9", ar1(0.9)),
        ("ar.98", ar1(0.98)),
        ("md16 50", queue(0.5, false)),
        ("md16 70", queue(0.7, false)),
        ("md16 90", queue(0.9, false)),
        ("md16 95", queue(0.95, false)),
        ("mg16 50", queue(0.5, true)),
        ("mg16 70", queue(0.7, true)),
        ("mg16 90", queue(0.9, true)),
        ("mg16 95", queue(0.95, true)),
        ("closed 48", engine(0.0, 48)),
        ("closed 32", engine(0.0, 32)),
        ("engine 60", engine(0.6, 0)),
        ("engine 76", engine(0.76, 0)),
        ("engine 88", engine(0.88, 0)),
    ];
    println!("cell n | mean: miss refuse width ess | p50: miss refuse | p99: miss refuse");
    for (name, generate) in &mut cells {
        if only.as_ref().is_some_and(|o| !name.contains(o.as_str())) {
            continue;
        }
        let mut g = NumpyRandom::seeded(7);
        let long = generate(&mut g, 4_000_000);
        let tail = &long[20_000..];
        let tm = tail.iter().sum::<f64>() / tail.len() as f64;
        let mut s = tail.to_vec();
        s.sort_unstable_by(f64::total_cmp);
        let tp = |q: f64| s[(s.len() as f64 * q) as usize];
        println!("   truth mean {tm:.5} p50 {:.5} p90 {:.5} p99 {:.5}", tp(0.5), tp(0.9), tp(0.99));
        let truths = [tm, tp(0.5), tp(0.99)];
        for n in [400usize, 1000, 5000] {
            let reps = if n == 5000 { reps / 2 } else { reps };
            let mut miss = [0; 3];
            let mut refuse = [0; 3];
            let mut low = [0; 3];
            let mut ess = 0.0;
            let mut width = vec![];
            let mut means = vec![];
            for rep in 0..reps {
                let mut g = NumpyRandom::seeded(1000 + rep as u32 + n as u32 * 7919);
                let x = generate(&mut g, n);
                let sm: Sample = x.iter().copied().collect();
                let ps = sm.percentiles(&[0.5, 0.99], 0.95);
                let es = [sm.mean(0.95), ps[0], ps[1]];
                ess += es[0].effective;
                means.push(es[0].value);
                for k in 0..3 {
                    match es[k].bounds.known() {
                        None => refuse[k] += 1,
                        Some((l, h)) => {
                            if truths[k] < l {
                                miss[k] += 1;
                                low[k] += 1;
                            }
                            if truths[k] > h {
                                miss[k] += 1;
                            }
                            if k == 0 {
                                let m = es[0].value;
                                let v = x.iter().map(|v| (v - m).powi(2)).sum::<f64>()
                                    / (n as f64 - 1.0);
                                width.push((h - l) / (2.0 * 1.96 * (v / n as f64).sqrt()));
                            }
                        }
                    }
                }
            }
            width.sort_by(f64::total_cmp);
            means.sort_by(f64::total_cmp);
            if false {}
            println!(
                "   run means: p10 {:.5} p50 {:.5} p90 {:.5}",
                means[reps / 10],
                means[reps / 2],
                means[reps * 9 / 10]
            );
            let p = |k: i32| 100.0 * k as f64 / reps as f64;
            println!(
                "{name:10} {n:5} | {:5.1} ({:4.1}) {:5.1} w {:.2} ess {:6.0} | {:5.1} {:5.1} | {:5.1} ({:4.1}) {:5.1}",
                p(miss[0]),
                p(low[0]),
                p(refuse[0]),
                width.get(width.len() / 2).copied().unwrap_or(f64::NAN),
                ess / reps as f64,
                p(miss[1]),
                p(refuse[1]),
                p(miss[2]),
                p(low[2]),
                p(refuse[2])
            );
        }
    }
}
