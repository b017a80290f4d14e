//! The expected value of each key, in a file that outlives the process.
//!
//! ```text
//!  slot   offset 16 * (thread * FAMILIES * KEYS + family * KEYS + key)
//!         u64 settled   the generation of the acknowledged value
//!         u64 pending   the generation of a write that is in progress or failed
//! ```
//! Generation 0, and a generation with the top bit set, stand for no value. A write calls `begin`, writes to the
//! database, and calls `settle`. If the process is killed in between, the slot stays open, and both generations are
//! correct.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The number of column families of the database.
pub const FAMILIES: usize = 2;
/// The number of keys that one thread writes in one column family.
pub const KEYS: usize = 300;
const GONE: u64 = 1 << 63;

/// The generations of one key. The module documents the two numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    pub settled: u64,
    pub pending: u64,
}

impl Slot {
    /// Returns true if a write of the key is in progress or failed. Both generations are then correct.
    pub fn is_open(self) -> bool {
        self.settled != self.pending
    }
}

/// The slots of one thread. No other thread uses these slots.
pub struct Expected {
    file: File,
    thread: usize,
    slots: Vec<Slot>,
}

impl Expected {
    /// Reads the slots of one thread. A missing file or a short file gives slots without values.
    ///
    /// # Errors
    /// An error of opening or reading the file.
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

    /// Returns the slot of a key of this thread.
    pub fn slot(&self, family: usize, key: usize) -> Slot {
        self.slots[family * KEYS + key]
    }

    fn store(&mut self, family: usize, key: usize, slot: Slot) {
        let at = family * KEYS + key;
        self.slots[at] = slot;
        let bytes = [slot.settled.to_le_bytes(), slot.pending.to_le_bytes()].concat();
        let offset = (self.thread * FAMILIES * KEYS + at) as u64 * 16;
        self.file.write_all_at(&bytes, offset).expect("space for a few bytes next to the database");
    }

    /// Starts a put or a deletion of the key. Returns the generation of the write.
    pub fn begin(&mut self, family: usize, key: usize, put: bool) -> u64 {
        let next = self.next(family, key);
        self.open(family, key, if put { next } else { next | GONE })
    }

    /// Starts a put of a value of the fixed length. Returns the generation of the write.
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

    /// Ends a write that was acknowledged.
    pub fn settle(&mut self, family: usize, key: usize) {
        let slot = self.slot(family, key);
        self.store(family, key, Slot { settled: slot.pending, ..slot });
    }

    /// Ends a write that was rolled back: the acknowledged value stays.
    pub fn cancel(&mut self, family: usize, key: usize) {
        let slot = self.slot(family, key);
        self.store(family, key, Slot { pending: slot.settled, ..slot });
    }

    /// Closes an open slot with the value that was read after an open of the database.
    ///
    /// # Errors
    /// The value belongs to neither generation.
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

    /// Checks a read.
    ///
    /// # Errors
    /// The value is not the expected value.
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

/// Returns the key as the database has it.
pub fn name(thread: usize, key: usize) -> String {
    format!("t{thread:02}k{key:04}")
}

/// Returns the value of a generation.
pub fn value(thread: usize, family: usize, key: usize, generation: u64) -> Option<Vec<u8>> {
    if generation == 0 || generation & GONE != 0 {
        return None;
    }
    let mut out = format!("{thread}.{family}.{key}.{generation}.").into_bytes();
    let more = filler(generation);
    out.extend((0..more).map(|i| (i * generation % 251) as u8));
    Some(out)
}

/// Returns the number of filler bytes in a value of this generation.
fn filler(generation: u64) -> u64 {
    if generation.is_multiple_of(17) { 3000 } else { generation.wrapping_mul(7919) % 300 }
}

/// The number of filler bytes in each value at a rest point.
const FULL: u64 = 299;
