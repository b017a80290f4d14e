//! Tests of the engine through its public interface. One binary; each module tests one subject.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

mod apart;
mod basic;
mod beside;
mod blobs;
mod close;
mod covered;
mod deleted_runs;
mod directories;
mod dropped;
mod durable;
mod features;
mod file_events;
mod flush_listeners;
mod flushes;
mod foreign;
mod golden;
mod inplace;
mod iterator_counts;
mod live;
mod manual;
mod mended;
mod model;
mod options;
mod other_tables;
mod pages;
mod parts_by_name;
mod prefix_scans;
mod properties;
mod quarantine;
mod read_options;
mod readers;
mod reads;
mod rebuilt;
mod releases;
mod row_cache;
mod sound;
mod stalls;
mod stats;
mod stats_script;
mod styles;
mod system;
mod thread_status;
mod tiering;
mod timestamps;
