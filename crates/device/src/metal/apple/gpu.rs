//! How does one of Apple's GPUs answer as a [`Gpu`]?
//!
//! Launches without tensors of the host go through a classic queue, which runs every kernel; those with them through a Metal 4 queue,
//! whose argument tables bind tensors. Times are the command buffer's own: from the start of the first launch on
//! the GPU to the end of the last.

use super::Raw;
use super::buffers::{self, AppleBuffer};
use super::compile::{self, AppleLibrary, ApplePipeline, words};
use super::tensor::{self, AppleTensor};
use super::{identity, meters};
use crate::contract::{Description, Fault, Meter, MissingMeter, Refusal};
use crate::metal::gpu::{Binding, Buffer, Gpu, Launch, Library, Pipeline};
use crate::metal::level::Sdk;
use crate::metal::text::Source;
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::{NSObjectProtocol, ProtocolObject};
use objc2::sel;
use objc2_metal::*;
use rigel_numerics::Time;
use std::collections::HashMap;
use std::path::Path;
use std::ptr::NonNull;

/// Bytes of the last-level cache: the largest system-level cache of the M series known here, so that cold is cold.
const LAST_LEVEL: u64 = 96 << 20;

/// Longest wait for a command buffer of Metal 4. The worker's own limit is shorter for most plans; this one keeps a lost
/// event from being waited for without end.
const LONGEST_MS: u64 = 600_000;

/// An Apple GPU.
pub struct AppleGpu {
    device: Raw,
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    libraries: Vec<AppleLibrary>,
    pipelines: Vec<ApplePipeline>,
    buffers: HashMap<u32, (AppleBuffer, usize)>,
    made: u32,
}

impl AppleGpu {
    /// Opens a device.
    ///
    /// # Errors
    /// That it gives no queue.
    pub fn new(device: Raw) -> Result<AppleGpu, String> {
        let queue = device.newCommandQueue().ok_or("the device gives no command queue")?;
        let (libraries, pipelines, buffers) = (Vec::new(), Vec::new(), HashMap::new());
        Ok(AppleGpu { device, queue, libraries, pipelines, buffers, made: 0 })
    }

    fn held(&self, buffer: Buffer) -> Result<&AppleBuffer, Fault> {
        let none = || Fault::Failed(format!("buffer {} was given back", buffer.0));
        self.buffers.get(&buffer.0).map(|(held, _)| held).ok_or_else(none)
    }

    fn ready(&self, launch: &Launch) -> Result<&ApplePipeline, Fault> {
        let pipeline = &self.pipelines[launch.pipeline.0 as usize];
        let most = pipeline.maxTotalThreadsPerThreadgroup();
        if launch.threads as usize > most {
            let asked = launch.threads;
            return Err(Fault::Failed(format!("{asked} threads in a threadgroup; this kernel can have {most} here")));
        }
        Ok(pipeline)
    }

    fn classic(&self, chain: &[Launch], repeats: u32) -> Result<Time, Fault> {
        let lost = |what: &str| Fault::DeviceLost(format!("the device gives no {what}"));
        let pipelines = chain.iter().map(|launch| self.ready(launch)).collect::<Result<Vec<_>, Fault>>()?;
        let buffers = chain.iter().map(|launch| self.bound(launch)).collect::<Result<Vec<_>, Fault>>()?;
        let commands = self.queue.commandBuffer().ok_or_else(|| lost("command buffer"))?;
        // A serial encoder: each launch begins after the end of the one before it.
        let encoder = commands.computeCommandEncoder().ok_or_else(|| lost("encoder"))?;
        for repeat in 0..repeats {
            for ((launch, pipeline), buffers) in chain.iter().zip(&pipelines).zip(&buffers) {
                // What is set stays set, so a chain of one is set once.
                if repeat == 0 || chain.len() > 1 {
                    encoder.setComputePipelineState(pipeline);
                    for (index, buffer, offset) in buffers {
                        // SAFETY: kernels stay inside the bytes of their buffers, which outlive the wait below.
                        unsafe { encoder.setBuffer_offset_atIndex(Some(buffer), *offset as usize, *index as usize) };
                    }
                    for (index, binding) in &launch.bindings {
                        if let Binding::Bytes(bytes) = binding {
                            let start = NonNull::from(bytes.as_slice()).cast();
                            // SAFETY: the pointer is to as many bytes as are said; they are copied at once.
                            unsafe { encoder.setBytes_length_atIndex(start, bytes.len(), *index as usize) };
                        }
                    }
                }
                let (groups, threads) = extents(launch);
                encoder.dispatchThreadgroups_threadsPerThreadgroup(groups, threads);
            }
        }
        encoder.endEncoding();
        commands.commit();
        commands.waitUntilCompleted();
        if let Some(error) = commands.error() {
            return Err(Fault::Failed(words(&error)));
        }
        if commands.status() != MTLCommandBufferStatus::Completed {
            return Err(Fault::DeviceLost(format!("the command buffer ended in state {:?}", commands.status())));
        }
        Ok(Time::from_seconds(commands.GPUEndTime() - commands.GPUStartTime()))
    }

    /// The buffers of a launch: index, buffer and first byte.
    fn bound(&self, launch: &Launch) -> Result<Vec<(u32, &AppleBuffer, u64)>, Fault> {
        let buffer = |(index, binding): &(u32, Binding)| match binding {
            Binding::Buffer { buffer, offset } => Some(self.held(*buffer).map(|held| (*index, held, *offset))),
            _ => None,
        };
        launch.bindings.iter().filter_map(buffer).collect()
    }

    /// Launches through a Metal 4 queue. Its clock is the difference of two values that the GPU writes into a counter heap.
    fn metal4(&self, chain: &[Launch], repeats: u32) -> Result<Time, Fault> {
        if !self.device.respondsToSelector(sel!(newMTL4CommandQueue)) {
            return Err(Fault::Failed("this system has no Metal 4 queues; macOS 26 or newer has".into()));
        }
        let lost = |what: &str| Fault::DeviceLost(format!("the device gives no {what}"));
        let queue = self.device.newMTL4CommandQueue().ok_or_else(|| lost("Metal 4 queue"))?;
        let allocator = self.device.newCommandAllocator().ok_or_else(|| lost("command allocator"))?;
        let commands = self.device.newCommandBuffer().ok_or_else(|| lost("command buffer"))?;
        let resident = self
            .device
            .newResidencySetWithDescriptor_error(&MTLResidencySetDescriptor::new())
            .map_err(|e| Fault::Failed(words(&e)))?;
        // What the tables point to must outlive the wait.
        let mut bound = Vec::new();
        for launch in chain {
            bound.push((self.ready(launch)?, self.table(launch, &resident)?, extents(launch)));
        }
        resident.commit();
        let heap = {
            let descriptor = MTL4CounterHeapDescriptor::new();
            descriptor.setType(MTL4CounterHeapType::Timestamp);
            // SAFETY: two entries, the first and the last time.
            unsafe { descriptor.setCount(2) };
            self.device.newCounterHeapWithDescriptor_error(&descriptor).map_err(|e| Fault::Failed(words(&e)))?
        };
        commands.beginCommandBufferWithAllocator(&allocator);
        commands.useResidencySet(&resident);
        let encoder = commands.computeCommandEncoder().ok_or_else(|| lost("encoder"))?;
        // SAFETY: entries 0 and 1 of a heap of two.
        unsafe { encoder.writeTimestampWithGranularity_intoHeap_atIndex(MTL4TimestampGranularity::Precise, &heap, 0) };
        for _ in 0..repeats {
            for (pipeline, Table { table, .. }, (groups, threads)) in &bound {
                encoder.setComputePipelineState(pipeline);
                encoder.setArgumentTable(Some(table));
                encoder.dispatchThreadgroups_threadsPerThreadgroup(*groups, *threads);
                // Launches of one encoder run beside each other unless they are told not to.
                encoder.barrierAfterEncoderStages_beforeEncoderStages_visibilityOptions(
                    MTLStages::Dispatch,
                    MTLStages::Dispatch,
                    MTL4VisibilityOptions::Device,
                );
            }
        }
        // SAFETY: as above.
        unsafe { encoder.writeTimestampWithGranularity_intoHeap_atIndex(MTL4TimestampGranularity::Precise, &heap, 1) };
        encoder.endEncoding();
        commands.endCommandBuffer();
        let event = self.device.newSharedEvent().ok_or_else(|| lost("shared event"))?;
        let mut list = [NonNull::from(&*commands)];
        let first = NonNull::from(&mut list).cast();
        // SAFETY: the list holds one command buffer, as said, and lives through the call.
        unsafe { queue.commit_count(first, 1) };
        queue.signalEvent_value(ProtocolObject::from_ref(&*event), 1);
        if !event.waitUntilSignaledValue_timeoutMS(1, LONGEST_MS) {
            return Err(Fault::DeviceLost(format!("the GPU did not end within {LONGEST_MS} ms")));
        }
        drop(bound);
        self.between(&heap)
    }

    /// The argument table of a launch.
    fn table(&self, launch: &Launch, resident: &ProtocolObject<dyn MTLResidencySet>) -> Result<Table, Fault> {
        let descriptor = MTL4ArgumentTableDescriptor::new();
        descriptor.setMaxBufferBindCount(31);
        let table =
            self.device.newArgumentTableWithDescriptor_error(&descriptor).map_err(|e| Fault::Failed(words(&e)))?;
        let (mut tensors, mut blocks) = (Vec::new(), Vec::new());
        for (index, binding) in &launch.bindings {
            let index = *index as usize;
            match binding {
                Binding::Buffer { buffer, offset } => {
                    let buffer = self.held(*buffer)?;
                    resident.addAllocation(ProtocolObject::from_ref(&**buffer));
                    // SAFETY: the index is below the table's count, the address inside a buffer that outlives the wait.
                    unsafe { table.setAddress_atIndex(buffer.gpuAddress() + offset, index) };
                }
                Binding::Bytes(bytes) => {
                    let block = buffers::holding(&self.device, bytes)?;
                    resident.addAllocation(ProtocolObject::from_ref(&*block));
                    // SAFETY: as above; the block is kept beside the table.
                    unsafe { table.setAddress_atIndex(block.gpuAddress(), index) };
                    blocks.push(block);
                }
                Binding::Tensor(host) => {
                    let buffer = self.held(host.buffer)?;
                    resident.addAllocation(ProtocolObject::from_ref(&**buffer));
                    let tensor = tensor::over(buffer, host)?;
                    // SAFETY: as above; the tensor is kept beside the table.
                    unsafe { table.setResource_atBufferIndex(tensor.gpuResourceID(), index) };
                    tensors.push(tensor);
                }
            }
        }
        Ok(Table { table, _tensors: tensors, _blocks: blocks })
    }

    fn between(&self, heap: &ProtocolObject<dyn MTL4CounterHeap>) -> Result<Time, Fault> {
        let none = || Fault::Failed("the GPU's counter heap cannot be read".into());
        // SAFETY: the range is the whole heap.
        let data = unsafe { heap.resolveCounterRange(objc2_foundation::NSRange::new(0, 2)) }.ok_or_else(none)?;
        let bytes = data.to_vec();
        let word =
            |i: usize| bytes.get(8 * i..8 * i + 8).map(|w| w.iter().rev().fold(0_u64, |x, &b| x << 8 | u64::from(b)));
        let (Some(start), Some(end)) = (word(0), word(1)) else { return Err(none()) };
        let frequency = self.device.queryTimestampFrequency();
        if frequency == 0 || end <= start {
            return Err(Fault::Failed(format!("the GPU's clock went from {start} to {end} at {frequency} Hz")));
        }
        Ok(Time::from_seconds((end - start) as f64 / frequency as f64))
    }
}

/// An argument table and what it points to.
struct Table {
    table: Retained<ProtocolObject<dyn MTL4ArgumentTable>>,
    _tensors: Vec<AppleTensor>,
    _blocks: Vec<AppleBuffer>,
}

fn extents(launch: &Launch) -> (MTLSize, MTLSize) {
    let [width, height, depth] = launch.groups.map(|g| g as usize);
    (MTLSize { width, height, depth }, MTLSize { width: launch.threads as usize, height: 1, depth: 1 })
}

impl Gpu for AppleGpu {
    fn describe(&self) -> Description {
        identity::describe(&self.device)
    }

    fn sdk(&self) -> Option<Sdk> {
        identity::sdk()
    }

    fn last_level_bytes(&self) -> u64 {
        LAST_LEVEL
    }

    fn compile(&mut self, source: &Source) -> Result<Library, Refusal> {
        let library = autoreleasepool(|_| compile::library(&self.device, source))?;
        self.libraries.push(library);
        Ok(Library(self.libraries.len() as u32 - 1))
    }

    fn load(&mut self, file: &Path) -> Result<Library, Refusal> {
        let library = autoreleasepool(|_| compile::load(&self.device, file))?;
        self.libraries.push(library);
        Ok(Library(self.libraries.len() as u32 - 1))
    }

    fn pipeline(&mut self, library: Library, kernel: &str) -> Result<Pipeline, Refusal> {
        let library = &self.libraries[library.0 as usize];
        let pipeline = autoreleasepool(|_| compile::pipeline(&self.device, library, kernel))?;
        self.pipelines.push(pipeline);
        Ok(Pipeline(self.pipelines.len() as u32 - 1))
    }

    fn buffer(&mut self, bytes: &[u8]) -> Result<Buffer, Fault> {
        let buffer = buffers::holding(&self.device, bytes)?;
        self.made += 1;
        self.buffers.insert(self.made, (buffer, bytes.len()));
        Ok(Buffer(self.made))
    }

    fn read(&mut self, buffer: Buffer) -> Result<Vec<u8>, Fault> {
        let held = self.held(buffer)?;
        Ok(buffers::read(held, self.buffers[&buffer.0].1))
    }

    fn free(&mut self, buffer: Buffer) {
        self.buffers.remove(&buffer.0);
    }

    fn chain(&mut self, chain: &[Launch], repeats: u32) -> Result<Time, Fault> {
        let has_tensor = |launch: &Launch| launch.bindings.iter().any(|(_, b)| matches!(b, Binding::Tensor(_)));
        let has_tensor = chain.iter().any(has_tensor);
        autoreleasepool(|_| if has_tensor { self.metal4(chain, repeats) } else { self.classic(chain, repeats) })
    }

    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
        meters::meters()
    }
}
