//! The fast search: one candidate for each hash. The longer no match is found, the longer the steps become.
//! The acceleration is the first step length.

use super::emit::{LITERALS_AT_END, MARGIN, MATCH_MIN, last, sequence};
use super::{WINDOW, common, read32};

const HASH_BITS: u32 = 12;
/// The logarithm of the number of failed tries after which the step grows by one.
const SKIP_TRIGGER: u32 = 6;

pub(super) struct Searcher {
    acceleration: u32,
    /// The last position with this hash, plus 1. 0 means none.
    table: Vec<u32>,
}

impl Searcher {
    pub(super) fn new(acceleration: u32) -> Searcher {
        Searcher { acceleration: acceleration.max(1), table: vec![0; 1 << HASH_BITS] }
    }

    /// Compresses `text[start..]`. Matches may refer to the text before `start`.
    pub(super) fn compress(&mut self, text: &[u8], start: usize, out: &mut Vec<u8>) {
        out.clear();
        self.table.fill(0);
        if text.len() - start <= MARGIN {
            return last(out, &text[start..]);
        }
        for at in (0..start.saturating_sub(MATCH_MIN - 1)).step_by(3) {
            self.table[hash(read32(text, at))] = at as u32 + 1;
        }
        let search_end = text.len() - MARGIN;
        let match_end = text.len() - LITERALS_AT_END;
        let (mut literals, mut at) = (start, start);
        let mut tries = self.acceleration << SKIP_TRIGGER;
        while at <= search_end {
            let word = read32(text, at);
            let slot = &mut self.table[hash(word)];
            let candidate = std::mem::replace(slot, at as u32 + 1) as usize;
            if candidate == 0 || at + 1 - candidate >= WINDOW || read32(text, candidate - 1) != word {
                at += (tries >> SKIP_TRIGGER) as usize;
                tries = tries.saturating_add(1);
                continue;
            }
            let (mut from, mut to) = (candidate - 1, at);
            while to > literals && from > 0 && text[from - 1] == text[to - 1] {
                (from, to) = (from - 1, to - 1);
            }
            let len =
                (at - to) + MATCH_MIN + common(text, candidate - 1 + MATCH_MIN, at + MATCH_MIN, match_end);
            sequence(out, &text[literals..to], to - from, len);
            at = to + len;
            literals = at;
            tries = self.acceleration << SKIP_TRIGGER;
            if at <= search_end {
                self.table[hash(read32(text, at - 2))] = at as u32 - 1;
            }
        }
        last(out, &text[literals..]);
    }
}

#[inline(always)]
fn hash(word: u32) -> usize {
    (word.wrapping_mul(2_654_435_761) >> (32 - HASH_BITS)) as usize
}
