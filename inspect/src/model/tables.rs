//! Properties of SST files.

use std::path::Path;
use std::sync::Arc;

use base::order::BuiltinPrefix;
use base::{Error, Order, Result};
use env::{Env, ReadHints};
use format::properties::Properties;
use table::any::AnyReader;
use table::sst::{OpenOptions, ReadCtx};

use super::families::TableStats;

/// Opens an SST file without its database. If this library does not know the comparator, the file is opened with the
/// bytewise order. Its blocks and properties are then readable, but a search is not possible.
///
/// # Errors
/// Aborted for an empty file. Corruption for a file that is not a complete table. NotSupported for an unknown kind.
pub(crate) fn open_table(env: &Env, path: &Path) -> Result<(AnyReader, Order)> {
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let size = file.size()?;
    if size == 0 {
        return Err(Error::aborted("the SST file is empty").file(path));
    }
    let prefix: Arc<dyn base::order::PrefixExtractor> = Arc::new(BuiltinPrefix::Noop);
    let mut options = OpenOptions { prefix_extractor: Some(prefix), ..OpenOptions::default() };
    let reader = AnyReader::open(file.clone(), size, &options).map_err(|e| e.file(path))?;
    let name = String::from_utf8_lossy(&reader.properties().comparator_name).into_owned();
    let order = Order::by_name(&name).unwrap_or(Order::Bytewise);
    if order.name() == Order::Bytewise.name() {
        return Ok((reader, order));
    }
    options.order = order.clone();
    Ok((AnyReader::open(file, size, &options).map_err(|e| e.file(path))?, order))
}

/// Returns the names of the compressions of an SST file. Format version 7 writes `manager;types;`, with two
/// hexadecimal digits for each type. Older versions write a name.
fn compression(text: &str) -> String {
    let mut parts = text.split(';');
    let (Some(_), Some(types), Some("")) = (parts.next(), parts.next(), parts.next()) else {
        return text.to_string();
    };
    let of = |digits: &[u8]| {
        let number = std::str::from_utf8(digits).ok().and_then(|d| u8::from_str_radix(d, 16).ok());
        let known = number.and_then(|byte| compress::Compression::from_byte(byte).ok());
        known.map_or_else(
            || "other".to_string(),
            |kind| kind.option_name().trim_start_matches('k').to_string(),
        )
    };
    let names: Vec<String> = types.as_bytes().chunks(2).map(of).collect();
    if names.is_empty() { "NoCompression".to_string() } else { names.join(", ") }
}

/// Returns the properties that the pages show.
pub(super) fn stats(p: &Properties) -> TableStats {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().take(120).collect::<String>();
    TableStats {
        entries: p.num_entries,
        deletions: p.num_deletions,
        range_deletions: p.num_range_deletions,
        merge_operands: p.num_merge_operands,
        raw_key_bytes: p.raw_key_size,
        raw_value_bytes: p.raw_value_size,
        data_bytes: p.data_size,
        index_bytes: p.index_size,
        filter_bytes: p.filter_size,
        blocks: p.num_data_blocks,
        compression: compression(&text(&p.compression_name)),
        filter: text(&p.filter_policy_name),
        prefix_extractor: text(&p.prefix_extractor_name),
        format_version: p.format_version,
        key_blocks: 0,
    }
}

/// With fewer merge operands in a file, the index is not read for the blocks of one key.
const OPERANDS_MIN: u64 = 1000;

/// Returns the largest number of data blocks that the entries of one key fill, from the index. Returns 0 without reading the index if
/// the file has fewer than 1,000 merge operands, or if most entries are no merge operands.
///
/// # Errors
/// Corruption of the index. Errors of the file system.
pub(super) fn key_blocks(reader: &AnyReader) -> Result<u64> {
    let p = reader.properties();
    let has_operands = p.num_merge_operands >= OPERANDS_MIN && p.num_merge_operands >= p.num_entries / 2;
    // If one key is in two blocks, all separators of the index have sequence numbers.
    let (Some(reader), true) = (reader.block_based(), has_operands && p.index_key_is_user_key == 0) else {
        return Ok(0);
    };
    let (mut last, mut run, mut longest) = (None, 0, 0);
    reader.each_block(&ReadCtx::default(), |separator, _, _| {
        match last.as_deref() == Some(separator) {
            true => run += 1,
            false => (last, run) = (Some(separator.to_vec()), 1),
        }
        longest = run.max(longest);
    })?;
    Ok(longest)
}
