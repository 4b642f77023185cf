//! How does the software device answer as a [`Gpu`]?
//!
//! Through a process: what a kernel breaks, it breaks there, and a crash is a fault like any other.
//!
//! A launch that ran before over the same memory is not run again, only its time passes: the device is deterministic, and no
//! kernel but one that adds to what it finds changes with the number of launches. Where adding is planted every launch runs.

use super::child::ending_with_parent;
use super::clock::{Clock, Rates, SPENDINGS};
use super::compiler::{Clang, Target};
use super::meters;
use super::planted::{Misaligned, Planted};
use crate::contract::{Description, Fault, Kind, Meter, MissingMeter, Refusal, Rung};
use crate::metal::element::Element;
use crate::metal::gpu::{Binding, Buffer, Gpu, HostTensor, Launch, Library, Pipeline};
use crate::metal::level::{Language, Sdk};
use crate::metal::metallib::Metallib;
use crate::metal::text::{Kernel, Source};
use crate::metal::triples::Types;
use crate::metal::usage::Usage;
use rigel_numerics::Time;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;

/// How much longer a launch takes over tensors of the host that a planted rule makes slow.
const SLOW: f64 = 3.0;

/// Bytes of its memory.
const MEMORY: u64 = 1 << 30;

/// A device in software that runs kernel text.
pub struct Simulated {
    clang: &'static Clang,
    target: Target,
    name: String,
    planted: Planted,
    clock: Clock,
    channels: meters::Planted,
    /// Triples whose kernels do not load, as if the system were older than its compiler.
    pub gated: Vec<Types>,
    /// Bytes that all its buffers may have together.
    pub memory: u64,
    process: Child,
    requests: ChildStdin,
    answers: ChildStdout,
    /// Texts that were compiled together: library and number.
    known: HashMap<Source, (u32, usize)>,
    texts: Vec<(u32, usize, Source)>,
    loaded: u32,
    pipelines: Vec<(u32, String)>,
    sizes: HashMap<u32, usize>,
    buffers: u32,
    /// What launches spent that ran over memory that is still there.
    ran: HashMap<Vec<u8>, [f64; SPENDINGS]>,
}

impl Simulated {
    /// A device that compiles as a header does, with these things planted.
    ///
    /// # Errors
    /// That its process does not compile or start.
    pub fn new(clang: &'static Clang, sdk: Sdk, planted: Planted) -> Result<Simulated, String> {
        let host = clang.host()?;
        let unstarted = |why: &dyn std::fmt::Display| format!("{} does not start: {why}", host.display());
        let mut command = Command::new(&host);
        let process = ending_with_parent(&mut command).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = process.map_err(|e| unstarted(&e))?;
        let (Some(requests), Some(answers)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(unstarted(&"it has no standard streams"));
        };
        let mut device = Simulated {
            clang,
            target: Target::of(sdk),
            name: "plain".into(),
            planted,
            clock: Clock::new(Rates::PLANTED),
            channels: meters::Planted::new(sdk),
            gated: Vec::new(),
            memory: MEMORY,
            process,
            requests,
            answers,
            known: HashMap::new(),
            texts: Vec::new(),
            loaded: 0,
            pipelines: Vec::new(),
            sizes: HashMap::new(),
            buffers: 0,
            ran: HashMap::new(),
        };
        device.plant(planted)?;
        Ok(device)
    }

    /// The same under a name, which tells devices with other things planted apart.
    pub fn named(mut self, name: &str) -> Simulated {
        name.clone_into(&mut self.name);
        self
    }

    /// Plants other things; kernels stay compiled.
    ///
    /// # Errors
    /// That the process is gone.
    pub fn plant(&mut self, planted: Planted) -> Result<(), String> {
        self.planted = planted;
        self.ran.clear();
        let words = planted.words();
        let request: Vec<u32> =
            [u32::from(b'P'), words.len() as u32].into_iter().chain(words.iter().map(|w| *w as u32)).collect();
        self.say(&request, &[]);
        self.heard().map_err(|e| e.to_string())
    }

    /// Compiles many texts in one go, so that compiling each is free afterwards.
    ///
    /// # Errors
    /// The compiler's words.
    pub fn prepare(&mut self, sources: &[Source]) -> Result<(), String> {
        let mut groups: HashMap<u32, Vec<&Source>> = HashMap::new();
        for source in sources {
            groups.entry(source.language.macro_value()).or_default().push(source);
        }
        for (language, group) in groups {
            for part in group.chunks(12) {
                let library = self.clang.library(part, Target { language, ..self.target })?;
                let id = self.load(&library.to_string_lossy())?;
                self.known.extend(part.iter().enumerate().map(|(i, s)| ((*s).clone(), (id, i))));
            }
        }
        Ok(())
    }

    fn load(&mut self, path: &str) -> Result<u32, String> {
        self.loaded += 1;
        self.say(&[u32::from(b'L'), self.loaded, path.len() as u32], path.as_bytes());
        self.heard().map_err(|e| e.to_string())?;
        Ok(self.loaded)
    }

    fn say(&mut self, words: &[u32], bytes: &[u8]) {
        let request: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).chain(bytes.iter().copied()).collect();
        // A dead process is seen when it is heard.
        let _ = self.requests.write_all(&request);
    }

    fn hear<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], Fault> {
        let mut heard = [0; BYTES];
        self.hear_into(&mut heard)?;
        Ok(heard)
    }

    fn hear_into(&mut self, heard: &mut [u8]) -> Result<(), Fault> {
        let lost = |process: &mut Child| {
            let how = process.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
            Fault::DeviceLost(format!("the process of the software device ended: {how}"))
        };
        self.answers.read_exact(heard).map_err(|_| lost(&mut self.process))
    }

    fn heard(&mut self) -> Result<(), Fault> {
        let _ = self.requests.flush();
        if u32::from_le_bytes(self.hear()?) == 0 {
            return Ok(());
        }
        let mut words = vec![0; u32::from_le_bytes(self.hear()?) as usize];
        self.hear_into(&mut words)?;
        Err(Fault::Failed(String::from_utf8_lossy(&words).into_owned()))
    }

    /// What the rules for tensors of the host make of one: other strides, or a refusal; and whether it is slow.
    fn bind(&self, tensor: &HostTensor) -> Result<([i64; 2], bool), Fault> {
        let bits = i64::from(tensor.element.bits());
        let own = (tensor.usage == Usage::MachineLearning).then_some(self.planted.machine_learning);
        let (mut bytes, mut is_slow) = (tensor.strides[1] * bits / 8, false);
        for rule in [self.planted.handle].into_iter().chain(own) {
            match rule.at(bytes) {
                Misaligned::Fine => {}
                Misaligned::Slow => is_slow = true,
                Misaligned::Wrong => bytes -= bytes % i64::from(rule.bytes),
                Misaligned::Refused => {
                    let of = rule.bytes;
                    let words =
                        format!("MTLTensorDomain 2: stride {bytes} of dimension 1 is no multiple of {of} bytes");
                    return Err(Fault::Failed(words));
                }
            }
        }
        Ok(([tensor.strides[0], bytes * 8 / bits], is_slow))
    }

    /// A launch as the process reads it, and whether a rule on tensors makes it slow.
    fn request(&self, launch: &Launch) -> Result<(Vec<u8>, bool), Fault> {
        let (library, name) = &self.pipelines[launch.pipeline.0 as usize];
        let mut is_slow = false;
        let mut request = Request::default();
        request.words(&[u32::from(b'D'), *library, name.len() as u32]);
        request.0.extend(name.bytes());
        request.words(&launch.groups);
        request.words(&[launch.threads, launch.bindings.len() as u32]);
        for (index, binding) in &launch.bindings {
            match binding {
                Binding::Buffer { buffer, offset } => {
                    request.words(&[u32::from(b'b'), *index, buffer.0]);
                    request.wide(*offset);
                }
                Binding::Bytes(bytes) => {
                    request.words(&[u32::from(b'v'), *index, bytes.len() as u32]);
                    request.0.extend(bytes);
                }
                Binding::Tensor(tensor) => {
                    let (strides, slow) = self.bind(tensor)?;
                    is_slow |= slow;
                    request.words(&[u32::from(b't'), *index, tensor.buffer.0]);
                    request.wide(tensor.offset);
                    request.words(&[2]);
                    for (extent, stride) in tensor.extents.iter().zip(strides) {
                        request.words(&[*extent as u32]);
                        request.wide(stride as u64);
                    }
                }
            }
        }
        Ok((request.0, is_slow))
    }

    /// Runs a launch once.
    fn run(&mut self, request: &[u8]) -> Result<[f64; SPENDINGS], Fault> {
        self.say(&[], request);
        self.heard()?;
        let mut spent = [0.0; SPENDINGS];
        for one in &mut spent {
            *one = f64::from_le_bytes(self.hear()?);
        }
        Ok(spent)
    }

    /// Whether launches change what they find, so that the next one gives something else.
    fn is_changing(&self) -> bool {
        self.planted.accumulates.0
    }
}

/// A request that is being put together.
#[derive(Default)]
struct Request(Vec<u8>);

impl Request {
    fn words(&mut self, words: &[u32]) {
        self.0.extend(words.iter().flat_map(|w| w.to_le_bytes()));
    }

    fn wide(&mut self, word: u64) {
        self.0.extend(word.to_le_bytes());
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Gpu for Simulated {
    fn describe(&self) -> Description {
        let sdk = self.target.sdk;
        Description {
            id: format!("metal-sim:{sdk}:{}", self.name),
            name: format!("Metal kernels in software, header {sdk}, planted: {}", self.name),
            backend: super::NAME.into(),
            kind: Kind::Simulated,
            cores: 1,
            memory_bytes: self.memory,
            driver: format!("{:016x}", self.clang.identity()),
            firmware: String::new(),
            toolchain: format!("{}; header {sdk}, language {}", self.clang.version(), sdk.language()),
            os: std::env::consts::OS.into(),
            kernels: format!("{:016x}", crate::metal::text::digest()),
            clocks: "virtual".into(),
            features: Vec::new(),
        }
    }

    fn enter_process(&mut self, process: u32) {
        self.clock.enter_process(process);
    }

    fn sdk(&self) -> Option<Sdk> {
        Some(self.target.sdk)
    }

    fn last_level_bytes(&self) -> u64 {
        1 << 16
    }

    fn compile(&mut self, source: &Source) -> Result<Library, Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        if source.language > self.target.sdk.language() {
            let (language, sdk) = (source.language, self.target.sdk);
            return Err(refused(format!(
                "error: invalid value 'metal{language}' in '-std=metal{language}' (header {sdk})"
            )));
        }
        if !self.known.contains_key(source) {
            self.prepare(std::slice::from_ref(source)).map_err(refused)?;
        }
        let (library, index) = self.known[source];
        self.texts.push((library, index, source.clone()));
        Ok(Library(self.texts.len() as u32 - 1))
    }

    /// The code of a library for Apple's GPUs is nothing that this processor runs, so its head alone is believed: a language newer
    /// than the header's is refused, and the kernel of versions stands for the others.
    fn load(&mut self, file: &Path) -> Result<Library, Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Load, diagnostic };
        let bytes = std::fs::read(file).map_err(|e| refused(format!("{}: {e}", file.display())))?;
        let library = Metallib::read(&bytes).map_err(|why| refused(format!("{}: {why}", file.display())))?;
        let language = Language::LADDER.into_iter().find(|known| {
            let (major, minor) = known.parts();
            library.language() == Some((major as u16, minor as u16))
        });
        match language {
            Some(language) if language <= self.target.sdk.language() => {
                self.compile(&Kernel::Versions.source(language))
            }
            _ => {
                let (major, minor) = library.language().unwrap_or_default();
                Err(refused(format!("language version {major}.{minor} is not supported on this OS")))
            }
        }
    }

    fn pipeline(&mut self, library: Library, kernel: &str) -> Result<Pipeline, Refusal> {
        let (id, index, source) = &self.texts[library.0 as usize];
        let spelled = |t: &Types| {
            [("LEFT", t.left), ("RIGHT", t.right), ("DEST", t.dest)]
                .iter()
                .all(|(name, e): &(&str, Element)| source.text.contains(&format!("#define {name} {}\n", e.spelled())))
        };
        if self.gated.iter().any(spelled) {
            let diagnostic = format!("Function {kernel} uses element types that are not supported on this OS");
            return Err(Refusal { rung: Rung::Load, diagnostic });
        }
        self.pipelines.push((*id, format!("t{index}_{kernel}")));
        Ok(Pipeline(self.pipelines.len() as u32 - 1))
    }

    fn buffer(&mut self, bytes: &[u8]) -> Result<Buffer, Fault> {
        let held: u64 = self.sizes.values().map(|&size| size as u64).sum();
        let left = self.memory.saturating_sub(held);
        if bytes.len() as u64 > left {
            let (wanted, of) = (bytes.len(), self.memory);
            return Err(Fault::OutOfMemory(format!(
                "a buffer of {wanted} bytes; {left} of this device's {of} are left"
            )));
        }
        self.buffers += 1;
        let size = bytes.len() as u64;
        self.say(&[u32::from(b'B'), self.buffers, size as u32, (size >> 32) as u32], bytes);
        self.heard()?;
        self.sizes.insert(self.buffers, bytes.len());
        Ok(Buffer(self.buffers))
    }

    fn read(&mut self, buffer: Buffer) -> Result<Vec<u8>, Fault> {
        let none = || Fault::Failed(format!("buffer {} was given back", buffer.0));
        let mut bytes = vec![0; *self.sizes.get(&buffer.0).ok_or_else(none)?];
        self.say(&[u32::from(b'R'), buffer.0], &[]);
        self.heard()?;
        self.hear_into(&mut bytes)?;
        Ok(bytes)
    }

    fn free(&mut self, buffer: Buffer) {
        self.sizes.remove(&buffer.0);
        self.say(&[u32::from(b'F'), buffer.0], &[]);
        let _ = self.heard();
    }

    fn chain(&mut self, launches: &[Launch], repeats: u32) -> Result<Time, Fault> {
        let requests = launches.iter().map(|launch| self.request(launch)).collect::<Result<Vec<_>, Fault>>()?;
        // Numbers of buffers are never given twice, so the same requests mean the same memory.
        let all = requests.iter().flat_map(|(request, _)| request.iter().copied()).collect::<Vec<u8>>();
        let factors = requests.iter().map(|(_, is_slow)| if *is_slow { SLOW } else { 1.0 });
        let factors: Vec<f64> = factors.collect();
        let runs = match self.ran.contains_key(&all) {
            true => 0,
            false if self.is_changing() => repeats,
            false => 1,
        };
        for _ in 0..runs {
            let mut spent = [0.0; SPENDINGS];
            for ((request, _), factor) in requests.iter().zip(&factors) {
                let one = self.run(request)?;
                spent.iter_mut().zip(one).for_each(|(total, one)| *total += factor * one);
            }
            self.ran.insert(all.clone(), spent);
        }
        let spent = self.ran.get(&all).copied().unwrap_or_default();
        if self.is_changing() {
            self.ran.clear();
        }
        let time = self.clock.time(&spent, repeats);
        self.channels.launched(time, &spent, repeats);
        Ok(time)
    }

    fn idle(&mut self, time: Time) {
        self.channels.idled(time);
    }

    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
        crate::metal::meters::of(Ok(Rc::new(self.channels.clone())))
    }
}
