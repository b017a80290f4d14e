//! Benchmarks that shape the tree: compactions of one level into the next, and trees of a given shape.

use std::collections::BTreeSet;

use base::{Error, Level, Result};
use ironstone::{CompactionOptions, Family, FileNumber};

use super::fill::{Order, fill};
use super::run::{Run, Thread};

/// Compacts level 0 into the first level below it that has data.
pub fn compact0(run: &Run) -> Result<()> {
    compact_level(run, Level::ZERO)
}

/// Compacts the first level below level 0 that has data into the next level that has data.
pub fn compact1(run: &Run) -> Result<()> {
    compact_level(run, Level::ZERO.below())
}

fn compact_level(run: &Run, from: Level) -> Result<()> {
    for database in &run.databases {
        while !try_compact_level(&database.db, from)? {
            super::open::wait_for_compaction(run)?;
        }
    }
    Ok(())
}

/// Returns false if the tree changed during the compaction, and the caller must try again.
fn try_compact_level(family: &Family, from: Level) -> Result<bool> {
    let files = family.live_files();
    let filled: BTreeSet<Level> = files.iter().map(|file| file.level).collect();
    let level =
        if from == Level::ZERO { Some(from) } else { filled.iter().copied().find(|level| *level >= from) };
    let Some(level) = level.filter(|level| filled.contains(level)) else {
        println!("compact{} found 0 files to compact", from.get());
        return Ok(true);
    };
    let Some(next) = filled.iter().copied().find(|other| *other > level) else {
        println!("compact{} found no data beyond {level}", from.get());
        return Ok(true);
    };
    let inputs: Vec<FileNumber> =
        files.iter().filter(|file| file.level == level).map(|file| file.number).collect();
    println!("compact{} found {} files to compact from {level} to {next}", from.get(), inputs.len());
    let options = CompactionOptions {
        output_file_size_limit: family.options().target_file_size_base,
        ..CompactionOptions::default()
    };
    match family.compact_files(&inputs, next, None, &options) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == base::Kind::Aborted || error.kind() == base::Kind::InvalidArgument => {
            eprintln!("compact{} CompactFiles failed: {error}", from.get());
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Makes a tree of a given shape from keys in ascending order (fillseqdeterministic).
pub fn fill_seq_deterministic(thread: &mut Thread<'_>) -> Result<()> {
    fill_deterministic(thread, Order::Sequential)
}

/// Makes a tree of a given shape from keys in random order, each once (filluniquerandomdeterministic).
pub fn fill_unique_random_deterministic(thread: &mut Thread<'_>) -> Result<()> {
    fill_deterministic(thread, Order::UniqueRandom)
}

/// Fills the last level in `first` order, and each level above it in random order. The number of keys falls from
/// level to level by the factor between the level sizes. At the end, each sorted run is compacted to its level.
fn fill_deterministic(thread: &mut Thread<'_>, first: Order) -> Result<()> {
    let run = thread.run;
    let family: &Family = run.db()?;
    family.set_options(&[
        ("disable_auto_compactions", "true"),
        ("level0_slowdown_writes_trigger", "400000000"),
        ("level0_stop_writes_trigger", "400000000"),
    ])?;
    let options = family.options();
    let levels = options.num_levels.max(0) as usize;
    let style = run.flags.int("compaction_style");
    if !(style == 0 || style == 1) || levels < 2 {
        return Err(Error::not_supported(
            "deterministic fills are for leveled and universal compaction of two levels or more",
        ));
    }
    let last = levels - 1;
    let ratio = match style {
        0 => run.flags.double("max_bytes_for_level_multiplier").max(1.0),
        _ => (options.compaction_options_universal.size_ratio as f64 + 200.0) / 100.0,
    };
    let mut writes = if run.counts.writes == 0 { run.counts.num } else { run.counts.writes };
    let mut known: BTreeSet<FileNumber> = BTreeSet::new();
    let mut runs: Vec<Vec<FileNumber>> = Vec::new();
    loop {
        let order = if runs.is_empty() { first } else { Order::UniqueRandom };
        fill(thread, order, writes)?;
        family.flush()?;
        let files = family.live_files();
        let mut new: Vec<FileNumber> = files
            .iter()
            .filter(|file| file.level == Level::ZERO && !known.contains(&file.number))
            .map(|file| file.number)
            .collect();
        writes = (writes as f64 / ratio) as u64;
        if new.is_empty() {
            break;
        }
        known.extend(&new);
        let single = new.len() == 1;
        let topmost = style == 0 && runs.len() + 1 == last;
        if topmost && !single {
            // The newest third stays in level 0.
            new.drain(..new.len() / 3);
        }
        runs.push(new);
        if single || topmost || writes == 0 {
            break;
        }
    }
    let wanted = if style == 0 { last } else { levels };
    if runs.len() < wanted {
        return Err(Error::invalid_argument(format!("n is too small to fill {levels} levels")));
    }
    for (above, files) in runs.iter().enumerate() {
        println!("{}", files.len());
        let limit = options.target_file_size_base;
        let compaction = CompactionOptions {
            compression: options.compression,
            output_file_size_limit: limit,
            ..CompactionOptions::default()
        };
        family.compact_files(files, Level::from_index(last.saturating_sub(above)), None, &compaction)?;
    }
    print_shape(family);
    Ok(())
}

/// Prints each file of level 0. For each other level, prints the first file, the last file and the size.
fn print_shape(family: &Family) {
    let files = family.live_files();
    for level in files.chunk_by(|a, b| a.level == b.level) {
        let Some((first, last)) = level.first().zip(level.last()) else { continue };
        let number = first.level;
        if number == Level::ZERO {
            for file in level {
                println!("Level[0]: /{:06}.sst(size: {} bytes)", file.number.get(), file.size);
            }
            continue;
        }
        let total: u64 = level.iter().map(|file| file.size).sum();
        println!(
            "Level[{}]: /{:06}.sst - /{:06}.sst(total size: {total} bytes)",
            number.get(),
            first.number.get(),
            last.number.get()
        );
    }
}
