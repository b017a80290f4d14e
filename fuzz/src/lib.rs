//! What the fuzzer runs: one function for each decoder, held to the same four promises.
//!
//! For any input a target ends without a panic, within a number of steps that is linear in the input, without ever
//! holding more than [`Target::room`] bytes; and what decodes and has one form encodes to the same bytes again. Where
//! bytes stand behind a checksum it is put right first ([`repair`]), since an attacker would do so too.
//!
//! `runner` feeds these functions from libFuzzer; `tests/replay.rs` feeds them the corpora in `fixtures/fuzz`, with no
//! more than `cargo test`.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a rig")]

pub mod archive;
pub mod blocks;
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
    /// Bytes it may hold beyond four times its input.
    pub room: usize,
}

const fn target(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run, room: 1 << 20 }
}

/// Whole tables and databases hold blocks that are compressed, and the engine's own buffers.
const WHOLE_ROOM: usize = 64 << 20;

pub const ALL: &[Target] = &[
    target("wal", logs::wal),
    target("batch", logs::batch),
    target("edit", logs::edit),
    target("manifest", logs::manifest),
    target("proof", logs::proof),
    target("wide", logs::wide),
    target("blob", logs::blob),
    target("names", texts::names),
    target("options_ini", texts::options_ini),
    // A family's options are about 3 KiB, and four bytes of text can ask for one.
    Target { name: "options", run: texts::options, room: WHOLE_ROOM },
    target("option_strings", texts::option_strings),
    target("footer", blocks::footer),
    target("properties", blocks::properties),
    target("block", blocks::block),
    target("index", blocks::index),
    target("range_del", blocks::range_del),
    target("filter", blocks::filter),
    // What is announced is held, up to 16 MiB.
    Target { name: "decompress", run: blocks::decompress, room: WHOLE_ROOM },
    Target { name: "table", run: whole::table, room: WHOLE_ROOM },
    Target { name: "directory", run: whole::directory, room: WHOLE_ROOM },
];

/// # Panics
/// If there is no such target.
pub fn find(name: &str) -> Target {
    *ALL.iter().find(|t| t.name == name).unwrap_or_else(|| panic!("no target {name}"))
}

impl Target {
    /// # Panics
    /// If a promise is broken. Whether memory is watched depends on [`meter::Meter`] being the allocator.
    pub fn check(&self, data: &[u8]) {
        let most = meter::most_held(|| (self.run)(data));
        let bound = 4 * data.len() + self.room;
        assert!(most <= bound, "{}: held {most} bytes for an input of {}", self.name, data.len());
    }
}
