//! Random changes of packed inputs, from a seed, for machines without libFuzzer.

use env::Rng;
use env::rng::SeededRng;

/// Numbers at the limits of lengths and counts.
const EDGES: [u8; 10] = [0, 1, 0x7f, 0x80, 0x81, 0xff, 0xfe, 0x40, 4, 16];
/// The length of the longest input that a change makes.
const LEN_MAX: usize = 64 << 10;

/// Returns a changed copy of one input. Some changes insert a part of a second input.
pub fn mutate(inputs: &[&[u8]], rng: &SeededRng) -> Vec<u8> {
    let below = |n: usize| rng.below(n.max(1) as u64) as usize;
    let pick = || inputs.get(below(inputs.len())).copied().unwrap_or_default();
    let mut out = pick().to_vec();
    for _ in 0..=below(4) {
        let at = below(out.len());
        // Many formats keep their entry points at the end of the file, so half of the changes go to the
        // end.
        let at = if rng.below(2) == 0 { at } else { out.len().saturating_sub(1 + below(64)) };
        match rng.below(8) {
            0 | 1 if !out.is_empty() => out[at] ^= 1 << rng.below(8),
            2 | 3 if !out.is_empty() => out[at] = EDGES[below(EDGES.len())],
            4 if !out.is_empty() => out[at] = rng.below(256) as u8,
            5 => out.truncate(at),
            6 if !out.is_empty() => drop(out.drain(at..(at + 1 + below(16)).min(out.len()))),
            _ => {
                let other = pick();
                let from = below(other.len());
                let piece = &other[from..(from + below(64)).min(other.len())];
                let at = at.min(out.len());
                if rng.below(2) == 0 && at + piece.len() <= out.len() {
                    out[at..at + piece.len()].copy_from_slice(piece);
                } else if out.len() + piece.len() <= LEN_MAX {
                    drop(out.splice(at..at, piece.iter().copied()));
                }
            }
        }
        if out.is_empty() {
            return out;
        }
    }
    out
}
