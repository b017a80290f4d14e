//! Benchmarks of parts of the engine: checksums, compression, an atomic load.

use base::Result;
use compress::Compression;

use super::report::Op;
use super::run::Thread;

fn checksum(thread: &mut Thread<'_>, op: Op, sum: impl Fn(&[u8]) -> u64) -> Result<()> {
    let size = thread.run.flags.count("block_size").max(1) as usize;
    let data = vec![b'x'; size];
    let mut bytes = 0u64;
    let mut value = 0u32;
    while bytes < 5000 << 20 {
        value = value.wrapping_add(sum(std::hint::black_box(&data)) as u32);
        thread.finished(1, op);
        bytes += size as u64;
    }
    eprint!("... val={value:#x}\r");
    thread.stats.bytes += bytes;
    let text = format!("({size} per op)");
    thread.stats.message(&text);
    Ok(())
}

/// Measures CRC-32C over blocks of `--block_size` bytes, 5000 MiB in all.
pub fn crc32c(thread: &mut Thread<'_>) -> Result<()> {
    checksum(thread, Op::Crc, |data| u64::from(kernel::checksum::crc32c::value(data)))
}

/// Measures XXH32 over blocks of `--block_size` bytes, 5000 MiB in all.
pub fn xxhash(thread: &mut Thread<'_>) -> Result<()> {
    checksum(thread, Op::Hash, |data| u64::from(kernel::checksum::xxh32::hash(data, 0)))
}

/// Measures XXH64 over blocks of `--block_size` bytes, 5000 MiB in all.
pub fn xxhash64(thread: &mut Thread<'_>) -> Result<()> {
    checksum(thread, Op::Hash, |data| kernel::checksum::xxh64::hash(data, 0))
}

/// Measures XXH3 (64 bits) over blocks of `--block_size` bytes, 5000 MiB in all.
pub fn xxh3(thread: &mut Thread<'_>) -> Result<()> {
    checksum(thread, Op::Hash, kernel::checksum::xxh3::hash64)
}

/// Measures an atomic load with acquire order. One operation is 1000 loads.
pub fn acquire_load(thread: &mut Thread<'_>) -> Result<()> {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let cell = AtomicUsize::new(1);
    thread.stats.message("(each op is 1000 loads)");
    for _ in 0..100_000 {
        for _ in 0..1000 {
            std::hint::black_box(cell.load(Ordering::Acquire));
        }
        thread.finished(1, Op::Others);
    }
    Ok(())
}

/// Compresses the same block of `--block_size` bytes, 3 GiB in all. Ends at once if the block does not shrink.
pub fn compress(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let (kind, mut compressor) = super::setup::compressor(&run.flags)?;
    let mut values = run.values();
    let input = values.take(run.flags.count("block_size").max(1) as usize).to_vec();
    let mut out = Vec::new();
    let (mut bytes, mut produced) = (0u64, 0u64);
    while bytes < 3 << 30 {
        out.clear();
        if kind == Compression::None || !compressor.compress(&input, &mut out)? {
            thread
                .stats
                .message("(compression failure: Operation aborted: Unable to compress smaller than input)");
            return Ok(());
        }
        produced += out.len() as u64;
        bytes += input.len() as u64;
        thread.finished(1, Op::Compress);
    }
    let text = format!("(output: {:.1}%)", produced as f64 * 100.0 / bytes as f64);
    thread.stats.message(&text);
    thread.stats.bytes += bytes;
    Ok(())
}

/// Decompresses the same block of `--block_size` bytes to 20 GiB in all. Ends at once if the block does not
/// shrink.
pub fn uncompress(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let (kind, mut compressor) = super::setup::compressor(&run.flags)?;
    let mut values = run.values();
    let input = values.take(run.flags.count("block_size").max(1) as usize).to_vec();
    let mut packed = Vec::new();
    if kind == Compression::None || !compressor.compress(&input, &mut packed)? {
        thread.stats.message("(failed to compress smaller than input)");
        return Ok(());
    }
    let stored = compressor.stored_kind();
    let mut bytes = 0u64;
    let mut out = vec![0; compress::uncompressed_len(stored, &packed)?];
    while bytes < 20 << 30 {
        compress::decompress_into(stored, &packed, None, &mut out)?;
        bytes += out.len() as u64;
        thread.finished(1, Op::Uncompress);
    }
    thread.stats.bytes += bytes;
    Ok(())
}

/// Compresses data that does not shrink enough. The compressor rejects each output. The limit is a tenth of the input
/// below the expected size.
pub fn compress_reject(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let share = (run.flags.double("compression_ratio") - 0.1).max(0.0);
    let (kind, mut compressor) = super::setup::picky_compressor(&run.flags, share)?;
    if kind == Compression::None {
        thread.stats.message("(compression type not supported)");
        return Ok(());
    }
    let mut values = run.values();
    let input = values.take(run.flags.count("block_size").max(1) as usize).to_vec();
    let mut out = Vec::new();
    let mut bytes = 0u64;
    while bytes < 3 << 30 {
        out.clear();
        if compressor.compress(&input, &mut out)? {
            return Err(base::Error::aborted("the compressor accepted data that it must reject"));
        }
        bytes += input.len() as u64;
        thread.finished(1, Op::Compress);
    }
    thread.stats.message(&format!("(rejected; output buffer {:.1}% of input)", share * 100.0));
    thread.stats.bytes += bytes;
    Ok(())
}
