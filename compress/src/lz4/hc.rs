//! The high-compression search. It keeps chains of all positions with the same hash, newest first, and looks
//! at the next position before it takes a match (Storer-Szymanski with lazy evaluation). The level sets how
//! many links of a chain are followed, as in LZ4HC (2^(level-1)), and how many positions ahead are tried.

use super::emit::{LITERALS_AT_END, MARGIN, MATCH_MIN, last, sequence};
use super::{WINDOW, common, read32};

const HASH_BITS_MAX: u32 = 15;
/// A match of this length is taken without trying the next position.
const GOOD_ENOUGH: usize = 256;
/// From this level on, two positions ahead are tried.
const PATIENT: u32 = 10;

pub(super) struct Searcher {
    links_max: u32,
    ahead: usize,
    hash_bits: u32,
    /// The newest position with a hash, plus 1. 0 means none.
    newest: Vec<u32>,
    /// For each position modulo the window: the previous position with the same hash, plus 1.
    older: Vec<u32>,
    /// All positions below this one are in the chains.
    inserted: usize,
}

#[derive(Clone, Copy, Default)]
struct Match {
    from: usize,
    len: usize,
}

impl Searcher {
    pub(super) fn new(level: u32) -> Searcher {
        Searcher {
            links_max: 1 << (level.clamp(1, 14) - 1).max(1),
            ahead: if level >= PATIENT { 2 } else { 1 },
            hash_bits: 0,
            newest: Vec::new(),
            older: Vec::new(),
            inserted: 0,
        }
    }

    /// Compresses `text[start..]`. Matches may refer to the text before `start`.
    pub(super) fn compress(&mut self, text: &[u8], start: usize, out: &mut Vec<u8>) {
        out.clear();
        if text.len() - start <= MARGIN {
            return last(out, &text[start..]);
        }
        self.reset(text.len());
        let search_end = text.len() - MARGIN;
        let match_end = text.len() - LITERALS_AT_END;
        let (mut literals, mut at) = (start, start);
        while at <= search_end {
            let mut best = self.longest(text, at, match_end, MATCH_MIN - 1);
            if best.len < MATCH_MIN {
                at += 1;
                continue;
            }
            let mut step = 1;
            while step <= self.ahead && best.len < GOOD_ENOUGH && at + step <= search_end {
                let later = self.longest(text, at + step, match_end, best.len + step - 1);
                if later.len > best.len + step - 1 {
                    at += step;
                    best = later;
                    step = 1;
                } else {
                    step += 1;
                }
            }
            while at > literals && best.from > 0 && text[best.from - 1] == text[at - 1] {
                at -= 1;
                best = Match { from: best.from - 1, len: best.len + 1 };
            }
            sequence(out, &text[literals..at], at - best.from, best.len);
            at += best.len;
            literals = at;
        }
        last(out, &text[literals..]);
    }

    /// Empties the chains and sets their size for the text, so that small blocks do not pay for a large
    /// table.
    fn reset(&mut self, len: usize) {
        self.hash_bits = (usize::BITS - len.leading_zeros()).clamp(8, HASH_BITS_MAX);
        self.newest.clear();
        self.newest.resize(1 << self.hash_bits, 0);
        let window = len.next_power_of_two().min(WINDOW);
        self.older.resize(window, 0);
        self.inserted = 0;
    }

    /// Returns the longest match for `at` that is longer than `beat` bytes. Of several longest matches it
    /// returns the nearest one.
    fn longest(&mut self, text: &[u8], at: usize, match_end: usize, beat: usize) -> Match {
        self.insert_up_to(text, at);
        let word = read32(text, at);
        let mut best = Match { from: 0, len: beat };
        let mut candidate = self.newest[self.hash(word)] as usize;
        let mut links = self.links_max;
        while candidate != 0 && links > 0 {
            let from = candidate - 1;
            if from >= at || at - from >= WINDOW {
                break;
            }
            let promising = match (text.get(from + best.len), text.get(at + best.len)) {
                (Some(x), Some(y)) => x == y,
                _ => false,
            };
            if promising && read32(text, from) == word {
                let len = MATCH_MIN + common(text, from + MATCH_MIN, at + MATCH_MIN, match_end);
                if len > best.len {
                    best = Match { from, len };
                    if at + len >= match_end {
                        break;
                    }
                }
            }
            let next = self.older[from % self.older.len()] as usize;
            // If the slot was reused by a newer position, the chain ends.
            if next >= candidate {
                break;
            }
            candidate = next;
            links -= 1;
        }
        if best.len > beat { best } else { Match::default() }
    }

    /// Inserts all positions before `at` into the chains.
    fn insert_up_to(&mut self, text: &[u8], at: usize) {
        let window = self.older.len();
        while self.inserted < at {
            let hash = self.hash(read32(text, self.inserted));
            self.older[self.inserted % window] = self.newest[hash];
            self.newest[hash] = self.inserted as u32 + 1;
            self.inserted += 1;
        }
    }

    #[inline(always)]
    fn hash(&self, word: u32) -> usize {
        (word.wrapping_mul(2_654_435_761) >> (32 - self.hash_bits)) as usize
    }
}
