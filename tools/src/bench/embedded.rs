//! fillembeddedblob and fillembeddedentity: one external SST file with embedded blobs, which the database ingests.

use base::{Error, Result};
use ironstone::{EmbeddedBlobOptions, IngestExternalFileOptions, SstFileWriter};

use super::data::Values;
use super::flags::Flags;
use super::report::Op;
use super::run::Thread;

/// The length of a short column in bytes.
const SHORT_COLUMN: usize = 16;

/// Ingests one SST file of N values.
pub fn fill_blobs(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let mut values = run.values();
    let bytes = fill(thread, &mut |file, key| {
        let value = values.next();
        file.put(key, value)?;
        Ok(value.len())
    })?;
    thread.stats.bytes += bytes;
    let text = format!(
        "({} values, value_size={}, embedded_blob_min_size={})",
        run.counts.num,
        run.flags.int("value_size"),
        run.flags.count("embedded_blob_min_size")
    );
    thread.stats.message(&text);
    Ok(())
}

/// Ingests one SST file of N entities with short and large columns.
pub fn fill_entities(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let layout = layout(&run.flags)?;
    let mut values = run.values();
    let bytes = fill(thread, &mut |file, key| {
        let mut columns: Vec<(&[u8], Vec<u8>)> = Vec::with_capacity(layout.len());
        for (name, len) in &layout {
            columns.push((name, sized(&mut values, *len)));
        }
        let columns: Vec<(&[u8], &[u8])> = columns.iter().map(|(name, value)| (*name, &value[..])).collect();
        file.put_entity(key, &columns)?;
        Ok(columns.iter().map(|(name, value)| name.len() + value.len()).sum())
    })?;
    thread.stats.bytes += bytes;
    let (short, wide) = (run.flags.int("num_short_wide_columns"), run.flags.int("num_wide_columns"));
    let text = format!(
        "({} entities, {} cols [{short} inline + {wide} embedded], embedded_blob_min_size={})",
        run.counts.num,
        short + wide,
        run.flags.count("embedded_blob_min_size")
    );
    thread.stats.message(&text);
    Ok(())
}

/// Returns the names and the value lengths of the columns, in the order of the names. The first column is the default column: a
/// short column if there is one, otherwise a large column.
fn layout(flags: &Flags) -> Result<Vec<(Vec<u8>, usize)>> {
    let (short, wide) = (flags.count("num_short_wide_columns"), flags.count("num_wide_columns"));
    let large = flags.count("value_size") as usize;
    if short + wide < 1 {
        return Err(Error::invalid_argument(
            "fillembeddedentity requires num_wide_columns + num_short_wide_columns >= 1",
        ));
    }
    let mut layout = vec![(Vec::new(), if short >= 1 { SHORT_COLUMN } else { large })];
    layout.extend((1..short).map(|at| (format!("s{at:08}").into_bytes(), SHORT_COLUMN)));
    let named = if short >= 1 { wide } else { wide - 1 };
    layout.extend((0..named).map(|at| (format!("w{at:08}").into_bytes(), large)));
    Ok(layout)
}

fn sized(values: &mut Values, len: usize) -> Vec<u8> {
    values.take(len).to_vec()
}

/// Writes the SST file with an entry for each key, and ingests the file. `add` adds the entry of a key, and returns the bytes of
/// its value. Returns the bytes of all keys and values.
fn fill(
    thread: &mut Thread<'_>,
    add: &mut dyn FnMut(&mut SstFileWriter, &[u8]) -> Result<usize>,
) -> Result<u64> {
    let run = thread.run;
    let version = run.flags.int("format_version");
    if version < 7 {
        return Err(Error::invalid_argument(format!(
            "fillembedded* requires block-based table format_version >= 7 (got {version})"
        )));
    }
    let fs = &run.options.db.env.fs;
    let dir = run.path.join("embedded_tmp");
    fs.create_dir_all(&dir)?;
    let path = dir.join("embedded.sst");
    let embedded = EmbeddedBlobOptions { min_blob_size: run.flags.count("embedded_blob_min_size") };
    let mut file =
        SstFileWriter::create_with_embedded_blobs(&path, &run.options.db, &run.options.family, &embedded)?;
    let mut key = run.keys.buffer();
    let mut bytes = 0;
    for at in 0..run.counts.num {
        run.keys.write(at, &mut key);
        bytes += (key.len() + add(&mut file, &key)?) as u64;
        thread.finished(1, Op::Write);
    }
    file.finish()?;
    let options = IngestExternalFileOptions { move_files: true, ..IngestExternalFileOptions::default() };
    run.db()?.ingest_external_files([&path], &options)?;
    if fs.exists(&path)? {
        fs.unlink(&path)?;
    }
    // A directory that stays has no effect.
    let _ = fs.remove_dir(&dir);
    Ok(bytes)
}
