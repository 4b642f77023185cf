//! What does a device say of its cooperative tensors, and what does a load show of `simdgroup_matrix`?

use super::gpu::{Binding, Gpu, Launch};
use super::level::{Language, Sdk};
use super::operation::Operation;
use super::product::whole;
use super::text::{Kernel, has_fragments};
use super::triples::Types;
use crate::contract::Fault;
use rigel_numerics::layout::{Layout, LayoutError};

/// Words of a lane that is not there.
const UNTOLD: i32 = -1;

/// Slots that are asked for at most.
const MOST_SLOTS: usize = 256;

/// What a device said of one operation, by lane: left, right and destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// For each lane and operand, its slots: both coordinates in the order of the device, or `None` for a dead slot.
    pub lanes: Vec<[Vec<Option<[i32; 2]>>; 3]>,
}

impl Told {
    /// Slots of a lane of each operand: the most that any lane has.
    pub fn capacities(&self) -> [usize; 3] {
        [0, 1, 2].map(|operand| self.lanes.iter().map(|lane| lane[operand].len()).max().unwrap_or(0))
    }

    /// The layout of an operand of `rows` × `cols`, its coordinates read as (column, row), which is the order that
    /// working kernels read, or the other way round.
    ///
    /// # Errors
    /// Coordinates outside the operand.
    pub fn layout(&self, operand: usize, rows: usize, cols: usize, row_first: bool) -> Result<Layout, LayoutError> {
        let slots = self.capacities()[operand];
        let place = |lane: usize, slot: usize| {
            let [x, y] = self.lanes[lane][operand].get(slot).copied().flatten()?;
            Some(if row_first { (x as u32, y as u32) } else { (y as u32, x as u32) })
        };
        let entries = (0..self.lanes.len()).flat_map(|lane| (0..slots).map(move |slot| place(lane, slot))).collect();
        Layout::from_table(rows, cols, self.lanes.len(), slots, entries)
    }
}

/// Asks for the layout of every operand of an operation; inputs that cannot be cooperative have no slots.
///
/// # Errors
/// What the compiler or the device says.
pub fn told(gpu: &mut dyn Gpu, operation: &Operation) -> Result<Told, String> {
    let inputs = has_fragments(operation, gpu.sdk().unwrap_or(Sdk::V26_1));
    let kernel = Kernel::Layout(*operation, inputs);
    let language = gpu.sdk().map_or(Language::V4_0, |sdk| sdk.language());
    let library = gpu.compile(&kernel.source(language)).map_err(|e| e.to_string())?;
    let pipeline = gpu.pipeline(library, "layout").map_err(|e| e.to_string())?;
    let (lanes, each) = (operation.scope.threads() as usize, 1 + 3 * MOST_SLOTS);
    let words = vec![UNTOLD; lanes * 3 * each];
    let most = (MOST_SLOTS as i32).to_le_bytes().to_vec();
    let answer = (|| {
        let buffer = gpu.buffer(&words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>())?;
        let bindings = vec![(0, whole(buffer)), (1, Binding::Bytes(most))];
        let run = gpu.launch(&Launch { pipeline, groups: [1, 1, 1], threads: lanes as u32, bindings }, 1);
        let bytes = run.and_then(|_| gpu.read(buffer));
        gpu.free(buffer);
        bytes
    })()
    .map_err(|e: Fault| e.to_string())?;
    let words: Vec<i32> = answer.chunks_exact(4).map(|w| i32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect();
    let slots = |words: &[i32]| {
        let live = |slot: &[i32]| (slot[0] == 1).then_some([slot[1], slot[2]]);
        words[1..].chunks_exact(3).take(words[0].clamp(0, MOST_SLOTS as i32) as usize).map(live).collect::<Vec<_>>()
    };
    let lane = |words: &[i32]| {
        let part = |i: usize| if inputs || i == 2 { slots(&words[i * each..(i + 1) * each]) } else { Vec::new() };
        [part(0), part(1), part(2)]
    };
    Ok(Told { lanes: words.chunks_exact(3 * each).map(lane).collect() })
}

/// The layout of `simdgroup_matrix`, as a load of the numbers 0 to 63 shows it.
///
/// # Errors
/// What the compiler or the device says, or numbers that no load could show.
pub fn shown(gpu: &mut dyn Gpu) -> Result<Layout, String> {
    use super::element::Element::Float;
    let kernel = Kernel::UnitSimdGroup(Types::new(Float, Float, Float));
    let library = gpu.compile(&kernel.source(kernel.language())).map_err(|e| e.to_string())?;
    let pipeline = gpu.pipeline(library, "matrix_layout").map_err(|e| e.to_string())?;
    let answer = (|| {
        let numbers = gpu.buffer(&(0..64).flat_map(|i| (i as f32).to_le_bytes()).collect::<Vec<u8>>())?;
        let seen = gpu.buffer(&[0xFF; 256])?;
        let bindings = vec![(0, whole(numbers)), (1, whole(seen))];
        let run = gpu.launch(&Launch { pipeline, groups: [1, 1, 1], threads: 32, bindings }, 1);
        let bytes = run.and_then(|_| gpu.read(seen));
        gpu.free(numbers);
        gpu.free(seen);
        bytes
    })()
    .map_err(|e: Fault| e.to_string())?;
    let number = |w: &[u8]| f32::from_le_bytes([w[0], w[1], w[2], w[3]]);
    let places: Vec<Option<(u32, u32)>> = answer
        .chunks_exact(4)
        .map(|w| Some(number(w)).filter(|x| (0.0..64.0).contains(x) && x.fract() == 0.0))
        .map(|x| x.map(|x| (x as u32 / 8, x as u32 % 8)))
        .collect();
    if places.iter().any(Option::is_none) {
        return Err("a load of the numbers 0 to 63 shows something else in a lane".into());
    }
    Layout::from_table(8, 8, 32, 2, places).map_err(|e| e.to_string())
}
