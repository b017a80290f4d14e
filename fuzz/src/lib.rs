//! Fuzz targets: one function for each decoder. Each target checks the same four promises.
//!
//! For any input, a target ends without a panic, and its number of steps is linear in the length of the input. The
//! target never holds more memory than four times this length plus [`Target::room`] bytes. If a value decodes and has
//! only one encoding, the value encodes to the same bytes. If a checksum protects bytes, [`repair`] corrects the
//! checksum first, because an attacker would do so too.
//!
//! `runner` calls these functions from libFuzzer. `tests/replay.rs` calls them with the corpora in `fixtures/fuzz`,
//! in a plain `cargo test`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a rig")]

pub mod archive;
pub mod blocks;
pub mod calls;
pub mod corpus;
pub mod logs;
pub mod meter;
pub mod mutate;
pub mod pack;
pub mod repair;
pub mod texts;
pub mod whole;

/// A decoder under test.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// The bytes that the target may hold in addition to four times the length of its input.
    pub room: usize,
    /// The length of the longest input that the fuzzer makes. The length is enough for all shapes of a value. A
    /// larger length would make executions slower. Longer inputs can still be replayed.
    pub len: usize,
}

const fn target(name: &'static str, run: fn(&[u8]), len: usize) -> Target {
    Target { name, run, room: 1 << 20, len }
}

/// The limit for whole SST files and databases, whose compressed blocks and buffers need more memory.
const WHOLE_ROOM: usize = 64 << 20;

pub const ALL: &[Target] = &[
    target("wal", logs::wal, 2048),
    target("batch", logs::batch, 512),
    target("edit", logs::edit, 1024),
    target("manifest", logs::manifest, 2048),
    target("proof", logs::proof, 1024),
    target("wide", logs::wide, 512),
    target("trace", logs::trace, 512),
    target("blob", logs::blob, 512),
    target("names", texts::names, 64),
    target("options_ini", texts::options_ini, 1024),
    // The options of a column family take about 3 KiB, and four bytes of text can name a column family.
    Target { name: "options", run: texts::options, room: WHOLE_ROOM, len: 4096 },
    target("option_strings", texts::option_strings, 256),
    target("footer", blocks::footer, 512),
    target("properties", blocks::properties, 2048),
    target("block", blocks::block, 1024),
    target("index", blocks::index, 1024),
    target("range_del", blocks::range_del, 512),
    target("filter", blocks::filter, 512),
    // A decompressed block is held as announced, up to 1 MiB.
    Target { name: "decompress", run: blocks::decompress, room: 16 << 20, len: 1024 },
    // A block of up to 256 KiB, its payloads, and the tables of the encoder.
    Target { name: "compress", run: blocks::compress, room: 16 << 20, len: 1024 },
    Target { name: "table", run: whole::table, room: WHOLE_ROOM, len: 8192 },
    // The target holds handles of two open databases, and the content of their memtables.
    Target { name: "c_calls", run: calls::c_calls, room: WHOLE_ROOM, len: 1024 },
    Target { name: "directory", run: whole::directory, room: WHOLE_ROOM, len: 16384 },
];

/// # Panics
/// If there is no such target.
pub fn find(name: &str) -> Target {
    *ALL.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("no target {name}"))
}

impl Target {
    /// # Panics
    /// If a promise is broken. The memory limit is checked only if [`meter::Meter`] is the allocator.
    pub fn check(&self, data: &[u8]) {
        let most = meter::most_held(|| (self.run)(data));
        let bound = 4 * data.len() + self.room;
        assert!(most <= bound, "{}: held {most} bytes for an input of {}", self.name, data.len());
    }
}
