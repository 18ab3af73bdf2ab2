//! The values that one objective is about, request by request, in the order in which they were
//! sent.

/// The values of runs, request by request: one of each for most latencies, many for those between
/// tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    values: Vec<f64>,
    /// Where each request's values end, run by run.
    runs: Vec<Vec<usize>>,
}

/// So many values of a batch of requests, and what of them is added up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Batch {
    pub(super) values: f64,
    pub(super) sum: f64,
}

impl Column {
    /// What is added next is another run's.
    pub(super) fn begin_run(&mut self) {
        self.runs.push(Vec::new());
    }

    /// The values of the next request.
    pub(super) fn add(&mut self, values: impl IntoIterator<Item = f64>) {
        self.values.extend(values);
        if let Some(run) = self.runs.last_mut() {
            run.push(self.values.len());
        }
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn requests(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// What `of` gives of all values, by batches of requests that were sent one after the other.
    pub(super) fn batches(&self, of: impl Fn(f64) -> f64) -> Vec<Batch> {
        let of_each = batches_of_each(self.runs.len());
        let mut batches = Vec::new();
        let mut from = 0;
        for run in &self.runs {
            for batch in split(run, of_each) {
                let until = *batch.last().unwrap_or(&from);
                let values = &self.values[from..until];
                let sum = values.iter().map(|value| of(*value)).sum();
                batches.push(Batch { values: values.len() as f64, sum });
                from = until;
            }
        }
        batches
    }

    /// How many times more values of this kind it takes than if they were independent of each
    /// other, for a share of them to be known as well: the variance between batches over that of
    /// independent draws. One where all are hits or none is.
    pub(super) fn inflation(&self, is_hit: impl Fn(f64) -> bool) -> f64 {
        let batches = self.batches(|value| if is_hit(value) { 1.0 } else { 0.0 });
        let Some((share, variance)) = ratio(&batches) else { return 1.0 };
        let of_draws = share * (1.0 - share) / self.values.len() as f64;
        if of_draws > 0.0 { (variance / of_draws).max(1.0) } else { 1.0 }
    }
}

/// The sums of all batches over their values, and the variance of that ratio as the batches scatter.
/// If batches follow their predecessors, what lasts longer than one of them does is reckoned in as
/// an autoregression of the first order would have it.
pub(super) fn ratio(batches: &[Batch]) -> Option<(f64, f64)> {
    let values: f64 = batches.iter().map(|batch| batch.values).sum();
    let sum: f64 = batches.iter().map(|batch| batch.sum).sum();
    let free = batches.len().checked_sub(1).filter(|free| *free > 0)? as f64;
    let ratio = (values > 0.0).then(|| sum / values)?;
    let off: Vec<f64> = batches.iter().map(|batch| batch.sum - ratio * batch.values).collect();
    let scatter: f64 = off.iter().map(|off| off * off).sum();
    let variance = (free + 1.0) / free * scatter / values.powi(2);
    Some((ratio, variance * lasting(&off, scatter)))
}

/// How much larger the variance of a mean is for each deviation's likeness to the one before it.
fn lasting(off: &[f64], scatter: f64) -> f64 {
    let alike: f64 = off.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let likeness = if scatter > 0.0 { (alike / scatter).clamp(0.0, MOST_ALIKE) } else { 0.0 };
    (1.0 + likeness) / (1.0 - likeness)
}

/// Parts of a slice of nearly equal lengths, in their order; fewer where there are not so many items.
pub(super) fn split<T>(items: &[T], parts: usize) -> impl Iterator<Item = &[T]> {
    let parts = parts.min(items.len());
    (0..parts).map(move |part| &items[part * items.len() / parts..(part + 1) * items.len() / parts])
}

/// Into how many batches each of so many runs is parted. The more runs, the longer are batches, so
/// that more of what lasts a while is within one.
pub(super) fn batches_of_each(runs: usize) -> usize {
    (BATCHES / runs.max(1)).max(FEWEST)
}

/// Twenty batches are what simulation's textbooks advise: enough for a variance, and long.
const BATCHES: usize = 20;
const FEWEST: usize = 5;
/// No more than this can be told from twenty numbers.
const MOST_ALIKE: f64 = 0.8;
