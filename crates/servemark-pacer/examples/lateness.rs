//! Measures how late this system's timer is: one wait for each whole number of milliseconds up to
//! 200, which takes 20 s.
//!
//! ```text
//! cargo run --release -p servemark-pacer --example lateness
//! ```

#![expect(clippy::print_stdout, reason = "the result of an example")]

use std::io;
use std::time::Duration;

use servemark_core::{Clock, MonotonicClock};
use servemark_pacer::{Pacer, SystemPacer};
use tokio::runtime::Builder;

fn main() -> io::Result<()> {
    Builder::new_current_thread().enable_all().build()?.block_on(measure())
}

async fn measure() -> io::Result<()> {
    let pacer = SystemPacer::new(MonotonicClock::start())?;
    let mut late = Vec::new();
    for wait in (1..=200).map(Duration::from_millis) {
        let due = pacer.now() + wait;
        pacer.until(due).await;
        late.push(pacer.now().since(due).as_micros());
    }
    late.sort_unstable();
    let [half, most, last] = [99, 197, 199].map(|index| late[index]);
    println!("late by: p50 {half} us, p99 {most} us, max {last} us");
    Ok(())
}
