//! `--command=recompress`: writes an SST file again in memory with each compression, and prints the sizes.
//!
//! Facts: RocksDB `table/sst_file_dumper.cc`. Range tombstones are not written, and tables without blocks become
//! block-based tables.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use base::iter::InternalIterator;
use base::key::InternalOrder;
use base::stats::{Statistics, Ticker};
use base::{Order, Result};
use compress::{Compression, CompressionOptions};
use env::memory::MemoryFs;
use env::writer::FileWriter;
use env::{AppendHints, Env, FileSystem, ReadHints};
use table::any::AnyReader;
use table::options::BlockBasedTableOptions;
use table::sst::writer::{BlockKind, WarmCache};
use table::sst::{BlockCompression, FinishedTable, OpenOptions, ReadCtx, Resources, Writer, WriterOptions};

use super::numbers::number;
use super::open::Table;
use crate::ldb::{Failure, Io};

/// The settings of a recompression.
#[derive(Clone, Debug)]
pub(super) struct How {
    /// Empty stands for all compressions of this build.
    types: Vec<Compression>,
    /// The first and the last compression level. `None` stands for the default level of each compression.
    pub levels: Option<(i32, i32)>,
    block_size: u64,
    index_compression: bool,
    verify: bool,
    options: CompressionOptions,
}

impl Default for How {
    fn default() -> Self {
        let table = BlockBasedTableOptions::default();
        How {
            types: Vec::new(),
            levels: None,
            block_size: 16384,
            index_compression: table.enable_index_compression,
            verify: table.verify_compression,
            options: CompressionOptions::default(),
        }
    }
}

/// The name of the table in the file system in memory.
const NAME: &str = "/recompressed.sst";

impl How {
    /// Takes an option of the command line. Returns false if the option is not an option of recompression.
    ///
    /// # Errors
    /// A value that is not a number, is out of range, or is not a compression.
    pub fn take(&mut self, name: &str, value: &[u8]) -> std::result::Result<bool, Failure> {
        let small = |most: u32| {
            let given = number(name, value)?;
            let fits = u32::try_from(given).ok().filter(|given| *given <= most);
            fits.ok_or_else(|| Failure::new(format!("{name}{given}: at most {most}")))
        };
        let truth = |default: bool| match value.first() {
            Some(first) => matches!(first, b'1' | b't' | b'T'),
            None => default,
        };
        match name {
            "--compression_types=" => self.types = types(value)?,
            "--block_size=" | "--set_block_size=" => self.block_size = number(name, value)?,
            "--enable_index_compression=" => self.index_compression = truth(self.index_compression),
            "--verify_compression=" => self.verify = truth(self.verify),
            "--compression_max_dict_bytes=" => self.options.max_dict_bytes = small(u32::MAX)?,
            "--compression_zstd_max_train_bytes=" => self.options.zstd_max_train_bytes = small(u32::MAX)?,
            "--compression_max_dict_buffer_bytes=" => {
                self.options.max_dict_buffer_bytes = number(name, value)?
            }
            "--compression_use_zstd_finalize_dict" => self.options.use_zstd_dict_trainer = false,
            "--compression_parallel_threads=" => self.options.parallel_threads = small(100)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the number of times that [`How::show`] reads a table.
    pub fn passes(&self) -> u64 {
        let compressions =
            self.compressions().iter().filter(|compression| compression.is_supported()).count();
        let (from, to) = self.level_range();
        compressions as u64 * u64::try_from(i64::from(to) - i64::from(from) + 1).unwrap_or(0)
    }

    fn compressions(&self) -> Vec<Compression> {
        if self.types.is_empty() { compress::supported() } else { self.types.clone() }
    }

    /// Returns the first and the last compression level.
    fn level_range(&self) -> (i32, i32) {
        self.levels.unwrap_or((CompressionOptions::DEFAULT_LEVEL, CompressionOptions::DEFAULT_LEVEL))
    }

    /// Prints a line for each compression and level. The inner error is an error of the table.
    ///
    /// # Errors
    /// An output that cannot be written.
    pub fn show(
        &self,
        table: &Table,
        ctx: &ReadCtx,
        env: &Env,
        io: &mut Io<'_>,
    ) -> std::result::Result<Result<()>, Failure> {
        if cfg!(debug_assertions) {
            writeln!(io.out, "WARNING: Assertions are enabled; benchmarks unnecessarily slow")?;
        }
        let (from, to) = self.level_range();
        for compression in self.compressions() {
            let name = compression.option_name();
            if !compression.is_supported() {
                writeln!(io.out, "Unsupported compression type: {name}.")?;
                continue;
            }
            let (size, threads) = (self.block_size, self.options.parallel_threads);
            writeln!(io.out, "Compression: {name:<24} Block Size: {size}  Threads: {threads}")?;
            for level in from..=to {
                let line = Rewrite { how: self, table, ctx, env, compression, level }.line();
                match line {
                    Ok(line) => writeln!(io.out, "{line}")?,
                    Err(error) => return Ok(Err(error)),
                }
            }
        }
        Ok(Ok(()))
    }
}

/// Reads a list of compressions.
fn types(list: &[u8]) -> std::result::Result<Vec<Compression>, Failure> {
    let text = String::from_utf8_lossy(list);
    let known = |name: &str| {
        Compression::by_option_name(name)
            .ok_or_else(|| Failure::new(format!("{name} is not a valid CompressionType")))
    };
    text.split(',').filter(|name| !name.is_empty()).map(known).collect()
}

/// Sums the bytes of the data blocks before compression.
#[derive(Default)]
struct RawBytes(AtomicU64);

impl WarmCache for RawBytes {
    fn block_written(&self, kind: BlockKind, _offset: u64, payload: &[u8]) {
        if kind == BlockKind::Data {
            self.0.fetch_add(payload.len() as u64, Ordering::Relaxed);
        }
    }
}

/// One rewrite of a table.
struct Rewrite<'a> {
    how: &'a How,
    table: &'a Table,
    ctx: &'a ReadCtx,
    env: &'a Env,
    compression: Compression,
    level: i32,
}

impl Rewrite<'_> {
    /// Writes and reads the table. Returns the line with the sizes and times.
    fn line(&self) -> Result<String> {
        let fs = MemoryFs::new(self.env.clock.clone());
        let statistics = Arc::new(Statistics::new());
        let start = Instant::now();
        let raw = Arc::new(RawBytes::default());
        let written = self.write(&fs, statistics.clone(), raw.clone())?;
        let write_us = start.elapsed().as_micros();
        let start = Instant::now();
        self.read(&fs, written.file_size)?;
        let read_us = start.elapsed().as_micros();
        let p = &written.properties;
        let compressed = statistics.ticker(Ticker::NumberBlockCompressed);
        let rejected = statistics.ticker(Ticker::NumberBlockCompressionRejected);
        // The tickers count compressed index blocks too.
        let blocks = p.num_data_blocks.max(compressed + rejected);
        let bypassed = blocks - compressed - rejected;
        let percent = |count: u64| if blocks == 0 { 0.0 } else { count as f64 / blocks as f64 * 100.0 };
        let raw_bytes = raw.0.load(Ordering::Relaxed);
        let ratio = raw_bytes as f64 / p.data_size as f64;
        Ok(format!(
            "Cx level: {} Cx size: {:10} Uncx size: {raw_bytes:10} Ratio: {ratio:10.6} Write usec: {write_us:10}  Read usec: \
             {read_us:10}  Cx count: {compressed:6} ({:5.1}%) Not cx for ratio: {bypassed:6} ({:5.1}%) Not cx \
             otherwise: {rejected:6} ({:5.1}%)",
            self.level,
            p.data_size,
            percent(compressed),
            percent(bypassed),
            percent(rejected)
        ))
    }

    fn write(&self, fs: &MemoryFs, statistics: Arc<Statistics>, raw: Arc<RawBytes>) -> Result<FinishedTable> {
        let file = FileWriter::new(fs.create(Path::new(NAME), &AppendHints::default())?, Default::default());
        let mut table = BlockBasedTableOptions {
            block_size: self.how.block_size,
            enable_index_compression: self.how.index_compression,
            verify_compression: self.how.verify,
            ..BlockBasedTableOptions::default()
        };
        table.sanitize();
        let options = WriterOptions {
            table: Arc::new(table),
            block_compression: BlockCompression {
                kind: self.compression,
                options: CompressionOptions { level: self.level, ..self.how.options },
                ..BlockCompression::default()
            },
            resources: Resources {
                executor: Some(self.env.executor.clone()),
                statistics: Some(statistics),
                warm: Some(raw),
                ..Resources::default()
            },
            order: InternalOrder::new(self.order()),
            ..WriterOptions::default()
        };
        let mut writer = Writer::new(file, options)?;
        let mut iter = self.table.reader.iter(&Arc::new(self.ctx.clone()));
        iter.seek_to_first();
        while iter.valid() {
            writer.add(iter.key(), iter.value())?;
            iter.next();
        }
        iter.status()?;
        let (finished, mut file) = writer.finish()?;
        file.close()?;
        Ok(finished)
    }

    fn read(&self, fs: &MemoryFs, size: u64) -> Result<()> {
        let file = fs.open_random(Path::new(NAME), &ReadHints::default())?;
        let options = OpenOptions { order: self.order(), ..OpenOptions::default() };
        let reader = AnyReader::open(file, size, &options)?;
        let mut iter = reader.iter(&Arc::new(self.ctx.clone()));
        iter.seek_to_first();
        while iter.valid() {
            iter.next();
        }
        iter.status()
    }

    fn order(&self) -> Order {
        self.table.order.clone()
    }
}
