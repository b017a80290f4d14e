//! The salvage of damaged tables: every entry outside of the damage is read, and the lost key range is
//! reported.

use std::collections::BTreeSet;
use std::sync::Arc;

use base::SequenceNumber;
use base::ValueType;
use base::key::{InternalOrder, append_internal, user_key};
use base::order::Order;
use compress::Compression;
use format::checksum::ChecksumType;
use ironstone_table::options::{BlockBasedTableOptions, FilterPolicy, IndexType};
use ironstone_table::sst::salvage::{Part, Salvaged, salvage};
use ironstone_table::sst::{BlockCompression, WriterOptions};

use crate::reader_support::{Bytes, Row, options};
use crate::support::write;

const ROWS: usize = 400;

fn rows() -> Vec<Row> {
    (0..ROWS)
        .map(|i| {
            let mut key = Vec::new();
            append_internal(
                &mut key,
                format!("key{i:05}").as_bytes(),
                SequenceNumber::new(1000 + i as u64),
                ValueType::Value,
            );
            let value = (0..20 + i % 50).map(|j| (i * 31 + j * j) as u8).collect();
            (key, value)
        })
        .collect()
}

/// Returns options for all formats that are read differently.
fn kinds() -> Vec<(String, WriterOptions)> {
    let mut out = Vec::new();
    for (checksum, format_version) in [
        (ChecksumType::Xxh3, 7),
        (ChecksumType::Crc32c, 6),
        (ChecksumType::Crc32c, 2),
        (ChecksumType::XxHash64, 5),
        (ChecksumType::XxHash, 4),
    ] {
        for index_type in
            [IndexType::BinarySearch, IndexType::TwoLevelIndexSearch, IndexType::BinarySearchWithFirstKey]
        {
            for compression in [Compression::None, Compression::Lz4] {
                let table = BlockBasedTableOptions {
                    checksum,
                    format_version,
                    index_type,
                    block_size: 512,
                    metadata_block_size: 256,
                    partition_filters: index_type == IndexType::TwoLevelIndexSearch,
                    filter_policy: Some(FilterPolicy::bloom(10.0)),
                    ..BlockBasedTableOptions::default()
                };
                let writer = WriterOptions {
                    table: Arc::new(table),
                    order: InternalOrder::new(Order::Bytewise),
                    block_compression: BlockCompression { kind: compression, ..BlockCompression::default() },
                    context_seed: 77,
                    ..WriterOptions::default()
                };
                out.push((format!("{checksum:?} v{format_version} {index_type:?} {compression:?}"), writer));
            }
        }
    }
    out
}

fn made(writer: &WriterOptions) -> Vec<u8> {
    let rows = rows();
    let (bytes, _) = write(writer.clone(), |writer| {
        rows.iter().for_each(|(key, value)| writer.add(key, value).unwrap());
        writer.add_range_tombstone(b"a", b"b", SequenceNumber::new(5)).unwrap();
    });
    bytes
}

fn read(bytes: Vec<u8>) -> (Vec<Row>, Salvaged) {
    let size = bytes.len() as u64;
    let file = Arc::new(Bytes { path: "000007.sst".into(), bytes });
    let mut found = Vec::new();
    let out = salvage(file, size, &options(Order::Bytewise), None, &mut |key, value| {
        found.push((key.to_vec(), value.to_vec()));
        Ok(())
    });
    (found, out.unwrap())
}

/// Checks that every entry was read or lies strictly between the keys of one loss, and that no read entry is
/// wrong.
fn accounts_for_all(what: &str, found: &[Row], out: &Salvaged, expected: &[Row]) {
    let all: BTreeSet<&Row> = expected.iter().collect();
    assert!(found.iter().all(|row| all.contains(row)), "{what}: a row was invented");
    let got: BTreeSet<&Row> = found.iter().collect();
    for row in expected.iter().filter(|row| !got.contains(row)) {
        let user = user_key(&row.0);
        let named = out.losses.iter().any(|loss| {
            loss.part == Part::Data
                && loss.after.as_deref().is_none_or(|after| after < user)
                && loss.until.as_deref().is_none_or(|until| user < until)
        });
        assert!(
            named,
            "{what}: {:?} is gone and no loss names it: {:?}",
            String::from_utf8_lossy(user),
            out.losses
        );
    }
}

#[test]
fn a_sound_table_reads_whole() {
    let expected = rows();
    for (what, writer) in kinds() {
        let (found, out) = read(made(&writer));
        assert_eq!(found, expected, "{what}");
        assert!(out.is_whole(), "{what}: {:?} {:?}", out.losses, out.mended);
        assert_eq!(out.tombstones.len(), 1, "{what}");
        assert_eq!(out.properties.unwrap().num_entries, ROWS as u64 + 1, "{what}");
    }
}

/// The bytes between the blocks are padding, and padding is not lost data.
#[test]
fn a_sound_table_of_range_tombstones_reads_whole() {
    for (what, options) in kinds() {
        let (bytes, _) = write(options, |writer| {
            writer.add_range_tombstone(b"a", b"b", SequenceNumber::new(5)).unwrap();
        });
        let (found, out) = read(bytes);
        assert!(found.is_empty() && out.losses.is_empty() && out.is_whole(), "{what}: {:?}", out.losses);
        assert_eq!(out.tombstones.len(), 1, "{what}");
    }
}

#[test]
fn a_sound_table_with_aligned_blocks_reads_whole() {
    let aligned = BlockBasedTableOptions { block_align: true, ..BlockBasedTableOptions::default() };
    let super_blocks = BlockBasedTableOptions {
        super_block_alignment_size: 4096,
        super_block_alignment_space_overhead_ratio: 8,
        ..BlockBasedTableOptions::default()
    };
    for (what, table) in [("aligned", aligned), ("super blocks", super_blocks)] {
        for checksum in [ChecksumType::None, ChecksumType::Crc32c, ChecksumType::Xxh3] {
            let table = BlockBasedTableOptions { block_size: 256, checksum, ..table.clone() };
            let writer = WriterOptions {
                table: Arc::new(table),
                order: InternalOrder::new(Order::Bytewise),
                block_compression: BlockCompression {
                    kind: Compression::None,
                    ..BlockCompression::default()
                },
                ..WriterOptions::default()
            };
            let (found, out) = read(made(&writer));
            assert_eq!(found, rows(), "{what} {checksum:?}");
            assert!(out.is_whole(), "{what} {checksum:?}: {:?}", out.losses);
        }
    }
}

#[test]
fn one_flipped_bit_anywhere_is_put_right() {
    let expected = rows();
    for (index, (what, writer)) in kinds().into_iter().enumerate() {
        let bytes = made(&writer);
        let step = if index == 0 { 37 } else { 1009 };
        let tail = bytes.len() - 60..bytes.len();
        for at in (index..bytes.len()).step_by(step).chain(tail.step_by(7)) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            let (found, out) = read(damaged);
            assert_eq!(found, expected, "{what}: byte {at}: {:?}", out.losses);
            assert!(out.losses.is_empty(), "{what}: byte {at}: {:?}", out.losses);
            assert_eq!(out.tombstones.len(), 1, "{what}: byte {at}");
        }
    }
}

#[test]
fn a_bad_sector_costs_the_blocks_it_touches_and_their_range_is_named() {
    let expected = rows();
    for (what, writer) in kinds() {
        let bytes = made(&writer);
        for at in (0..bytes.len()).step_by(2999) {
            let mut damaged = bytes.clone();
            let end = (at + 300).min(bytes.len());
            damaged[at..end].iter_mut().enumerate().for_each(|(i, b)| *b = (i * 91 + 17) as u8);
            let (found, out) = read(damaged);
            let what = format!("{what}: sector at {at} of {}", bytes.len());
            assert!(!out.is_whole(), "{what}");
            accounts_for_all(&what, &found, &out, &expected);
            // At most two blocks, which have 512 bytes before compression.
            assert!(
                expected.len() - found.len() <= 40,
                "{what}: {} rows lost, {:?}",
                expected.len() - found.len(),
                out.losses
            );
        }
    }
}

#[test]
fn without_index_and_footer_the_blocks_are_found_by_their_checksums() {
    let expected = rows();
    for (what, writer) in kinds() {
        let mut bytes = made(&writer);
        let (_, sound) = read(bytes.clone());
        let tail = sound.properties.map(|p| p.data_size as usize).unwrap();
        bytes.truncate(tail + 3);
        let (found, out) = read(bytes);
        assert!(out.losses.iter().any(|l| l.part == Part::Footer), "{what}");

        assert_eq!(found, expected, "{what}");
    }
}

/// Writes a table of rows with these values, and cuts its footer.
fn without_footer(writer: &WriterOptions, block_size: u64, values: &[&[u8]]) -> (Vec<Row>, Vec<u8>) {
    let table = BlockBasedTableOptions { block_size, filter_policy: None, ..(*writer.table).clone() };
    let writer = WriterOptions { table: Arc::new(table), ..writer.clone() };
    let rows: Vec<Row> =
        rows().into_iter().zip(values).map(|((key, _), value)| (key, value.to_vec())).collect();
    let (mut bytes, _) = write(writer, |writer| {
        rows.iter().for_each(|(key, value)| writer.add(key, value).unwrap());
    });
    bytes.truncate(bytes.len() - 20);
    (rows, bytes)
}

#[test]
fn an_index_after_lost_blocks_is_no_data() {
    let value = b"the same words in each value, so that each block needs the dictionary".repeat(3);
    // In version 2, the keys of the index are internal keys, like the keys of data.
    let is_drawn = |what: &str| what.contains("v2") || what.contains("v5");
    for (what, mut writer) in kinds().into_iter().filter(|(what, _)| is_drawn(what)) {
        writer.block_compression.kind = Compression::Zstd;
        writer.block_compression.options.max_dict_bytes = 4096;
        // Without the footer, nothing names the dictionary. The blocks are whole and cannot be decompressed.
        let (rows, bytes) = without_footer(&writer, 1000, &[&value[..]; 40]);
        let (found, out) = read(bytes);
        assert_eq!((found, out.num_blocks), (Vec::new(), 0), "{what}");
        accounts_for_all(&what, &[], &out, &rows);
    }
}

#[test]
fn values_that_look_like_handles_are_data() {
    // The handle of a block of five bytes at the start of the file.
    let values = [&b"\x00\x05"[..]; 200];
    for (what, writer) in kinds() {
        let (rows, bytes) = without_footer(&writer, 256, &values);
        let (found, _) = read(bytes);
        assert_eq!(found, rows, "{what}");
    }
}

#[test]
fn any_bytes_come_to_an_end() {
    for len in [0, 1, 52, 53, 54, 500, 5000] {
        let (found, out) = read((0..len).map(|i| (i * i + 7 * i) as u8).collect());
        assert!(found.is_empty() && !out.losses.is_empty(), "{len}");
    }
}
