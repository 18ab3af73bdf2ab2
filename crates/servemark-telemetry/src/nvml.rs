//! Reads NVIDIA's GPUs of this machine by their management library.

use std::fmt::Write;
use std::time::Duration;

use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_POWER_INSTANT;
use nvml_wrapper::{Device, Nvml};
use servemark_core::{Clock as _, MonotonicClock, Stamp};

use crate::{DeviceReader, ReadingOccasion};

/// NVIDIA's management library (NVML), which comes with the driver and is loaded at run time.
///
/// Most of its calls take 0.03 to 0.1 ms of CPU time, that of the energy counter 3 to 15 ms (H200,
/// driver 580). A periodic reading has the power and the reasons of lowered clocks, and once a second
/// the other quantities; the counter is read with an ordered one, and else once in ten seconds.
#[derive(Debug)]
pub struct NvmlReader {
    nvml: Nvml,
    clock: MonotonicClock,
    /// The labels of each GPU, by its position.
    labels: Vec<String>,
    /// When quantities were read last that are not read each time.
    slow: LastReading,
    counter: LastReading,
}

/// When something was read last.
#[derive(Debug, Default)]
struct LastReading(Option<Stamp>);

impl LastReading {
    /// Returns whether it is to be read `now`: on this occasion, or because the last time is long ago.
    fn is_due(&mut self, occasion: ReadingOccasion, interval: Duration, now: Stamp) -> bool {
        let is_old = self.0.is_none_or(|last| now.since(last) >= interval);
        let is_due = is_old || occasion == ReadingOccasion::Ordered;
        if is_due {
            self.0 = Some(now);
        }
        is_due
    }
}

/// What is read besides power and the reasons of lowered clocks.
#[derive(Clone, Copy, Debug)]
struct Besides {
    slow: bool,
    counter: bool,
}

impl NvmlReader {
    /// Loads the library and finds the GPUs.
    pub fn load() -> Result<Self, String> {
        let nvml = Nvml::init().map_err(|error| format!("cannot load NVML: {error}"))?;
        let devices = nvml.device_count().map_err(|error| format!("cannot use NVML: {error}"))?;
        if devices == 0 {
            return Err("NVML knows no GPU of this machine".to_owned());
        }
        let labels = (0..devices).map(|index| {
            let uuid = nvml.device_by_index(index).and_then(|device| device.uuid());
            let uuid = uuid.map_err(|error| format!("NVML cannot name GPU {index}: {error}"))?;
            Ok::<_, String>(format!("{{gpu=\"{index}\",UUID=\"{uuid}\"}}"))
        });
        let labels = labels.collect::<Result<_, _>>()?;
        let clock = MonotonicClock::start();
        let (slow, counter) = (LastReading::default(), LastReading::default());
        Ok(Self { nvml, clock, labels, slow, counter })
    }
}

impl DeviceReader for NvmlReader {
    fn name(&self) -> String {
        "NVML".to_owned()
    }

    fn read(&mut self, occasion: ReadingOccasion) -> Result<String, String> {
        let now = self.clock.now();
        let besides = Besides {
            slow: self.slow.is_due(occasion, SLOW, now),
            counter: self.counter.is_due(occasion, COUNTER, now),
        };
        let devices = (0..).zip(&self.labels).map(|(index, labels)| {
            let device = self.nvml.device_by_index(index);
            let device = device.map_err(|error| format!("cannot read GPU {index}: {error}"))?;
            Ok(lines(&device, labels, besides))
        });
        devices.collect()
    }
}

/// Returns the readings of a device under the names of NVIDIA's exporter. Readings that the device
/// does not support are left out.
fn lines(device: &Device<'_>, labels: &str, besides: Besides) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "DCGM_FI_DEV_{name}{labels} {value}");
        }
    };
    let power = milliwatts(device);
    line("POWER_USAGE", power.map(|milliwatts| f64::from(milliwatts) / 1e3));
    let throttled = device.current_throttle_reasons().ok();
    line("CLOCKS_EVENT_REASONS", throttled.map(|reasons| reasons.bits() as f64));
    // Without power, the counter is all that is known of the energy.
    if besides.counter || power.is_none() {
        // In millijoules, as the exporter has it.
        let energy = device.total_energy_consumption().ok();
        line("TOTAL_ENERGY_CONSUMPTION", energy.map(|millijoules| millijoules as f64));
    }
    if besides.slow || (power.is_none() && throttled.is_none()) {
        let memory = device.memory_info().ok();
        let mebibytes = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
        let clock = |clock| device.clock_info(clock).ok().map(f64::from);
        line("GPU_UTIL", device.utilization_rates().ok().map(|rates| rates.gpu.into()));
        line("FB_USED", memory.as_ref().map(|memory| mebibytes(memory.used)));
        line("FB_FREE", memory.as_ref().map(|memory| mebibytes(memory.free)));
        line("SM_CLOCK", clock(Clock::SM));
        line("MEM_CLOCK", clock(Clock::Memory));
        let temperature = device.temperature(TemperatureSensor::Gpu).ok();
        line("GPU_TEMP", temperature.map(f64::from));
    }
    text
}

/// Returns the power at this instant. A device that does not report it has a mean: of the last second
/// since Ampere, whose changes come half a second late.
fn milliwatts(device: &Device<'_>) -> Option<u32> {
    let values = device.field_values_for(&[FieldId(NVML_FI_DEV_POWER_INSTANT)]);
    let instant = values.ok().and_then(|mut values| match values.pop()?.ok()?.value {
        Ok(SampleValue::U32(milliwatts)) => Some(milliwatts),
        _ => None,
    });
    instant.or_else(|| device.power_usage().ok())
}

/// Time between two readings of quantities that NVML itself renews seldom or that change slowly.
const SLOW: Duration = Duration::from_secs(1);

/// Time between two readings of the energy counter.
const COUNTER: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_long_is_read_on_order_and_when_the_last_time_is_long_ago() {
        let mut last = LastReading::default();
        let mut is_due = |occasion, second: u64| {
            last.is_due(
                occasion,
                Duration::from_secs(10),
                Stamp::from_nanos(second * 1_000_000_000),
            )
        };
        assert!(is_due(ReadingOccasion::Periodic, 1), "the first time");
        assert!(!is_due(ReadingOccasion::Periodic, 10));
        assert!(is_due(ReadingOccasion::Ordered, 10));
        assert!(!is_due(ReadingOccasion::Periodic, 19));
        assert!(is_due(ReadingOccasion::Periodic, 20));
    }
}
