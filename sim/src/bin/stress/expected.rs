//! What each key must read, in a file that outlives the process.
//!
//! ```text
//!  slot   offset 16 * (thread * FAMILIES * KEYS + family * KEYS + key)
//!         u64 settled   the generation that is there
//!         u64 pending   the generation that a write under way, or one that failed, may have put there
//! ```
//! Generation 0 and those with the top bit stand for no value. A write goes through `begin`, the database, `settle`;
//! a process that is killed in between leaves the slot open, and either generation is right.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

pub const FAMILIES: usize = 2;
pub const KEYS: usize = 300;
const GONE: u64 = 1 << 63;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    pub settled: u64,
    pub pending: u64,
}

impl Slot {
    pub fn is_open(self) -> bool {
        self.settled != self.pending
    }
}

/// The slots of one thread. Only that thread touches them.
pub struct Expected {
    file: File,
    thread: usize,
    slots: Vec<Slot>,
}

impl Expected {
    pub fn load(path: &Path, thread: usize) -> std::io::Result<Expected> {
        let file = File::options().create(true).truncate(false).read(true).write(true).open(path)?;
        let mut bytes = vec![0u8; FAMILIES * KEYS * 16];
        let from = (thread * bytes.len()) as u64;
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read_at(&mut bytes[filled..], from + filled as u64)? {
                0 => break,
                n => filled += n,
            }
        }
        let number = |b: &[u8]| b.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
        let slots = bytes
            .chunks_exact(16)
            .map(|c| Slot { settled: number(&c[..8]), pending: number(&c[8..]) })
            .collect();
        Ok(Expected { file, thread, slots })
    }

    pub fn slot(&self, family: usize, key: usize) -> Slot {
        self.slots[family * KEYS + key]
    }

    fn store(&mut self, family: usize, key: usize, slot: Slot) {
        let at = family * KEYS + key;
        self.slots[at] = slot;
        let bytes = [slot.settled.to_le_bytes(), slot.pending.to_le_bytes()].concat();
        let offset = (self.thread * FAMILIES * KEYS + at) as u64 * 16;
        self.file.write_all_at(&bytes, offset).expect("room for a few bytes beside the database");
    }

    /// A put (or deletion) of the key is about to be made.
    pub fn begin(&mut self, family: usize, key: usize, put: bool) -> u64 {
        let next = self.next(family, key);
        self.open(family, key, if put { next } else { next | GONE })
    }

    /// As [`Expected::begin`], for a put of a value that is as long as all such.
    pub fn begin_full(&mut self, family: usize, key: usize) -> u64 {
        let next = self.next(family, key);
        let full = (next..).find(|generation| filler(*generation) == FULL);
        self.open(family, key, full.unwrap_or(next))
    }

    fn next(&self, family: usize, key: usize) -> u64 {
        let slot = self.slot(family, key);
        (slot.settled.max(slot.pending) & !GONE) + 1
    }

    fn open(&mut self, family: usize, key: usize, pending: u64) -> u64 {
        let slot = self.slot(family, key);
        self.store(family, key, Slot { settled: slot.settled, pending });
        pending
    }

    /// The write was acknowledged.
    pub fn settle(&mut self, family: usize, key: usize) {
        let slot = self.slot(family, key);
        self.store(family, key, Slot { settled: slot.pending, ..slot });
    }

    /// What was read after an opening closes an open slot.
    ///
    /// # Errors
    /// It is neither generation.
    pub fn resolve(&mut self, family: usize, key: usize, found: Option<&[u8]>) -> Result<(), String> {
        let slot = self.slot(family, key);
        let is = |generation: u64| value(self.thread, family, key, generation).as_deref() == found;
        let right = [slot.settled, slot.pending].into_iter().find(|g| is(*g));
        match right {
            Some(generation) if slot.is_open() => {
                self.store(family, key, Slot { settled: generation, pending: generation });
                Ok(())
            }
            Some(_) => Ok(()),
            None => Err(self.wrong(family, key, found)),
        }
    }

    /// Whether a read is right now.
    ///
    /// # Errors
    /// It is not.
    pub fn check(&self, family: usize, key: usize, found: Option<&[u8]>) -> Result<(), String> {
        let slot = self.slot(family, key);
        let is = |generation: u64| value(self.thread, family, key, generation).as_deref() == found;
        if is(slot.settled) || is(slot.pending) { Ok(()) } else { Err(self.wrong(family, key, found)) }
    }

    fn wrong(&self, family: usize, key: usize, found: Option<&[u8]>) -> String {
        let shown = found.map(|f| f[..f.len().min(40)].escape_ascii().to_string());
        format!(
            "family {family}, {}: read {shown:?}, expected generation {:?}",
            name(self.thread, key),
            self.slot(family, key)
        )
    }
}

/// A key, as the database has it.
pub fn name(thread: usize, key: usize) -> String {
    format!("t{thread:02}k{key:04}")
}

/// The value of a generation.
pub fn value(thread: usize, family: usize, key: usize, generation: u64) -> Option<Vec<u8>> {
    if generation == 0 || generation & GONE != 0 {
        return None;
    }
    let mut out = format!("{thread}.{family}.{key}.{generation}.").into_bytes();
    let more = filler(generation);
    out.extend((0..more).map(|i| (i * generation % 251) as u8));
    Some(out)
}

/// Bytes of a value behind what it says of itself.
fn filler(generation: u64) -> u64 {
    if generation.is_multiple_of(17) { 3000 } else { generation.wrapping_mul(7919) % 300 }
}

/// Those of a value at rest.
const FULL: u64 = 299;
