//! Reads NVIDIA's GPUs of this machine by their management library.

use std::fmt::Write;

use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::sys_exports::field_id::NVML_FI_DEV_POWER_INSTANT;
use nvml_wrapper::{Device, Nvml};

use crate::DeviceReader;

/// NVIDIA's management library (NVML), which comes with the driver and is loaded at run time.
#[derive(Debug)]
pub struct NvmlReader {
    nvml: Nvml,
    devices: u32,
}

impl NvmlReader {
    /// Loads the library and counts the GPUs.
    pub fn load() -> Result<Self, String> {
        let nvml = Nvml::init().map_err(|error| format!("cannot load NVML: {error}"))?;
        let devices = nvml.device_count().map_err(|error| format!("cannot use NVML: {error}"))?;
        if devices == 0 {
            return Err("NVML knows no GPU of this machine".to_owned());
        }
        Ok(Self { nvml, devices })
    }

    fn device(&self, index: u32) -> Result<String, NvmlError> {
        let device = self.nvml.device_by_index(index)?;
        let labels = format!("{{gpu=\"{index}\",UUID=\"{}\"}}", device.uuid()?);
        Ok(lines(&device, &labels))
    }
}

impl DeviceReader for NvmlReader {
    fn name(&self) -> String {
        "NVML".to_owned()
    }

    fn read(&mut self) -> Result<String, String> {
        let devices = (0..self.devices).map(|index| {
            self.device(index).map_err(|error| format!("cannot read GPU {index}: {error}"))
        });
        devices.collect()
    }
}

/// Returns the readings of a device under the names of NVIDIA's exporter. Readings that the device
/// does not support are left out.
fn lines(device: &Device<'_>, labels: &str) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "DCGM_FI_DEV_{name}{labels} {value}");
        }
    };
    let memory = device.memory_info().ok();
    let mebibytes = |bytes: u64| bytes as f64 / 1024.0 / 1024.0;
    let clock = |clock| device.clock_info(clock).ok().map(f64::from);
    line("GPU_UTIL", device.utilization_rates().ok().map(|rates| rates.gpu.into()));
    line("FB_USED", memory.as_ref().map(|memory| mebibytes(memory.used)));
    line("FB_FREE", memory.as_ref().map(|memory| mebibytes(memory.free)));
    line("POWER_USAGE", milliwatts(device).map(|milliwatts| f64::from(milliwatts) / 1e3));
    // In millijoules, as the exporter has it.
    let energy = device.total_energy_consumption().ok();
    line("TOTAL_ENERGY_CONSUMPTION", energy.map(|millijoules| millijoules as f64));
    line("SM_CLOCK", clock(Clock::SM));
    line("MEM_CLOCK", clock(Clock::Memory));
    let temperature = device.temperature(TemperatureSensor::Gpu).ok();
    line("GPU_TEMP", temperature.map(f64::from));
    let throttled = device.current_throttle_reasons().ok();
    line("CLOCKS_EVENT_REASONS", throttled.map(|reasons| reasons.bits() as f64));
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
