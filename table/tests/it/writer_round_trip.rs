//! Our tables are read by our reader and by RocksDB.
//!
//! `IRONSTONE_ORACLE` names a directory with RocksDB 11.8.1's `sst_dump`. Without it, the tests print a
//! message and use only our reader.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use base::ValueType;
use base::iter::InternalIterator;
use base::key::{InternalOrder, append_internal, user_key};
use base::order::{BuiltinPrefix, Order};
use base::{FamilyId, FileNumber, Level, SequenceNumber};
use compress::CompressionOptions;
use env::{Env, ReadHints};
use format::checksum::ChecksumType;
use ironstone_table::options::{
    BlockBasedTableOptions, DataBlockIndexType, FilterLevel, FilterPolicy, IndexShortening, IndexType,
};
use ironstone_table::sst::read_ctx::Entry;
use ironstone_table::sst::{
    BlockCompression, Identity, OpenOptions, ReadCtx, Reader, Resources, TablePlace, Writer, WriterOptions,
};
use testkit::hex::upper as hex;

use crate::support::write;

/// RocksDB's tool, if it exists, and a working directory.
struct Oracle {
    sst_dump: Option<PathBuf>,
    dir: PathBuf,
}

impl Oracle {
    fn find(test: &str) -> Oracle {
        let sst_dump =
            std::env::var_os("IRONSTONE_ORACLE").map(|tools| PathBuf::from(tools).join("sst_dump"));
        if sst_dump.is_none() {
            eprintln!("SKIPPED half of {test}: set IRONSTONE_ORACLE to a folder with RocksDB's sst_dump");
        }
        let dir = std::env::temp_dir().join(format!("ironstone-oracle-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Oracle { sst_dump, dir }
    }

    fn run(&self, sst_dump: &Path, file: &Path, args: &[&str]) -> String {
        let out =
            Command::new(sst_dump).arg(format!("--file={}", file.display())).args(args).output().unwrap();
        let text =
            format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
        assert!(out.status.success(), "{text}");
        text
    }

    /// Checks every block checksum, the number of entries, and each entry with RocksDB's tool.
    fn accepts(&self, what: &str, options: WriterOptions, rows: &[(Vec<u8>, Vec<u8>)]) {
        let timestamped = options.order.user.timestamp_size() > 0;
        let (bytes, table) = write(options.clone(), |writer| fill(writer, rows, !timestamped));
        assert_eq!(table.file_size, bytes.len() as u64, "{what}");
        if !timestamped || options.persist_timestamps {
            reads_back(what, &options, bytes.clone(), rows);
        }
        let Some(sst_dump) = &self.sst_dump else { return };
        let file = self.dir.join("000012.sst");
        std::fs::write(&file, bytes).unwrap();
        for command in ["verify", "check"] {
            let said = self.run(sst_dump, &file, &[&format!("--command={command}"), "--verify_checksum"]);
            let bad = ["orrupt", "rror", "mismatch", "not supported", "Not implemented"];
            assert!(!bad.iter().any(|word| said.contains(word)), "{what}: {command}: {said}");
        }
        if timestamped {
            return;
        }
        let said = self.run(sst_dump, &file, &["--command=scan", "--output_hex"]);
        let scanned: Vec<&str> = said.lines().filter(|line| line.contains(" => ")).collect();
        let expected: Vec<String> = rows.iter().map(|(key, value)| shown(key, value)).collect();
        assert_eq!(scanned, expected, "{what}");
        // The seek uses the index.
        if let Some((key, value)) = rows.get(rows.len() / 2) {
            let from = format!("--from=0x{}", hex(user_key(key)));
            let said = self.run(
                sst_dump,
                &file,
                &["--command=scan", "--output_hex", "--input_key_hex", &from, "--read_num=1"],
            );
            assert!(said.contains(&shown(key, value)), "{what}: {said}");
        }
    }
}

/// Reads all entries forwards, gets each entry, and verifies every checksum.
fn reads_back(what: &str, written: &WriterOptions, bytes: Vec<u8>, rows: &[(Vec<u8>, Vec<u8>)]) {
    let env = Env::memory(1);
    let path = Path::new("/t.sst");
    env.fs.write_all(path, &bytes, false).unwrap();
    let file = env.fs.open_random(path, &ReadHints::default()).unwrap();
    let options = OpenOptions {
        order: written.order.user.clone(),
        prefix_extractor: written.prefix_extractor.clone(),
        table: written.table.clone(),
        ..OpenOptions::default()
    };
    let reader = Arc::new(Reader::open(file, bytes.len() as u64, &options).unwrap());
    let ctx = ReadCtx::default();
    reader.verify_checksums(&ctx).unwrap();
    let mut iter = reader.iter(&ReadCtx { total_order_seek: true, ..ctx.clone() });
    iter.seek_to_first();
    for (key, value) in rows {
        assert!(iter.valid(), "{what}: {:?}", iter.status());
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]), "{what}");
        iter.next();
    }
    assert!(!iter.valid() && iter.status().is_ok(), "{what}");
    for (key, value) in rows.iter().step_by(101) {
        let mut found = false;
        let visit = |entry: Entry<'_>| {
            found = entry.user_key == user_key(key) && *entry.value == **value;
            ControlFlow::Break(())
        };
        reader.get(key, &ctx, visit).unwrap();
        assert!(found, "{what}: {}", key.escape_ascii());
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Returns an entry as `sst_dump --output_hex` shows it.
fn shown(key: &[u8], value: &[u8]) -> String {
    let (user, seq, value_type) = base::key::split(key);
    format!("'{}' seq:{seq}, type:{value_type} => {}", hex(user), hex(value))
}

fn fill(writer: &mut Writer, rows: &[(Vec<u8>, Vec<u8>)], with_ranges: bool) {
    for (key, value) in rows {
        writer.add(key, value).unwrap();
    }
    if with_ranges {
        writer.add_range_tombstone(b"zz1", b"zz5", SequenceNumber::new(9)).unwrap();
        writer.add_range_tombstone(b"zz3", b"zz9", SequenceNumber::new(4)).unwrap();
    }
}

/// Returns a thousand entries. Some keys have several entries of different types. Values have up to one
/// kilobyte.
fn rows() -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    for i in 0..700u64 {
        let versions = if i % 9 == 0 { 3 } else { 1 };
        for version in 0..versions {
            let value_type = match i % 13 {
                3 => ValueType::Deletion,
                4 => ValueType::SingleDeletion,
                _ => ValueType::Value,
            };
            let mut key = Vec::new();
            append_internal(
                &mut key,
                format!("key{:03}suffix{i:06}", i / 5).as_bytes(),
                SequenceNumber::new(5000 - i - version),
                value_type,
            );
            let len = if value_type == ValueType::Value {
                (i * i) as usize % 300 + (i % 50 / 49 * 1000) as usize
            } else {
                0
            };
            rows.push((key, (0..len).map(|at| b'a' + ((at as u64 * i) % 23) as u8).collect()));
        }
    }
    rows
}

fn options(table: BlockBasedTableOptions) -> WriterOptions {
    let mut table = table;
    table.sanitize();
    WriterOptions {
        table: Arc::new(table),
        place: TablePlace {
            family: FamilyId::DEFAULT,
            family_name: "default".to_string(),
            ..TablePlace::default()
        },
        identity: Identity {
            db_id: "e2a3b4c5-1111-4222-8333-444455556666".to_string(),
            db_session_id: "0123456789ABCDEFGHIJ".to_string(),
            ..Identity::default()
        },
        file_number: FileNumber::new(12),
        context_seed: 0x1234_5678,
        ..WriterOptions::default()
    }
}

#[test]
fn every_format_version_checksum_and_compression() {
    let oracle = Oracle::find("versions");
    let rows = rows();
    for format_version in 2..=7 {
        for checksum in ChecksumType::ALL {
            for compression in compress::supported() {
                let what = format!("version {format_version} {checksum:?} {compression:?}");
                let table = BlockBasedTableOptions {
                    format_version,
                    checksum,
                    block_size: 512,
                    filter_policy: Some(FilterPolicy::bloom(10.0)),
                    ..BlockBasedTableOptions::default()
                };
                oracle.accepts(
                    &what,
                    WriterOptions {
                        block_compression: BlockCompression {
                            kind: compression,
                            ..BlockCompression::default()
                        },
                        ..options(table)
                    },
                    &rows,
                );
            }
        }
    }
}

#[test]
fn every_index_filter_and_block() {
    let oracle = Oracle::find("kinds");
    let rows = rows();
    for format_version in [2, 4, 7] {
        for &index_type in IndexType::ALL {
            for filter in ["nullptr", "bloomfilter:10:false", "ribbonfilter:10:-1"] {
                for shape in 0..8 {
                    let what = format!("version {format_version} {index_type:?} {filter} shape {shape}");
                    let mut table = BlockBasedTableOptions {
                        format_version,
                        index_type,
                        block_size: 512,
                        metadata_block_size: 256,
                        partition_filters: index_type == IndexType::TwoLevelIndexSearch,
                        ..BlockBasedTableOptions::default()
                    };
                    table.set("filter_policy", filter).unwrap();
                    match shape {
                        1 => table.data_block_index_type = DataBlockIndexType::BinaryAndHash,
                        2 => table.separate_key_value_in_data_block = true,
                        3 => {
                            table.separate_key_value_in_data_block = true;
                            table.data_block_index_type = DataBlockIndexType::BinaryAndHash;
                            table.block_restart_interval = 3;
                        }
                        4 => {
                            table.use_delta_encoding = false;
                            table.index_block_restart_interval = 5;
                            table.index_shortening = IndexShortening::None;
                        }
                        5 => {
                            table.decouple_partitioned_filters = false;
                            table.index_shortening = IndexShortening::SeparatorsAndSuccessor;
                            table.uniform_cv_threshold = 0.5;
                        }
                        6 => table.block_align = true,
                        7 => {
                            table.super_block_alignment_size = 4096;
                            table.super_block_alignment_space_overhead_ratio = 8;
                            table.index_block_restart_interval = 8;
                        }
                        _ => {}
                    }
                    let options = WriterOptions {
                        prefix_extractor: Some(Arc::new(BuiltinPrefix::Fixed(6))),
                        place: TablePlace {
                            filter_level: FilterLevel::Level(Level::new(3)),
                            ..options(table.clone()).place
                        },
                        ..options(table)
                    };
                    oracle.accepts(&what, options, &rows);
                }
            }
        }
    }
}

#[test]
fn dictionaries_and_threads() {
    let oracle = Oracle::find("dictionaries");
    let rows = rows();
    for compression in compress::supported() {
        for (max_dict_bytes, zstd_max_train_bytes) in [(0, 0), (1024, 0), (1024, 8192)] {
            for parallel_threads in [1, 3] {
                for max_dict_buffer_bytes in [0, 20_000] {
                    for decouple_partitioned_filters in [false, true] {
                        let table = BlockBasedTableOptions {
                            block_size: 1024,
                            metadata_block_size: 256,
                            index_type: IndexType::TwoLevelIndexSearch,
                            partition_filters: true,
                            decouple_partitioned_filters,
                            verify_compression: true,
                            filter_policy: Some(FilterPolicy::bloom(10.0)),
                            ..BlockBasedTableOptions::default()
                        };
                        let compression_options = CompressionOptions {
                            max_dict_bytes,
                            zstd_max_train_bytes,
                            parallel_threads,
                            max_dict_buffer_bytes,
                            ..CompressionOptions::default()
                        };
                        let what =
                            format!("{compression} {compression_options:?} {decouple_partitioned_filters}");
                        let options = WriterOptions {
                            block_compression: BlockCompression {
                                kind: compression,
                                options: compression_options,
                                sample_one_in: 3,
                            },
                            resources: Resources {
                                executor: Some(Env::posix().executor),
                                ..Resources::default()
                            },
                            ..options(table)
                        };
                        oracle.accepts(&what, options, &rows);
                    }
                }
            }
        }
    }
}

#[test]
fn empty_tables_and_timestamps() {
    let oracle = Oracle::find("corners");
    oracle.accepts("range tombstones alone", options(BlockBasedTableOptions::default()), &[]);
    let mut stamped = Vec::new();
    for i in 0..300u64 {
        let user = [format!("key{:05}", i / 3).as_bytes(), &(1000 - i).to_le_bytes()].concat();
        let mut key = Vec::new();
        append_internal(&mut key, &user, SequenceNumber::new(7), ValueType::Value);
        stamped.push((key, i.to_string().into_bytes()));
    }
    for persist_timestamps in [true, false] {
        let table = BlockBasedTableOptions {
            block_size: 256,
            filter_policy: Some(FilterPolicy::bloom(10.0)),
            ..BlockBasedTableOptions::default()
        };
        let order = Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap();
        let options =
            WriterOptions { order: InternalOrder::new(order), persist_timestamps, ..options(table) };
        oracle.accepts("timestamps", options, &stamped);
    }
}

#[test]
#[should_panic(expected = "is out of order")]
fn a_key_out_of_order_is_stopped_where_it_is_added() {
    let key = |user: &[u8]| {
        let mut key = Vec::new();
        append_internal(&mut key, user, SequenceNumber::new(7), ValueType::Value);
        key
    };
    write(WriterOptions::default(), |writer| {
        writer.add(&key(b"b"), b"1").unwrap();
        writer.add(&key(b"a"), b"2").unwrap();
    });
}
