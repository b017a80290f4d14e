//! Writes again whole files that RocksDB 11.8.1 wrote.

use std::sync::Arc;

use base::Level;
use compress::{Compression, CompressionOptions};
use format::footer::Footer;
use format::metaindex::{Metaindex, names};
use format::properties::Properties;
use ironstone_table::options::{
    BlockBasedTableOptions, DataBlockIndexType, FilterLevel, FilterPolicy, IndexType,
};
use ironstone_table::sst::{BlockCompression, TablePlace, WriterOptions};
use serde_json::Value;

use crate::support::{hex, pairs, vectors, write};
use crate::writer_support::{recorded, text};

fn read_properties(file: &[u8]) -> (Footer, Properties) {
    let footer = Footer::decode(file, file.len() as u64).unwrap();
    let at = |handle: format::handle::BlockHandle| &file[handle.offset as usize..][..handle.size as usize];
    let metaindex = Metaindex::decode(at(footer.metaindex)).unwrap();
    (footer, Properties::decode(at(metaindex.get(names::PROPERTIES).unwrap()), 0).unwrap())
}

/// Returns the options of a test vector: identity and times from its properties, the rest from its name.
fn options(name: &str, footer: &Footer, p: &Properties) -> WriterOptions {
    let mut table = BlockBasedTableOptions {
        format_version: footer.format_version,
        checksum: footer.checksum,
        block_size: 256,
        filter_policy: (!p.filter_policy_name.is_empty()).then(|| FilterPolicy::bloom(10.0)),
        index_type: IndexType::ALL[p.index_type().unwrap() as usize],
        block_restart_interval: p.data_block_restart_interval as i32,
        index_block_restart_interval: p.index_block_restart_interval as i32,
        separate_key_value_in_data_block: p.separate_key_value_in_data_block > 0,
        optimize_filters_for_memory: false,
        ..BlockBasedTableOptions::default()
    };
    let mut filter_level = FilterLevel::Unknown;
    let mut compression_options = CompressionOptions::default();
    match name {
        _ if name.starts_with("small_") => table.block_size = 128,
        "mini_sepkv_hash" | "mini_dbhash" => table.data_block_index_type = DataBlockIndexType::BinaryAndHash,
        "mini_partitioned" => {
            table.metadata_block_size = 64;
            table.partition_filters = true;
        }
        "mini_ribbon" => {
            table.block_size = 4096;
            table.filter_policy = Some(FilterPolicy::ribbon(10.0, 0));
            filter_level = FilterLevel::Level(Level::new(1));
        }
        "mini_superblock" => {
            table.super_block_alignment_size = 512;
            table.super_block_alignment_space_overhead_ratio = 4;
        }
        "mini_dupkeys" => table.block_size = 96,
        "mini_blockalign" => table.block_align = true,
        _ if name.starts_with("mini_comp_") => table.block_size = 1024,
        _ if name.starts_with("mini_dict_") => {
            table.block_size = 1024;
            compression_options.max_dict_bytes = 256;
        }
        _ => {}
    }
    let kind = text(&p.compression_options);
    let kind = kind.split("_type=").nth(1).and_then(|t| t.split(';').next()).unwrap().parse().unwrap();
    let recorded = recorded(footer, p).unwrap();
    WriterOptions {
        table: Arc::new(table),
        block_compression: BlockCompression {
            kind: Compression::from_u8(kind).unwrap(),
            options: compression_options,
            ..BlockCompression::default()
        },
        place: TablePlace { filter_level, ..recorded.place.clone() },
        ..recorded
    }
}

fn rewrite(vector: &Value) -> (Vec<u8>, Vec<u8>) {
    let theirs = hex(&vector["bytes"]);
    let name = vector["name"].as_str().unwrap();
    let (footer, properties) = read_properties(&theirs);
    let options = options(name, &footer, &properties);
    let (ours, table) = write(options, |writer| {
        for (key, value) in pairs(&vector["entries"]) {
            writer.add(&key, &value).unwrap();
        }
        for (key, end) in pairs(&vector["range_dels"]) {
            writer.add(&key, &end).unwrap();
        }
    });
    assert_eq!(table.tail_size, table.file_size - table.properties.tail_start_offset);
    (ours, theirs)
}

/// Returns a description of the difference.
fn difference(ours: &[u8], theirs: &[u8]) -> String {
    let at = ours.iter().zip(theirs).position(|(a, b)| a != b);
    let (_, a) = read_properties(ours);
    let (_, b) = read_properties(theirs);
    let (a, b) = (a.entries(), b.entries());
    let properties: Vec<String> = a
        .iter()
        .chain(&b)
        .filter(|(name, _)| a.get(*name) != b.get(*name))
        .map(|(name, _)| format!("{}: {:?} {:?}", name.escape_ascii(), a.get(name), b.get(name)))
        .collect();
    format!("first at {at:?} of {} and {}; properties {properties:#?}", ours.len(), theirs.len())
}

#[test]
fn files_are_rocksdbs_byte_for_byte() {
    let (mut same, mut different) = (0, Vec::new());
    for vector in vectors("sst_file") {
        let name = vector["name"].as_str().unwrap();
        let compressed = name.starts_with("mini_comp") || name.starts_with("mini_dict");
        // `mini_udt_stripped` does not contain the timestamps of its keys. Without them the keys are not in order.
        if compressed || name == "mini_embedded_blob" || name == "mini_udt_stripped" {
            continue;
        }
        let (ours, theirs) = rewrite(&vector);
        if ours == theirs {
            same += 1;
        } else {
            different.push(format!("{name}: {}", difference(&ours, &theirs)));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(same >= 30);
}
