//! How do operands start cold: in memory, but in no cache?
//!
//! Copies of both operands lie one after the other and fill at least twice the last-level cache; every cold
//! repetition takes another copy, in a stride that no prefetcher follows. The output and the packed panels
//! are the same in every repetition and may still be cached: cold means the operands.

use super::buffer::{ALIGNMENT, Buffer, NoMemory};
use crate::contract::GUARD;
use rigel_numerics::placement::ALIGNED;

/// Rows of an operand that lie apart.
pub struct Rows<'a> {
    /// One behind the other.
    pub bytes: &'a [u8],
    /// How many, at least one.
    pub count: usize,
    /// Bytes from one to the next, at least as many as a row has.
    pub apart: usize,
}

/// Both operands of a product, in one or more copies.
pub struct Ring {
    memory: Buffer<u8>,
    /// Bytes from the start of a copy to its A.
    to_a: usize,
    /// Bytes from the start of a copy to its B.
    to_b: usize,
    /// Bytes from one copy to the next.
    stride: usize,
    copies: usize,
    position: usize,
}

impl Ring {
    /// One copy of the operands' bytes, each on a cache line of its own.
    pub fn new(a: &[u8], b: &[u8]) -> Result<Self, NoMemory> {
        let to_b = a.len().next_multiple_of(ALIGNMENT);
        let stride = to_b + b.len().next_multiple_of(ALIGNMENT);
        let mut memory = Buffer::zeroed(stride)?;
        memory.bytes_mut()[..a.len()].copy_from_slice(a);
        memory.bytes_mut()[to_b..to_b + b.len()].copy_from_slice(b);
        Ok(Ring { memory, to_a: 0, to_b, stride, copies: 1, position: 0 })
    }

    /// One copy whose operands begin `offset` bytes past a page and have their rows apart; guards lie around and between them.
    pub fn placed(offset: usize, a: Rows<'_>, b: Rows<'_>) -> Result<Self, NoMemory> {
        let span = |rows: &Rows<'_>| (offset + rows.apart * rows.count + ALIGNED).next_multiple_of(ALIGNED);
        let (to_a, to_b) = (ALIGNED + offset, ALIGNED + span(&a) + offset);
        let stride = ALIGNED + span(&a) + span(&b);
        let mut memory = Buffer::on_a_page(stride)?;
        memory.bytes_mut().fill(GUARD);
        for (rows, start) in [(a, to_a), (b, to_b)] {
            let lines = memory.bytes_mut()[start..].chunks_mut(rows.apart);
            rows.bytes.chunks_exact(rows.bytes.len() / rows.count).zip(lines).for_each(|(row, line)| {
                line[..row.len()].copy_from_slice(row);
            });
        }
        Ok(Ring { memory, to_a, to_b, stride, copies: 1, position: 0 })
    }

    /// Makes at least two copies, as many as fill `bytes`.
    pub fn grow(&mut self, bytes: usize) -> Result<(), NoMemory> {
        let copies = bytes.div_ceil(self.stride).max(2);
        if copies <= self.copies {
            return Ok(());
        }
        let mut memory = match self.to_a {
            0 => Buffer::zeroed(copies * self.stride)?,
            _ => Buffer::on_a_page(copies * self.stride)?,
        };
        for copy in memory.bytes_mut().chunks_exact_mut(self.stride) {
            copy.copy_from_slice(&self.memory.bytes()[..self.stride]);
        }
        (self.memory, self.copies, self.position) = (memory, copies, 0);
        Ok(())
    }

    /// A and B of the copy used last.
    pub fn current(&self) -> (*const u8, *const u8) {
        let copy = &self.memory.bytes()[self.position * self.stride..][..self.stride];
        (copy[self.to_a..].as_ptr(), copy[self.to_b..].as_ptr())
    }

    /// A and B of a copy that was not used for all of the others' turns.
    pub fn advance(&mut self) -> (*const u8, *const u8) {
        self.position = (self.position + leap(self.copies)) % self.copies;
        self.current()
    }
}

/// A step near 0.618 of the ring that meets every copy before it meets one again.
fn leap(copies: usize) -> usize {
    let coprime = |step: &usize| gcd(*step, copies) == 1;
    (copies * 618 / 1000..copies).chain(1..2).find(coprime).unwrap_or(1)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_cold_ring_meets_every_copy_before_one_comes_again() {
        for bytes in [1, 200, 5_000, 64_000] {
            let mut ring = Ring::new(&[1; 70], &[2; 30]).unwrap();
            ring.grow(bytes).unwrap();
            let seen: BTreeSet<usize> = (0..ring.copies).map(|_| ring.advance().0 as usize).collect();
            assert_eq!(seen.len(), ring.copies);
            assert!(ring.copies >= 2 && ring.copies * ring.stride >= bytes);
        }
    }

    #[test]
    fn placed_rows_lie_where_they_are_asked_for_with_guards_around() {
        let (a, b): (Vec<u8>, Vec<u8>) = ((0..60).collect(), (100..140).collect());
        for (offset, apart) in [(0, 30), (7, 31), (4095, 4096)] {
            let rows = |bytes| Rows { bytes, count: 2, apart };
            let mut ring = Ring::placed(offset, rows(&a), rows(&b)).unwrap();
            ring.grow(100_000).unwrap();
            let (at_a, at_b) = ring.advance();
            assert_eq!((at_a as usize % ALIGNED, at_b as usize % ALIGNED), (offset, offset));
            for (at, bytes) in [(at_a, &a), (at_b, &b)] {
                let row = bytes.len() / 2;
                // SAFETY: two rows, what lies between them and a guard on both sides lie in the ring.
                let seen = unsafe { std::slice::from_raw_parts(at.sub(1), 2 * apart + 2) };
                assert_eq!((seen[0], &seen[1..=row]), (GUARD, &bytes[..row]));
                assert!(seen[1 + row..=apart].iter().all(|&byte| byte == GUARD));
                assert_eq!(&seen[1 + apart..][..row], &bytes[row..]);
                assert!(seen[1 + apart + row..].iter().all(|&byte| byte == GUARD));
            }
        }
    }

    #[test]
    fn every_copy_holds_the_operands() {
        let mut ring = Ring::new(&[1; 70], &[2; 30]).unwrap();
        ring.grow(1000).unwrap();
        for _ in 0..ring.copies {
            let (a, b) = ring.advance();
            // SAFETY: both lie in the ring with the extents given to it.
            let (a, b) = unsafe { (std::slice::from_raw_parts(a, 70), std::slice::from_raw_parts(b, 30)) };
            assert!(a.iter().all(|&x| x == 1) && b.iter().all(|&x| x == 2));
        }
    }
}
