//! Which elements of an output are worth looking at when not all can be?

use crate::Shape;
use crate::random::{below, stream};

/// Places (row, column) in row-major order, each once: the four corners, then in equal parts elements on both sides of
/// tile edges and elements drawn evenly. All places when the output has no more than `count`.
///
/// Tile edges are where a kernel's remainder handling starts; corners are where it meets itself. `tile` is rows ×
/// columns of a launch tile; the result depends on the arguments alone. It holds at most `max(count, 4)` places, fewer
/// where draws coincide.
pub fn sample(shape: Shape, tile: (usize, usize), count: usize, seed: u64) -> Vec<(usize, usize)> {
    let Shape { m, n, .. } = shape;
    if m.saturating_mul(n) <= count {
        return (0..m).flat_map(|row| (0..n).map(move |col| (row, col))).collect();
    }
    let stream = stream(seed, 0x5341_4D50);
    let draw = |index: usize, bound: usize| below(stream, index as u64, bound as u64) as usize;
    // The last line before, or the first line behind, a drawn tile edge.
    let edge = |index: usize, extent: usize, tile: usize| {
        let edges = (extent - 1) / tile.max(1);
        let behind = (1 + draw(index, edges.max(1))) * tile.max(1);
        behind.min(extent - 1) - if edges > 0 { draw(index + 1, 2) } else { 0 }
    };
    let mut places = vec![(0, 0), (0, n - 1), (m - 1, 0), (m - 1, n - 1)];
    places.extend((0..count.saturating_sub(4)).map(|i| {
        let at = 4 * i;
        match i % 4 {
            0 => (edge(at, m, tile.0), draw(at + 2, n)),
            1 => (draw(at + 2, m), edge(at, n, tile.1)),
            _ => (draw(at, m), draw(at + 1, n)),
        }
    }));
    places.sort_unstable();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_hold_corners_and_both_sides_of_tile_edges_and_stay_inside() {
        for (m, n) in [(1, 4000), (4000, 1), (300, 257), (64, 64), (63, 65)] {
            let shape = Shape::new(m, n, 1);
            let places = sample(shape, (64, 32), 400, 9);
            assert!(places.iter().all(|&(row, col)| row < m && col < n));
            assert!(places.is_sorted() && places.len() <= 400 && places.len() > 200);
            for corner in [(0, 0), (0, n - 1), (m - 1, 0), (m - 1, n - 1)] {
                assert!(places.binary_search(&corner).is_ok());
            }
            if (m, n) == (300, 257) {
                for edge in 1..=4 {
                    assert!(places.iter().any(|p| p.0 == edge * 64) && places.iter().any(|p| p.0 == edge * 64 - 1));
                }
                for edge in 1..=8 {
                    assert!(places.iter().any(|p| p.1 == edge * 32) && places.iter().any(|p| p.1 == edge * 32 - 1));
                }
            }
            assert_eq!(places, sample(shape, (64, 32), 400, 9));
        }
        assert_eq!(sample(Shape::new(2, 3, 1), (1, 1), 6, 0).len(), 6);
        assert_eq!(sample(Shape::new(1, 1, 1), (0, 0), 0, 0), [(0, 0)]);
    }
}
