//! How are launches recorded once and replayed as one?
//!
//! A short kernel takes the device less time than the host needs to launch it. A recorded chain of launches is handed to the device as a
//! whole, so its kernels follow each other without the host.

use super::driver::{Context, DriverError, check};
use super::timer::Timer;
use crate::contract::{Cache, Fault, Sample};
use cudarc::driver::sys;
use rigel_numerics::Time;
use std::rc::Rc;

/// Operations that a recorded chain has about; one product where it has more.
const CHAIN: u64 = 1 << 37;
/// Products of a chain at most.
const MOST: u64 = 32;

/// Launches of a recorded chain of products of so many operations.
pub fn launches(operations: u64) -> u64 {
    (CHAIN / operations.max(1)).clamp(1, MOST)
}

/// Replays a recorded chain of `launches` repetitions; the time of each is divided among them.
///
/// # Errors
/// That operands are to be cold, that nothing was recorded, or what the driver says.
pub fn chain(
    timer: &Timer,
    chain: Option<&Graph>,
    launches: u64,
    repetitions: usize,
    cache: Cache,
) -> Result<Vec<Sample>, Fault> {
    if cache == Cache::Cold {
        return Err(Fault::Failed("a recorded chain has warm operands".into()));
    }
    let chain = chain.ok_or_else(|| Fault::Failed("nothing was recorded".into()))?;
    let samples = timer.time(repetitions, |_| Ok(chain.replay()?))?;
    Ok(samples.into_iter().map(|sample| Sample { time: Time(sample.time.0 / launches), ..sample }).collect())
}

/// A recorded chain of launches.
pub struct Graph {
    context: Rc<Context>,
    replayed: sys::CUgraphExec,
}

impl Graph {
    /// Records what `launches` queues; nothing of it runs.
    ///
    /// # Errors
    /// What `launches` or the driver says.
    pub fn record(context: &Rc<Context>, launches: impl FnOnce() -> Result<(), Fault>) -> Result<Graph, Fault> {
        context.enter()?;
        let stream = Stream::new(context)?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream exists and nothing else uses it.
        check("cuStreamBeginCapture", unsafe { sys::cuStreamBeginCapture_v2(stream.handle, mode) })?;
        let queued = context.within(stream.handle, launches);
        let mut chain = std::ptr::null_mut();
        // SAFETY: the capture was begun above; the graph is destroyed below.
        let ended = check("cuStreamEndCapture", unsafe { sys::cuStreamEndCapture(stream.handle, &mut chain) });
        let mut graph = Graph { context: Rc::clone(context), replayed: std::ptr::null_mut() };
        let made = queued.and_then(|()| {
            ended?;
            // SAFETY: the graph was recorded above; what becomes of it is destroyed once, on drop.
            let code = unsafe { sys::cuGraphInstantiateWithFlags(&mut graph.replayed, chain, 0) };
            Ok(check("cuGraphInstantiate", code)?)
        });
        if !chain.is_null() {
            // SAFETY: recorded once, destroyed once. An error here has no reader.
            let _ = unsafe { sys::cuGraphDestroy(chain) };
        }
        made.map(|()| graph)
    }

    /// Queues the chain behind everything that was queued before. What its launches touch must still be there.
    ///
    /// # Errors
    /// What the driver says.
    pub fn replay(&self) -> Result<(), DriverError> {
        self.context.enter()?;
        // SAFETY: the graph exists; the stream is the context's.
        check("cuGraphLaunch", unsafe { sys::cuGraphLaunch(self.replayed, self.context.stream()) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if !self.replayed.is_null() && self.context.enter().is_ok() {
            // SAFETY: made once, destroyed once. An error here has no reader.
            let _ = unsafe { sys::cuGraphExecDestroy(self.replayed) };
        }
    }
}

/// A stream in which nothing but a recording is made.
struct Stream {
    handle: sys::CUstream,
}

impl Stream {
    fn new(context: &Context) -> Result<Stream, DriverError> {
        context.enter()?;
        let mut handle = std::ptr::null_mut();
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: `handle` outlives the call; the stream is destroyed once, on drop.
        check("cuStreamCreate", unsafe { sys::cuStreamCreate(&mut handle, flags) })?;
        Ok(Stream { handle })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once. An error here has no reader.
        let _ = unsafe { sys::cuStreamDestroy_v2(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::Shape;

    #[test]
    fn chains_are_long_where_products_are_short() {
        let of = |n: usize| launches(Shape::cube(n).operations());
        assert_eq!([256, 1024, 2048, 4096, 8192].map(of), [32, 32, 8, 1, 1]);
        assert_eq!(of(1), 32);
    }
}
