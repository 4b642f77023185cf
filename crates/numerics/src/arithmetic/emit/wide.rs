//! How does a program add numbers that no machine word holds?

/// Sums of 32-bit limbs; `$limbs` of them.
pub(super) const TEXT: &str = "
/// 32-bit limbs of the widest sum, the sign among them.
const LIMBS: usize = $limbs;

/// Adds a magnitude, moved up by so many places, to a sum of limbs; carries wait.
fn add_to(limbs: WideMut, negative: bool, magnitude: Word, up: i32) {
    let mut rest: Word = magnitude;
    let mut place: i32 = up;
    while rest != 0 {
        let piece: u64 = ((rest & 0xffffffff) as u64) << (place % 32);
        let at: usize = (place / 32) as usize;
        let low: Sum = (piece & 0xffffffff) as Sum;
        let high: Sum = (piece >> 32) as Sum;
        limbs[at] += if negative { -low } else { low };
        limbs[at + 1] += if negative { -high } else { high };
        rest = rest >> 32;
        place += 32;
    }
}

/// Brings every limb but the last into 0 … 2^32 − 1.
fn carry(limbs: WideMut) {
    for i in 0..LIMBS - 1 {
        let over: Sum = limbs[i] >> 32;
        limbs[i] -= over * 0x100000000;
        limbs[i + 1] += over;
    }
}

/// The leading 65 to 96 bits of a sum of limbs in units of 2^least, and whether there is more.
fn leading(limbs: WideMut, least: i32) -> Total {
    carry(limbs);
    let negative: bool = limbs[LIMBS - 1] < 0;
    if negative {
        for i in 0..LIMBS { limbs[i] = -limbs[i]; }
        carry(limbs);
    }
    let mut top: usize = LIMBS - 1;
    while top > 2 && limbs[top] == 0 { top -= 1; }
    let mut sticky: bool = false;
    for i in 0..top - 2 {
        if limbs[i] != 0 { sticky = true; }
    }
    let high: Sum = (limbs[top] << 64) + (limbs[top - 1] << 32) + limbs[top - 2];
    return Total { negative: negative, magnitude: high as Word, place: least + 32 * ((top as i32) - 2), sticky: sticky };
}
";
