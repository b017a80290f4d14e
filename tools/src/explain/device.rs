//! Measures the bytes per second that a compaction writes in a directory, for `ironstone plan --device DIR`.

use std::path::Path;

use base::Result;
use env::Env;
use inspect::plan::Workload;
use ironstone::{CompactRangeOptions, Db, Options, WriteOptions};

/// The bytes of the entries that the compaction merges.
const BYTES: u64 = 256 << 20;

/// The number of SST files of level 0 that the compaction merges.
const FILES: u64 = 4;

/// The largest entry of the measurement. Larger entries are as fast.
const ENTRY_MAX: u64 = 16 << 20;

/// Writes four overlapping SST files into a new directory below `dir`, merges them by one compaction, and deletes the directory. The
/// entries have the size of the workload, and the tables have the options of the plan. Returns the bytes per second that the compaction
/// wrote.
///
/// # Errors
/// Errors of the file system. AlreadyExists if the new directory exists.
pub(super) fn job_rate(env: &Env, dir: &Path, workload: &Workload, options: &Options) -> Result<u64> {
    let path = dir.join(format!("ironstone-plan-{}", std::process::id()));
    env.fs.create_dir(&path)?;
    let measured = options_of(env, options).and_then(|options| {
        let rate = measure(env, &path, workload, &options);
        let destroyed = ironstone::destroy(&path, &options.db);
        rate.and_then(|rate| destroyed.map(|()| rate))
    });
    let _ = env.fs.remove_dir(&path);
    measured
}

/// Returns the options of the measurement: the tables, the compression and the direct I/O of the plan, in a tree that compacts nothing by
/// itself.
fn options_of(env: &Env, plan: &Options) -> Result<Options> {
    let mut options = Options::default();
    options.db.env = env.clone();
    options.db.create_if_missing = true;
    options.db.use_direct_io_for_flush_and_compaction = plan.db.use_direct_io_for_flush_and_compaction;
    options.db.use_fsync = plan.db.use_fsync;
    options.db.bytes_per_sync = plan.db.bytes_per_sync;
    options.family.table_factory = plan.family.table_factory.clone();
    options.family.prefix_extractor = plan.family.prefix_extractor.clone();
    options.family.compression = plan.family.compression;
    options.family.compression_opts = plan.family.compression_opts;
    options.family.target_file_size_base = plan.family.target_file_size_base;
    options.update("disable_auto_compactions=true;write_buffer_size=1G")?;
    Ok(options)
}

fn measure(env: &Env, path: &Path, workload: &Workload, options: &Options) -> Result<u64> {
    let db = Db::open(path, options.clone())?;
    let entry_bytes = workload.entry_bytes.clamp(16, ENTRY_MAX);
    let entries = (BYTES / entry_bytes).max(FILES);
    let quiet = WriteOptions { disableWAL: true, ..WriteOptions::default() };
    let mut value = vec![0; entry_bytes as usize - 16];
    for file in 0..FILES {
        for at in (file..entries).step_by(FILES as usize) {
            // An odd factor makes the keys distinct and even in the key space.
            let key = at.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            fill(&mut value, key);
            db.put_with(&[key.to_be_bytes(), at.to_be_bytes()].concat(), &value, &quiet)?;
        }
        db.flush()?;
    }
    let start = env.clock.now_nanos();
    db.compact_range(None, None, &CompactRangeOptions::default())?;
    let seconds = (env.clock.now_nanos() - start) as f64 / 1e9;
    let written: u64 = db.live_files().iter().map(|file| file.size).sum();
    Ok((written as f64 / seconds.max(1e-6)) as u64)
}

/// Fills a value so that about half of its bytes can be compressed.
fn fill(value: &mut [u8], seed: u64) {
    let mut state = seed | 1;
    let half = value.len() / 2;
    for bytes in value[..half].chunks_mut(8) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = state.to_le_bytes();
        bytes.copy_from_slice(&word[..bytes.len()]);
    }
}
