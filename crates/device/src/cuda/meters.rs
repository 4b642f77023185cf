//! Which of a GPU's counters can be read, and why not the others?
//!
//! All come from NVML, the driver's library of counters, and cover the whole board with everything that runs on it.
//! Nothing here changes a clock, a limit or a mode.

use crate::contract::{Absent, Meter, MissingMeter, Reading};
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;
use rigel_numerics::Time;
use std::rc::Rc;
use std::time::Instant;

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Energy,
    Power,
    Clock,
    Throttle,
}

impl Quantity {
    const ALL: [Quantity; 4] = [Quantity::Energy, Quantity::Power, Quantity::Clock, Quantity::Throttle];

    const fn name(self) -> &'static str {
        match self {
            Quantity::Energy => "board energy",
            Quantity::Power => "board power",
            Quantity::Clock => "multiprocessor clock",
            Quantity::Throttle => "throttle reasons",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Quantity::Energy => "J",
            Quantity::Power => "W",
            Quantity::Clock => "MHz",
            Quantity::Throttle => "mask",
        }
    }

    const fn coverage(self) -> &'static str {
        match self {
            Quantity::Energy => {
                "the whole board, memory included, all programs on it, since the meter was opened; NVML's counter of \
                 millijoules (nvmlDeviceGetTotalEnergyConsumption); its update period is not documented, so take \
                 differences over seconds; on A100 and H100 the sensor behind it saw about a quarter of the time (arXiv 2312.02741)"
            }
            Quantity::Power => {
                "the whole board, memory included, all programs on it; nvmlDeviceGetPowerUsage, which NVIDIA's manual \
                 calls an average over one second on GPUs from Ampere on (GA100 excepted): it lags behind the load"
            }
            Quantity::Clock => {
                "the clock of the multiprocessors at the moment of reading (nvmlDeviceGetClockInfo); no average, and its \
                 update period is not documented"
            }
            Quantity::Throttle => {
                "why the clock of the multiprocessors is not higher at the moment of reading (nvmlDeviceGetCurrentClocksThrottleReasons), \
                 a sum of 1 idle, 2 clocks set by an application, 4 software power cap, 8 hardware slowdown, 16 sync boost, \
                 32 software thermal slowdown, 64 hardware thermal slowdown, 128 hardware power brake, 256 display clocks; 0 is none"
            }
        }
    }

    /// Millijoules, milliwatts, megahertz or the sum of reasons.
    fn read(self, nvml: &Nvml, index: u32) -> Result<u64, NvmlError> {
        let device = nvml.device_by_index(index)?;
        match self {
            Quantity::Energy => device.total_energy_consumption(),
            Quantity::Power => device.power_usage().map(u64::from),
            Quantity::Clock => device.clock_info(Clock::SM).map(u64::from),
            Quantity::Throttle => device.current_throttle_reasons_strict().map(|reasons| reasons.bits()),
        }
    }

    /// A raw reading in the meter's unit; energy counts from the first one on.
    fn value(self, raw: u64, first: u64) -> f64 {
        match self {
            Quantity::Energy => raw.saturating_sub(first) as f64 * 1e-3,
            Quantity::Power => raw as f64 * 1e-3,
            Quantity::Clock | Quantity::Throttle => raw as f64,
        }
    }
}

/// One counter of one board.
struct NvmlMeter {
    nvml: Rc<Nvml>,
    index: u32,
    quantity: Quantity,
    first: u64,
    opened: Instant,
}

impl Meter for NvmlMeter {
    fn name(&self) -> &str {
        self.quantity.name()
    }

    fn unit(&self) -> &str {
        self.quantity.unit()
    }

    fn coverage(&self) -> &str {
        self.quantity.coverage()
    }

    fn read(&mut self) -> Result<Reading, Absent> {
        let raw = self.quantity.read(&self.nvml, self.index).map_err(|e| Absent(format!("{}: {e}", self.name())))?;
        let time = Time::from_ns(u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX / 1000));
        Ok(Reading { time, value: self.quantity.value(raw, self.first) })
    }
}

/// The meters of the board with this UUID, and those missing with the reason.
pub fn meters(nvml: &Result<Rc<Nvml>, String>, uuid: &str) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
    let found = nvml.as_ref().map_err(String::clone).and_then(|nvml| Ok((nvml, index_of(nvml, uuid)?)));
    let mut meters: Vec<Box<dyn Meter>> = Vec::new();
    let mut missing = Vec::new();
    for quantity in Quantity::ALL {
        let opened = found.clone().and_then(|(nvml, index)| {
            let first = quantity.read(nvml, index).map_err(|e| format!("NVML does not read it here: {e}"))?;
            Ok(NvmlMeter { nvml: Rc::clone(nvml), index, quantity, first, opened: Instant::now() })
        });
        match opened {
            Ok(meter) => meters.push(Box::new(meter)),
            Err(reason) => missing.push(MissingMeter { name: quantity.name().into(), reason }),
        }
    }
    (meters, missing)
}

/// The number of a board in NVML's order, which is not CUDA's.
fn index_of(nvml: &Nvml, uuid: &str) -> Result<u32, String> {
    let board = nvml.device_by_uuid(uuid).and_then(|device| device.index());
    board.map_err(|e| format!("NVML does not know {uuid}: {e}; a slice of a GPU (MIG) has no counters of its own"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_readings_become_units() {
        assert_eq!(Quantity::Energy.value(12_500, 10_000), 2.5);
        assert_eq!(Quantity::Power.value(71_250, 70_000), 71.25);
        assert_eq!(Quantity::Clock.value(1980, 345), 1980.0);
        assert_eq!(Quantity::Throttle.value(4, 1), 4.0);
    }

    #[test]
    fn without_nvml_every_meter_is_missing_with_the_reason() {
        let (found, missing) = meters(&Err("no such library".into()), "GPU-0");
        assert!(found.is_empty());
        let named: Vec<&str> = missing.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(named, Quantity::ALL.map(Quantity::name));
        assert!(missing.iter().all(|m| m.reason == "no such library"));
    }
}
