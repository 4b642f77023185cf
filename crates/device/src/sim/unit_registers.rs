//! Which registers does a software unit read for each register of D?

use super::check::{BadTruth, refused};
use super::unit_truth::{Copies, PlantedUnit};
use crate::unit::{FragmentSpec, Operands};
use rigel_numerics::arithmetic::DotInputs;
use rigel_numerics::layout::{Fragment, Layout, LayoutError};
use std::collections::HashSet;

/// The registers of a unit.
#[derive(Debug, Clone)]
pub(super) struct Registers {
    pub fragment: Fragment,
    /// The lane that first holds each element of C, row by row.
    pub lane_of: Vec<usize>,
    /// What each register of D reads; `None` where the tile that the registers hold says it all.
    pub sources: Option<Sources>,
}

/// A register: its lane and its slot.
type Register = (u32, u32);

/// What each register of D reads.
#[derive(Debug, Clone)]
pub(super) struct Sources {
    k: usize,
    /// Registers of D that hold something: lane, slot, and their element.
    pub outputs: Vec<(Register, (usize, usize))>,
    /// k registers of A for each of them, then as many of B, and one of C.
    a: Vec<Register>,
    b: Vec<Register>,
    c: Vec<Register>,
}

/// Most registers that the table of sources names.
const MOST: usize = 1 << 24;

impl Registers {
    /// The registers that a truth plants, if any.
    pub(super) fn new(key: &str, planted: &PlantedUnit) -> Result<Option<Registers>, BadTruth> {
        let Some(layout) = &planted.layout else { return Ok(None) };
        let key = format!("{key}.layout");
        let fragment = layout.find(&key, planted.shape)?;
        let operands = [("A", &fragment.a), ("B", &fragment.b), ("C", &fragment.c)];
        for (operand, layout) in operands {
            if let Some((row, column)) = layout.coverage().first_unheld {
                let found = format!("without a holder of ({row}, {column}) of {operand}");
                return Err(refused(key, found, "layouts in which a lane holds every element"));
            }
        }
        let alone = operands.iter().all(|(_, layout)| layout.coverage().is_one_to_one());
        let sources = match planted.copies {
            Copies::Nearest if !alone => Some(Sources::new(&key, &fragment)?),
            _ => None,
        };
        let lane_of = fragment.c.first_holders().into_iter().map(|holder| holder.map_or(0, |(lane, _)| lane)).collect();
        Ok(Some(Registers { fragment, lane_of, sources }))
    }

    /// What the unit declares of them.
    pub(super) fn spec(&self) -> FragmentSpec {
        let Fragment { a, b, c } = &self.fragment;
        FragmentSpec { lanes: a.lanes(), a: a.slots(), b: b.slots(), c: c.slots() }
    }
}

impl Sources {
    fn new(key: &str, fragment: &Fragment) -> Result<Sources, BadTruth> {
        let k = fragment.a.cols();
        let outputs = fragment.c.entries().filter(|(_, _, element)| element.is_some()).count();
        if outputs.saturating_mul(k) > MOST {
            let found = format!("of {outputs} registers of D, each of {k} products");
            return Err(refused(key, found, format!("at most {MOST} products, or `copies = \"first\"`")));
        }
        Ok(Sources::of(fragment))
    }

    fn of(fragment: &Fragment) -> Sources {
        let (n, k) = (fragment.c.cols(), fragment.a.cols());
        let held = |e: Option<(u32, u32)>| e.map(|(row, column)| (row as usize, column as usize));
        let outputs: Vec<(Register, (usize, usize))> =
            fragment.c.entries().filter_map(|(lane, slot, e)| Some(((lane as u32, slot as u32), held(e)?))).collect();
        let [a, b, c] = [&fragment.a, &fragment.b, &fragment.c].map(holders);
        let mut sources = Sources { k, outputs: Vec::new(), a: Vec::new(), b: Vec::new(), c: Vec::new() };
        for &((lane, _), (row, column)) in &outputs {
            sources.a.extend((0..k).map(|p| nearest(&a[row * k + p], lane)));
            sources.b.extend((0..k).map(|p| nearest(&b[p * n + column], lane)));
            sources.c.push(nearest(&c[row * n + column], lane));
        }
        Sources { outputs, ..sources }
    }

    /// What goes into output number `i` of launch `t`. Scales lie as for tiles.
    pub(super) fn inputs(&self, operands: Operands<'_>, (t, lanes): (usize, usize), i: usize) -> DotInputs {
        let get = |x: &rigel_numerics::Matrix, (lane, slot): Register| x.get(t * lanes + lane as usize, slot as usize);
        let products = i * self.k..(i + 1) * self.k;
        let (_, (row, column)) = self.outputs[i];
        let scales = operands.scales.map(|(a, b)| {
            let groups = a.cols;
            let m = a.rows * lanes / operands.a.rows;
            let of_row = (0..groups).map(|g| a.get(t * m + row, g)).collect();
            let of_column = (0..groups).map(|g| b.get(t * groups + g, column)).collect();
            (of_row, of_column)
        });
        let (a_scales, b_scales) = scales.unwrap_or_default();
        DotInputs {
            a: self.a[products.clone()].iter().map(|&r| get(operands.a, r)).collect(),
            b: self.b[products].iter().map(|&r| get(operands.b, r)).collect(),
            c: get(operands.c, self.c[i]),
            a_scales,
            b_scales,
        }
    }
}

/// The layouts without the copies of A and B that no lane reads, where each reads the nearest ones.
pub(super) fn without_unread_copies(fragment: &Fragment) -> Result<Fragment, LayoutError> {
    let sources = Sources::of(fragment);
    let only = |layout: &Layout, read: &[Register]| {
        let read: HashSet<Register> = read.iter().copied().collect();
        let shape = ((layout.rows(), layout.cols()), (layout.lanes(), layout.slots()));
        Layout::from_fn(shape.0, shape.1, |lane, slot| {
            layout.at(lane as usize, slot as usize).filter(|_| read.contains(&(lane, slot)))
        })
    };
    Fragment::new(only(&fragment.a, &sources.a)?, only(&fragment.b, &sources.b)?, fragment.c.clone())
}

/// Everybody who holds each element, row by row.
fn holders(layout: &Layout) -> Vec<Vec<Register>> {
    let mut holders = vec![Vec::new(); layout.rows() * layout.cols()];
    for (lane, slot, element) in layout.entries() {
        if let Some((row, column)) = element {
            holders[row as usize * layout.cols() + column as usize].push((lane as u32, slot as u32));
        }
    }
    holders
}

/// The holder that is nearest to a lane. There is one: every element is held.
fn nearest(holders: &[Register], lane: u32) -> Register {
    holders.iter().copied().min_by_key(|&(other, slot)| (other ^ lane, slot)).unwrap_or_default()
}
