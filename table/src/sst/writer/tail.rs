//! Writes all parts after the data blocks, in RocksDB's order.
//!
//! ```text
//! filter (or its partitions and their index), index (or its partitions, then the top level),
//! compression dictionary, range deletions, properties, metaindex, footer
//! ```

use base::Result;
use base::key::user_key;
use base::stats::HistogramKind;
use compress::{Compression, CompressionOptions};
use env::writer::FileWriter;
use format::filter::FilterBlock;
use format::footer::{Footer, TableKind};
use format::handle::BlockHandle;
use format::index_builder::{IndexBlock, IndexSummary};
use format::metaindex::{Metaindex, names};
use format::properties::Properties;
use format::trailer;

use super::blocks::{Blocks, write_index_block};
use super::collect::{filter_block_name, initial_properties};
use super::options::{BlockKind, WriterOptions};
use super::plan::has_delta_values;
use super::{FinishedTable, Writer, without_timestamp};
use crate::unique_id::UniqueId;

pub(super) fn finish(mut writer: Writer) -> Result<(FinishedTable, FileWriter)> {
    let options = &writer.options;
    let tail_start = writer.blocks.sink.offset();
    base::invariant!(writer.data.is_empty(), "a data block is open at the end of the table");
    base::invariant!(
        writer.blocks.stats.end <= tail_start,
        "the last data block ends after the start of the tail"
    );
    let mut metaindex = Metaindex::default();
    let mut properties = initial_properties(options);
    writer.counts.put_into(&mut properties);
    if !options.persist_timestamps {
        let stripped = writer.counts.entries * writer.timestamp_size as u64;
        base::invariant!(
            properties.raw_key_size >= stripped,
            "keys of {} bytes have timestamps of {stripped} bytes",
            properties.raw_key_size
        );
        properties.raw_key_size = properties.raw_key_size.saturating_sub(stripped);
    }
    properties.tail_start_offset = tail_start;

    write_filter(&mut writer, &mut metaindex, &mut properties)?;
    let summary = write_index(&mut writer.blocks, &mut metaindex, &mut properties)?;
    if let Some(statistics) = &writer.options.resources.statistics {
        // RocksDB counts in units of one ten-thousandth.
        let measure = |spread: &f64| {
            statistics.measure(HistogramKind::BlockKeyDistributionCv, (spread * 10_000.0) as u64)
        };
        summary.variations.iter().for_each(measure);
    }
    let index = summary.handle;
    if writer.options.table.format_version >= 6 {
        metaindex.insert(names::INDEX, index);
    }
    write_dictionary(&mut writer.blocks, &mut metaindex)?;
    if !writer.range_deletions.is_empty() {
        let block = writer.range_deletions.finish();
        let handle = writer.blocks.sink.write(BlockKind::RangeDeletion, block, 0, None)?;
        metaindex.insert(names::RANGE_DEL, handle);
    }
    put_block_facts(&writer, &mut properties);
    if let Some(embedder) = &writer.embedder {
        embedder.put_into(&mut properties);
    }
    writer.collectors.finish(&mut properties);
    let needs_compaction = writer.collectors.need_compact();
    let handle = writer.blocks.sink.write(BlockKind::Properties, &mut properties.encode(), 0, None)?;
    metaindex.insert(names::PROPERTIES, handle);
    let metaindex = writer.blocks.sink.write(BlockKind::Metaindex, &mut metaindex.encode(), 0, None)?;
    write_footer(&mut writer, metaindex, index)?;
    Ok(done(writer, properties, tail_start, needs_compaction))
}

fn write_filter(writer: &mut Writer, metaindex: &mut Metaindex, properties: &mut Properties) -> Result<()> {
    let Some(filter) = writer.filter.as_mut().filter(|filter| !filter.is_empty()) else { return Ok(()) };
    let last_key = without_timestamp(user_key(&writer.last_key), writer.timestamp_size);
    let keys_have_trailers = writer.blocks.index.keys_have_trailers();
    if let Some(charge) = &mut writer.filter_charge
        && charge.set(filter.memory_usage_bytes() + filter.scratch_bytes()).is_err()
    {
        filter.refuse_ribbon();
    }
    let sink = &mut writer.blocks.sink;
    let summary = filter.finish(
        last_key,
        writer.blocks.index.partitions(),
        keys_have_trailers,
        &mut |kind, block| {
            let kind = match kind {
                FilterBlock::Filter => BlockKind::Filter,
                FilterBlock::PartitionIndex => BlockKind::FilterPartitionIndex,
            };
            sink.write(kind, block, 0, None)
        },
    )?;
    properties.filter_size = summary.size;
    properties.num_filter_entries = summary.entries;
    metaindex.insert(filter_block_name(writer.options.table.partition_filters), summary.handle);
    Ok(())
}

fn write_index(
    blocks: &mut Blocks,
    metaindex: &mut Metaindex,
    properties: &mut Properties,
) -> Result<IndexSummary> {
    let (index, sink, mut packer, packed) = blocks.for_index();
    let summary = index.finish(&mut |kind, block| {
        let handle = write_index_block(sink, packer.as_deref_mut(), packed, block)?;
        if let IndexBlock::Meta(name) = kind {
            metaindex.insert(name, handle);
        }
        Ok(handle)
    })?;
    base::invariant!(
        summary.handle.end() <= sink.offset(),
        "the index ends after the file at {}",
        sink.offset()
    );
    properties.index_size = summary.size + trailer::LEN as u64;
    properties.index_partitions = summary.partitions;
    properties.top_level_index_size = summary.top_level_size;
    properties.num_uniform_blocks = summary.uniform_blocks;
    properties.index_key_is_user_key = u64::from(!index.keys_have_trailers());
    Ok(summary)
}

fn write_dictionary(blocks: &mut Blocks, metaindex: &mut Metaindex) -> Result<()> {
    let mut dictionary = blocks.dictionary().to_vec();
    if !dictionary.is_empty() {
        let handle = blocks.sink.write(BlockKind::CompressionDictionary, &mut dictionary, 0, None)?;
        metaindex.insert(names::COMPRESSION_DICT, handle);
    }
    Ok(())
}

fn put_block_facts(writer: &Writer, properties: &mut Properties) {
    let stats = &writer.blocks.stats;
    base::invariant!(
        stats.rejected + stats.bypassed <= stats.blocks,
        "{} data blocks are stored uncompressed, and the table has {}",
        stats.rejected + stats.bypassed,
        stats.blocks
    );
    base::invariant!(
        (stats.blocks == 0) == writer.last_key.is_empty(),
        "a table has {} data blocks, and its last point key has {} bytes",
        stats.blocks,
        writer.last_key.len()
    );
    properties.num_data_blocks = stats.blocks;
    properties.num_data_blocks_compression_rejected = stats.rejected;
    properties.num_data_blocks_compression_bypassed = stats.bypassed;
    properties.data_size = stats.end;
    properties.uncompressed_data_size = stats.uncompressed;
    properties.index_value_is_delta_encoded = u64::from(has_delta_values(&writer.options));
    let (fast, slow) =
        writer.blocks.sampler.estimates(stats.uncompressed, stats.blocks * trailer::LEN as u64);
    properties.fast_compression_estimated_data_size = fast;
    properties.slow_compression_estimated_data_size = slow;
    properties.compression_name = compression_name(writer).into_bytes();
    properties.compression_options = compression_text(&writer.options).into_bytes();
}

/// Returns the compression property. From format version 7 on, it has the name of the compression manager and the used
/// type bytes. In older format versions, it has the one compression type, also if every block was stored uncompressed.
fn compression_name(writer: &Writer) -> String {
    let kind = writer.blocks.data_kind();
    let mut used = writer.blocks.sink.types_used();
    if writer.options.table.format_version >= 7 {
        let manager = if kind == Compression::None { "" } else { "BuiltinV2" };
        let types: String = used.map(|byte| format!("{byte:02X}")).collect();
        return format!("{manager};{types};");
    }
    let used: Vec<u8> = used.by_ref().collect();
    let zstd = Some(Compression::Zstd).filter(|zstd| used.contains(&(*zstd as u8)));
    let first = used.first().and_then(|byte| Compression::from_u8(*byte));
    zstd.or(first).unwrap_or(kind).name().to_string()
}

fn compression_text(options: &WriterOptions) -> String {
    let CompressionOptions { window_bits, level, strategy, max_dict_bytes, zstd_max_train_bytes, .. } =
        options.block_compression.options;
    let o = &options.block_compression.options;
    format!(
        "window_bits={window_bits}; level={level}; strategy={strategy}; max_dict_bytes={max_dict_bytes}; \
         zstd_max_train_bytes={zstd_max_train_bytes}; enabled={}; max_dict_buffer_bytes={}; \
         use_zstd_dict_trainer={}; max_compressed_bytes_per_kb={}; checksum={}; _type={}; ",
        u8::from(o.enabled),
        o.max_dict_buffer_bytes,
        u8::from(o.use_zstd_dict_trainer),
        o.max_compressed_bytes_per_kb,
        u8::from(o.checksum),
        options.block_compression.kind as u8,
    )
}

fn write_footer(writer: &mut Writer, metaindex: BlockHandle, index: BlockHandle) -> Result<()> {
    let table = &*writer.options.table;
    let sink = &mut writer.blocks.sink;
    let footer = Footer {
        kind: TableKind::BlockBased,
        format_version: table.format_version,
        checksum: table.checksum,
        base_context_checksum: sink.base_context(),
        metaindex,
        index: (table.format_version < 6).then_some(index),
    };
    let bytes = footer.encode(sink.offset());
    sink.write_bare(&bytes)
}

fn done(
    writer: Writer,
    properties: Properties,
    tail_start: u64,
    needs_compaction: bool,
) -> (FinishedTable, FileWriter) {
    let Writer { options, last_key, counts, bounds, blocks, .. } = writer;
    let file_size = blocks.sink.offset();
    let pre_compression_size = blocks.sink.pre_compression_size();
    base::invariant!(tail_start < file_size, "the table has no footer");
    base::invariant!(
        counts.entries == 0 || counts.smallest_seqno <= counts.largest_seqno,
        "the smallest sequence number of the table is larger than the largest"
    );
    let file = blocks.sink.into_file();
    base::invariant!(file.size() == file_size, "the file has {} bytes, the table {file_size}", file.size());
    let table = FinishedTable {
        properties,
        file_size,
        tail_size: file_size - tail_start,
        pre_compression_size,
        bounds: bounds.all(&options.order, &last_key),
        point_bounds: bounds.points(&last_key),
        largest_seqno: counts.largest_seqno,
        smallest_seqno: counts.smallest_seqno,
        unique_id: UniqueId::new(
            options.identity.db_id.as_bytes(),
            &options.identity.db_session_id,
            options.file_number,
        ),
        file_checksum: file.checksum(),
        needs_compaction,
    };
    (table, file)
}
