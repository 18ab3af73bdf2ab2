//! Energy of the GPUs, and what the work costs.

use servemark_metrics::{Cost, Energy, Metrics};

use super::style::{number, percent, unit};
use crate::table::Table;

/// Writes energy and cost; writes nothing if neither is known.
pub(super) fn energy(table: &mut Table, metrics: &Metrics) {
    if let Some(energy) = &metrics.energy {
        of_gpus(table, energy);
    }
    if let Some(cost) = &metrics.cost {
        self::cost(table, cost);
    }
}

fn of_gpus(table: &mut Table, energy: &Energy) {
    let Energy { joules, mean_watts, devices, phases, .. } = energy;
    table.section("Energy of the GPUs");
    let gpus = if *devices == 1 { "1 GPU".to_owned() } else { format!("{devices} GPUs") };
    let idle = energy.idle_watts.map(|watts| format!(", {} W idle", number(Some(watts))));
    let idle = idle.unwrap_or_default();
    let (whole, mean) = (number(Some(*joules)), number(Some(*mean_watts)));
    table.row("energy", format!("{whole} J of {gpus}, {mean} W in the mean{idle}"));
    table.row("per output token", unit(energy.joules_per_output_token, "J"));
    table.row("per request", unit(energy.joules_per_request, "J"));
    if *joules > 0.0 {
        let share = |part: f64| percent(part / joules);
        let parts = [phases.prefill_joules, phases.decode_joules, phases.idle_joules].map(share);
        let [prefill, decode, idle] = parts;
        table.row("by phase", format!("prefill {prefill}, decode {decode}, no request {idle}"));
    }
    for reason in &energy.reasons {
        table.paragraph("NOT VALID", reason);
    }
}

fn cost(table: &mut Table, cost: &Cost) {
    let gpus = cost.gpus;
    table.section(&format!("Per GPU, of {gpus}"));
    table.row("output", unit(cost.output_tokens_per_s_per_gpu, "tokens/s"));
    table.row("all tokens", unit(cost.total_tokens_per_s_per_gpu, "tokens/s"));
    let Some(price) = cost.price_per_gpu_hour else { return };
    table.row("price", format!("{} an hour", number(Some(price))));
    table.row("1M output tokens", number(cost.per_million_output_tokens));
    table.row("1M tokens", number(cost.per_million_tokens));
    table.row("1,000 requests", number(cost.per_thousand_requests));
}
