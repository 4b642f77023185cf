//! How does the simulated device answer as a [`Gpu`]?
//!
//! Through a process: what a kernel breaks, it breaks there, and a crash is a fault like any other.

use super::compiler::{Clang, Target};
use super::planted::{Misaligned, Planted};
use rigel_device::metal::element::Element;
use rigel_device::metal::gpu::{Binding, Buffer, Gpu, HostTensor, Launch, Library, Pipeline};
use rigel_device::metal::level::Sdk;
use rigel_device::metal::text::Source;
use rigel_device::metal::triples::Types;
use rigel_device::{Description, Fault, Kind, Meter, MissingMeter, Refusal, Rung};
use rigel_numerics::Time;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Multiply-adds a second of the virtual clock: slow, so that one launch is long enough to be timed.
const RATE: f64 = 1e5;

/// A device in software that runs kernel text.
pub struct Simulated {
    clang: &'static Clang,
    target: Target,
    planted: Planted,
    /// Triples whose kernels do not load, as if the system were older than its compiler.
    pub gated: Vec<Types>,
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
}

impl Simulated {
    /// A device that compiles as a header does, with these things planted.
    pub fn new(clang: &'static Clang, sdk: Sdk, planted: Planted) -> Simulated {
        let host = clang.host().unwrap_or_else(|e| panic!("the host does not compile: {e}"));
        let mut process = Command::new(host).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (requests, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut device = Simulated {
            clang,
            target: Target::of(sdk),
            planted,
            gated: Vec::new(),
            process,
            requests,
            answers,
            known: HashMap::new(),
            texts: Vec::new(),
            loaded: 0,
            pipelines: Vec::new(),
            sizes: HashMap::new(),
            buffers: 0,
        };
        device.plant(planted);
        device
    }

    /// Plants other things; kernels stay compiled.
    pub fn plant(&mut self, planted: Planted) {
        self.planted = planted;
        let words = planted.words();
        let request: Vec<u32> =
            [u32::from(b'P'), words.len() as u32].into_iter().chain(words.iter().map(|w| *w as u32)).collect();
        self.say(&request, &[]);
        self.heard().unwrap();
    }

    /// Compiles many texts in one go, so that compiling each is free afterwards.
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

    fn hear(&mut self, bytes: usize) -> Result<Vec<u8>, Fault> {
        let mut heard = vec![0; bytes];
        match self.answers.read_exact(&mut heard) {
            Ok(()) => Ok(heard),
            Err(_) => Err(Fault::DeviceLost(format!("the simulated device is gone: {:?}", self.process.wait()))),
        }
    }

    fn word(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.hear(4)?.try_into().unwrap()))
    }

    fn heard(&mut self) -> Result<(), Fault> {
        let _ = self.requests.flush();
        if self.word()? == 0 {
            return Ok(());
        }
        let length = self.word()? as usize;
        Err(Fault::Failed(String::from_utf8_lossy(&self.hear(length)?).into_owned()))
    }

    /// What the rule for tensors of the host makes of one: other strides, or a refusal; and whether it is slow.
    fn bind(&self, tensor: &HostTensor) -> Result<([i64; 2], bool), Fault> {
        let rule = self.planted.handle;
        let bits = i64::from(tensor.element.bits());
        let bytes = tensor.strides[1] * bits / 8;
        if rule.bytes == 0 || bytes % i64::from(rule.bytes) == 0 {
            return Ok((tensor.strides, false));
        }
        match rule.outcome {
            Misaligned::Fine => Ok((tensor.strides, false)),
            Misaligned::Slow => Ok((tensor.strides, true)),
            Misaligned::Wrong => {
                let aligned = bytes - bytes % i64::from(rule.bytes);
                Ok(([tensor.strides[0], aligned * 8 / bits], false))
            }
            Misaligned::Refused => Err(Fault::Failed(format!(
                "MTLTensorDomain 2: stride {bytes} of dimension 1 is no multiple of {} bytes",
                rule.bytes
            ))),
        }
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
        Description {
            id: "simulated-metal".into(),
            name: "a Metal device in software".into(),
            backend: "metal".into(),
            kind: Kind::Simulated,
            cores: 1,
            memory_bytes: 1 << 30,
            driver: "headers of the tests".into(),
            firmware: String::new(),
            toolchain: format!("header {}, language {}", self.target.sdk, self.target.sdk.language()),
            os: String::new(),
            kernels: String::new(),
            clocks: String::new(),
            features: Vec::new(),
        }
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
        self.buffers += 1;
        let size = bytes.len() as u64;
        self.say(&[u32::from(b'B'), self.buffers, size as u32, (size >> 32) as u32], bytes);
        self.heard()?;
        self.sizes.insert(self.buffers, bytes.len());
        Ok(Buffer(self.buffers))
    }

    fn read(&mut self, buffer: Buffer) -> Result<Vec<u8>, Fault> {
        self.say(&[u32::from(b'R'), buffer.0], &[]);
        self.heard()?;
        self.hear(self.sizes[&buffer.0])
    }

    fn free(&mut self, buffer: Buffer) {
        self.sizes.remove(&buffer.0);
        self.say(&[u32::from(b'F'), buffer.0], &[]);
        let _ = self.heard();
    }

    fn launch(&mut self, launch: &Launch, repeats: u32) -> Result<Time, Fault> {
        let (library, name) = self.pipelines[launch.pipeline.0 as usize].clone();
        let mut slow = 1.0;
        let mut request = Request::default();
        request.words(&[u32::from(b'D'), library, name.len() as u32]);
        request.0.extend(name.into_bytes());
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
                    let (strides, is_slow) = self.bind(tensor)?;
                    slow = if is_slow { 3.0 } else { slow };
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
        let mut total = 0.0;
        for _ in 0..repeats {
            self.say(&[], &request.0);
            self.heard()?;
            total += f64::from_le_bytes(self.hear(8)?.try_into().unwrap());
        }
        Ok(Time::from_seconds(slow * total / RATE))
    }

    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
        let reason = "a device in software draws no power of its own".into();
        (Vec::new(), vec![MissingMeter { name: "GPU energy".into(), reason }])
    }
}
