//! The words of the pages, each explained in a sentence or two.

use crate::html::Html;

/// Returns the section that explains words.
pub(crate) fn glossary(words: &[(&str, &str)]) -> String {
    let mut html = Html::default();
    html.element("h2", "Words").raw("<dl class=\"words-list\">\n");
    for (word, meaning) in words {
        html.element("dt", word).element("dd", meaning);
    }
    html.raw("</dl>\n");
    html.finish()
}

/// Words of the page of a run.
pub(crate) const RUN_WORDS: [(&str, &str); 17] = [
    (
        "TTFT",
        "Time to first token: from sending a request to the arrival of its first output token.",
    ),
    (
        "ITL",
        "Inter-token latency: the gap between two output tokens. Tokens that arrive in one piece share the gap before it evenly.",
    ),
    (
        "TPOT",
        "Time per output token: the time from the first to the last token of a request, divided by the tokens after the first piece. One value per request.",
    ),
    ("E2E", "End to end: from sending a request to the end of its answer."),
    ("Service time", "A latency that counts from the moment at which a request was sent."),
    (
        "Response time",
        "A latency that counts from the moment at which a request was due, so that it contains the client's own queue.",
    ),
    ("In flight", "Requests that were sent and whose answers have not ended."),
    ("p50, p99", "Percentiles: 50 and 99 of 100 values are not larger. p50 is the median."),
    (
        "95 % interval",
        "The range in which the figure of the process that the run sampled lies, with a confidence of 95 %. It accounts for requests that depend on each other in time.",
    ),
    (
        "Effective",
        "Effective sample size: the number of independent values that would tell as much as the run's values, which depend on each other.",
    ),
    (
        "Too short",
        "The run does not suffice for an interval. The factor says how much longer it should be, as far as it shows.",
    ),
    (
        "Rates",
        "Tokens and requests per second at the head leave out the beginning and the end of the run, in which the load was not complete. The whole run's rates divide by its whole duration.",
    ),
    (
        "Settled",
        "The part of the run in which latencies, throughput and requests in flight keep their level. What comes before it is warm-up.",
    ),
    (
        "Longest gap",
        "The longest time between two output tokens of a request; in the timeline it is drawn darker.",
    ),
    (
        "Client audit",
        "Whether the numbers are the server's or the client's: clean, corrected (the client was late at times, and the figures are right all the same), suspect, or client-limited.",
    ),
    (
        "saturated",
        "The server got more load than it handled, so that latencies depend on the length of the run.",
    ),
    ("warming-up", "A figure has another level at the beginning of the run than after it."),
];

/// Words of the page of a comparison.
pub(crate) const COMPARISON_WORDS: [(&str, &str); 8] = [
    ("Change", "From A, before, to B, after, in percent of A."),
    (
        "99 % interval",
        "The range in which the change lies with a confidence of 99 %, from the requests of one run on each side, or from the figures of several runs.",
    ),
    (
        "better, worse",
        "The figure changed by more than chance, with all figures of the comparison tested at once at 1 % (Holm).",
    ),
    ("same", "Chance alone explains the change."),
    ("unknown", "The runs do not tell what chance would do."),
    (
        "not judged",
        "The client of a run was suspect or at its limit, so the change may be the client's.",
    ),
    (
        "Change of each percentile",
        "The p-th percentile of B over that of A. A level line means that all requests became slower or faster alike; a line that rises at its end means that the tail did.",
    ),
    (
        "TTFT, ITL, TPOT, E2E",
        "Time to first token; gap between two output tokens; time per output token of a request; time from sending a request to the end of its answer.",
    ),
];

/// Words of the pages of sweeps and searches.
pub(crate) const SWEEP_WORDS: [(&str, &str); 7] = [
    ("Point", "One run of the sweep, named by the values of the settings that differ."),
    (
        "95 % interval",
        "The range in which the figure of the process that a run sampled lies, with a confidence of 95 %; drawn as a line through the point. A point without it was too short.",
    ),
    ("Pareto frontier", "The points that no other point beats in both directions."),
    (
        "TTFT, TPOT, E2E",
        "Time to first token; time per output token of a request; time from sending a request to the end of its answer.",
    ),
    (
        "Bounds of an objective",
        "The range in which the figure lies with the confidence of the search. An objective holds if the worse end keeps the limit, and fails if even the better end does not.",
    ),
    (
        "Client audit",
        "Whether the numbers are the server's or the client's: clean, corrected, suspect, or client-limited.",
    ),
    (
        "saturated",
        "The server got more load than it handled, so that latencies depend on the length of the run.",
    ),
];

/// Words of the page of repeated runs.
pub(crate) const REPEATS_WORDS: [(&str, &str); 5] = [
    (
        "Spread",
        "The sample standard deviation of a figure between the runs, in percent of the mean over the runs.",
    ),
    (
        "Chance",
        "The change between two groups of runs of one plan that chance exceeds in one of twenty comparisons.",
    ),
    (
        "95 % interval",
        "The range in which the figure of the process that a run sampled lies, with a confidence of 95 %; drawn as a line through the point.",
    ),
    (
        "TTFT, ITL, TPOT, E2E",
        "Time to first token; gap between two output tokens; time per output token of a request; time from sending a request to the end of its answer.",
    ),
    (
        "Client audit",
        "Whether the numbers are the server's or the client's: clean, corrected, suspect, or client-limited.",
    ),
];
