//! The engine from outside: one binary, one module a subject.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

mod apart;
mod basic;
mod beside;
mod close;
mod covered;
mod durable;
mod features;
mod flushes;
mod golden;
mod model;
mod inplace;
mod live;
mod mended;
mod options;
mod prefix_scans;
mod properties;
mod read_options;
mod quarantine;
mod reads;
mod rebuilt;
mod script;
mod sound;
mod stalls;
mod stats;
mod stats_script;
mod styles;
