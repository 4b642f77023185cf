//! How long did a kernel take on the device, and at which clock?
//!
//! Time is that between two of the driver's events around the kernel, on the device's own clock. Before and after each repetition a
//! small kernel reads every multiprocessor's cycle counter and the device's clock: cycles over time between two such readings is the
//! core clock, the median over multiprocessors. The first reading holds the stream until the host has queued the whole burst, so that
//! no launch of a repetition waits for the host.
//!
//! The device's clock ticks coarsely. Readings closer than [`TICKS`] of its steps give no clock of one repetition; the whole burst
//! then gives one for all of its repetitions, and none where it is too short itself.

use super::driver::{Context, DriverError, check};
use super::kernel::{Argument, Geometry, Kernel};
use super::memory::Memory;
use super::target::Target;
use super::text;
use crate::contract::{Fault, Refusal, Sample};
use cudarc::driver::sys;
use rigel_numerics::{Megahertz, Time};
use std::rc::Rc;

/// Repetitions that are queued at a time.
const BURST: usize = 64;
/// Lines that a reading has room for; a multiprocessor with a higher number is left out.
const LINES: usize = 512;
/// Bytes of one reading: cycles and nanoseconds of each multiprocessor.
const READING: usize = LINES * 16;
/// Time that the host takes to queue one repetition, generously.
const HOLD_NS: i32 = 15_000;
/// Steps of the device's clock between two readings that make their quotient a clock: one step off is then 1 %.
const TICKS: u64 = 100;

/// Times repetitions on a device.
pub struct Timer {
    context: Rc<Context>,
    stamp: Kernel,
    readings: Memory,
    events: Vec<Event>,
    multiprocessors: u32,
}

impl Timer {
    /// A timer for a device of so many multiprocessors.
    ///
    /// # Errors
    /// What the driver says.
    pub fn new(context: &Rc<Context>, target: Target, multiprocessors: u32) -> Result<Timer, Refusal> {
        let refused = |e: DriverError| Refusal { rung: crate::contract::Rung::Load, diagnostic: e.to_string() };
        let stamp = Kernel::load(context, &text::stamp(target), text::STAMP_ENTRY)?;
        let readings = Memory::filled(context, (BURST + 1) * READING, 0).map_err(refused)?;
        let events = (0..2 * BURST).map(|_| Event::new(context)).collect::<Result<_, _>>().map_err(refused)?;
        Ok(Timer { context: Rc::clone(context), stamp, readings, events, multiprocessors })
    }

    /// Runs and times repetitions; `launch` queues repetition i and waits for nothing.
    ///
    /// # Errors
    /// What `launch` or the driver says.
    pub fn time(
        &self,
        repetitions: usize,
        mut launch: impl FnMut(usize) -> Result<(), Fault>,
    ) -> Result<Vec<Sample>, Fault> {
        let mut samples = Vec::with_capacity(repetitions);
        while samples.len() < repetitions {
            let burst = (repetitions - samples.len()).min(BURST);
            self.readings.fill(0)?;
            self.read(0, HOLD_NS * (burst as i32 + 1))?;
            for i in 0..burst {
                self.events[2 * i].record()?;
                launch(samples.len() + i)?;
                self.events[2 * i + 1].record()?;
                self.read(i + 1, 0)?;
            }
            self.context.finish()?;
            let mut bytes = vec![0; (burst + 1) * READING];
            self.readings.read(&mut bytes)?;
            let readings: Vec<Vec<(u64, u64)>> = bytes.chunks(READING).map(lines).collect();
            let tick = tick(&readings);
            let whole = clock(&readings[0], &readings[burst], tick);
            for i in 0..burst {
                let time = self.events[2 * i].until(&self.events[2 * i + 1])?;
                samples.push(Sample { time, clock: clock(&readings[i], &readings[i + 1], tick).or(whole) });
            }
        }
        Ok(samples)
    }

    fn read(&self, index: usize, hold: i32) -> Result<(), DriverError> {
        let geometry = Geometry { grid: (self.multiprocessors, 1), block: 1, shared: 0 };
        let at = Argument::Address(self.readings.address() + (index * READING) as u64);
        // SAFETY: the kernel takes an address, the lines there, and the time to hold; it writes below line LINES.
        unsafe { self.stamp.launch(geometry, &[at, Argument::Number(LINES as i32), Argument::Number(hold)]) }
    }
}

/// Cycles and nanoseconds of each multiprocessor in a reading.
fn lines(reading: &[u8]) -> Vec<(u64, u64)> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    reading.chunks(16).map(|line| (word(&line[..8]), word(&line[8..]))).collect()
}

/// The step of the device's clock: the largest number of nanoseconds that divides every time read.
fn tick(readings: &[Vec<(u64, u64)>]) -> u64 {
    let divisor = |a: u64, b: u64| {
        let (mut a, mut b) = (a, b);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    readings.iter().flatten().map(|&(_, time)| time).fold(0, divisor).max(1)
}

/// The median over multiprocessors of cycles over time between two readings; none where they are too close.
fn clock(before: &[(u64, u64)], after: &[(u64, u64)], tick: u64) -> Option<Megahertz> {
    let both = before.iter().zip(after).filter(|(b, a)| b.1 > 0 && a.1 > 0);
    let mut hertz: Vec<f64> = both
        .filter_map(|(b, a)| Some((a.0.checked_sub(b.0)?, a.1.checked_sub(b.1)?)))
        .filter(|(_, time)| *time >= TICKS * tick)
        .map(|(cycles, time)| cycles as f64 * 1e9 / time as f64)
        .collect();
    hertz.sort_unstable_by(f64::total_cmp);
    let median = hertz.get(hertz.len() / 2)?;
    Some(Megahertz((median * 1e-6).round() as u32))
}

/// A point in the order of what the device does, with its time.
struct Event {
    context: Rc<Context>,
    handle: sys::CUevent,
}

impl Event {
    fn new(context: &Rc<Context>) -> Result<Event, DriverError> {
        context.enter()?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: `handle` outlives the call; the event is destroyed once, on drop.
        check("cuEventCreate", unsafe { sys::cuEventCreate(&mut handle, 0) })?;
        Ok(Event { context: Rc::clone(context), handle })
    }

    fn record(&self) -> Result<(), DriverError> {
        self.context.enter()?;
        // SAFETY: the event exists; default stream.
        check("cuEventRecord", unsafe { sys::cuEventRecord(self.handle, std::ptr::null_mut()) })
    }

    /// Time from this event to a later one; both are past.
    fn until(&self, later: &Event) -> Result<Time, DriverError> {
        let mut milliseconds = 0.0;
        // SAFETY: both events were recorded and are past.
        let code = unsafe { sys::cuEventElapsedTime_v2(&mut milliseconds, self.handle, later.handle) };
        check("cuEventElapsedTime", code)?;
        Ok(Time::from_seconds(f64::from(milliseconds) * 1e-3))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: created once, destroyed once. An error here has no reader.
            let _ = unsafe { sys::cuEventDestroy_v2(self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_cycles_over_time_and_none_where_time_is_short() {
        let at = |cycles: u64, time: u64| vec![(cycles, 1_000_000 + time), (0, 0), (cycles + 7, 1_000_000 + time)];
        let (before, after) = (at(1000, 32), at(1000 + 17_550, 32 + 9_984));
        let tick = tick(&[before.clone(), after.clone(), at(0, 64)]);
        assert_eq!(tick, 32);
        assert_eq!(clock(&before, &after, tick), Some(Megahertz(1758)));
        assert_eq!(clock(&before, &after, 1000), None, "ten steps are too few");
        assert_eq!(clock(&after, &before, tick), None, "time does not run backwards");
        assert_eq!(clock(&[(0, 0)], &[(5, 5)], 1), None, "a line that nobody wrote");
    }

    #[test]
    fn a_reading_is_read_as_it_was_written() {
        let bytes = [1_u64, 2, 3, 1 << 40].map(u64::to_le_bytes).concat();
        assert_eq!(lines(&bytes), [(1, 2), (3, 1 << 40)]);
    }
}
