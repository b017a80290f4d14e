//! Measures the time to write an entry of a table, in nanoseconds. Keys have 16 bytes and are in order.
//! Values have 100 bytes, half of which compress.
//!
//! `cargo bench -p ironstone-table --bench writer_rows [rows] [compression] [filter bits]`

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use base::SequenceNumber;
use base::key::pack;
use compress::Compression;
use env::Append;
use env::fs::Syncer;
use env::writer::FileWriter;
use ironstone_table::options::{BlockBasedTableOptions, FilterPolicy};
use ironstone_table::sst::{BlockCompression, Writer, WriterOptions};

/// A file that discards its content.
#[derive(Debug, Default)]
struct Nowhere(u64);

impl Append for Nowhere {
    fn append(&mut self, data: &[u8]) -> base::Result<()> {
        self.0 += black_box(data).len() as u64;
        Ok(())
    }
    fn flush(&mut self) -> base::Result<()> {
        Ok(())
    }
    fn sync(&mut self) -> base::Result<()> {
        Ok(())
    }
    fn fsync(&mut self) -> base::Result<()> {
        Ok(())
    }
    fn size(&self) -> u64 {
        self.0
    }
    fn path(&self) -> &Path {
        Path::new("nowhere")
    }
    fn truncate(&mut self, size: u64) -> base::Result<()> {
        self.0 = size;
        Ok(())
    }
    fn syncer(&self) -> Arc<dyn Syncer> {
        Arc::new(Synced)
    }
    fn close(&mut self) -> base::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct Synced;

impl Syncer for Synced {
    fn sync(&self) -> base::Result<()> {
        Ok(())
    }
}

/// Returns 1 MiB in which each run of 100 bytes is 50 random bytes, twice.
fn values() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut bytes = Vec::with_capacity(1 << 20);
    while bytes.len() < 1 << 20 {
        let half: Vec<u8> = (0..50)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 32) as u8
            })
            .collect();
        bytes.extend_from_slice(&half);
        bytes.extend_from_slice(&half);
    }
    bytes
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let number = |at: usize, default: f64| args.get(at).and_then(|n| n.parse().ok()).unwrap_or(default);
    let rows = number(0, 4e6) as u64;
    let kinds = match args.get(1) {
        Some(name) => vec![Compression::by_option_name(name).expect("a compression's option name")],
        None => vec![Compression::None, Compression::Snappy],
    };
    let bits = number(2, 0.0);
    let values = values();
    for compression in kinds {
        let table = BlockBasedTableOptions {
            filter_policy: (bits > 0.0).then(|| FilterPolicy::bloom(bits)),
            ..BlockBasedTableOptions::default()
        };
        let options = WriterOptions {
            table: Arc::new(table),
            block_compression: BlockCompression { kind: compression, ..BlockCompression::default() },
            ..WriterOptions::default()
        };
        let file = FileWriter::new(Box::new(Nowhere::default()), env::writer::WriterOptions::default());
        let mut writer = match Writer::new(file, options) {
            Ok(writer) => writer,
            Err(error) => {
                println!("{}: {error}", compression.option_name());
                continue;
            }
        };
        let start = Instant::now();
        let mut key = [b'0'; 24];
        for row in 0..rows {
            key[..8].copy_from_slice(&(row * 7).to_be_bytes());
            key[16..].copy_from_slice(&pack(SequenceNumber::new(row), 1).to_le_bytes());
            let at = (row * 100) as usize % ((1 << 20) - 200);
            writer.add(&key, &values[at..at + 100]).expect("nowhere takes everything");
        }
        let (table, _) = writer.finish().expect("nowhere takes everything");
        let ns = start.elapsed().as_nanos() as f64 / rows as f64;
        println!("{:<20} {ns:7.1} ns/row  {} bytes", compression.option_name(), table.file_size);
    }
}
