use base::Level;
use base::option::Value;
use format::checksum::ChecksumType;

use super::*;

#[test]
fn defaults_print_as_rocksdb_writes_them() {
    let options = BlockBasedTableOptions::default();
    let text: Vec<String> = OPTIONS
        .iter()
        .filter(|row| row.written)
        .map(|row| format!("{}={}", row.name, (row.print)(&options)))
        .collect();
    let expected = "\
max_auto_readahead_size=262144
initial_auto_readahead_size=8192
fail_if_no_udi_on_open=false
metadata_cache_options={unpartitioned_pinning=kFallback;partition_pinning=kFallback;top_level_index_pinning=kFallback;}
pin_top_level_index_and_filter=true
super_block_alignment_space_overhead_ratio=128
super_block_alignment_size=0
verify_compression=false
separate_key_value_in_data_block=false
num_file_reads_for_auto_readahead=2
format_version=7
use_udi_as_primary_index=false
read_amp_bytes_per_bit=0
whole_key_filtering=true
prepopulate_block_cache=kDisable
filter_policy=nullptr
use_delta_encoding=true
optimize_filters_for_memory=true
decouple_partitioned_filters=true
partition_filters=false
uniform_cv_threshold=-1.000000
metadata_block_size=4096
index_block_restart_interval=1
block_size_deviation=10
block_size=4096
no_block_cache=false
checksum=kXXH3
user_defined_index_factory=nullptr
data_block_hash_table_util_ratio=0.750000
enable_index_compression=true
index_shortening=kShortenSeparators
data_block_index_type=kDataBlockBinarySearch
detect_filter_construct_corruption=false
block_align=false
index_block_search_type=kBinary
index_type=kBinarySearch
pin_l0_filter_and_index_blocks_in_cache=false
cache_index_and_filter_blocks=false
block_restart_interval=16
cache_index_and_filter_blocks_with_high_priority=true
flush_block_policy_factory=FlushBlockBySizePolicyFactory";
    let mut ours = text;
    let mut theirs: Vec<&str> = expected.lines().collect();
    ours.sort();
    theirs.sort();
    assert_eq!(ours, theirs);
}

#[test]
fn every_option_reads_back_what_it_prints() {
    let mut options = BlockBasedTableOptions {
        filter_policy: Some(FilterPolicy::ribbon(9.9, -1)),
        index_type: IndexType::TwoLevelIndexSearch,
        block_size: 16384,
        checksum: ChecksumType::Crc32c,
        ..Default::default()
    };
    options.metadata_cache_options.partition_pinning = PinningTier::All;
    let mut copy = BlockBasedTableOptions::default();
    for row in OPTIONS {
        (row.set)(&mut copy, &(row.print)(&options)).unwrap();
    }
    assert_eq!(copy, options);
}

#[test]
fn filter_policies_parse_and_print_as_rocksdb_does() {
    for (text, printed) in [
        ("bloomfilter:10:false", "bloomfilter:10:false"),
        ("bloomfilter:7.3", "bloomfilter:7.3:false"),
        ("rocksdb.BloomFilter:9.5:true", "bloomfilter:9.5:false"),
        ("ribbonfilter:10", "{id=ribbonfilter:10:0;bloom_before_level=0;}"),
        ("ribbonfilter:10:-1", "{id=ribbonfilter:10:-1;bloom_before_level=-1;}"),
        ("{id=ribbonfilter:11.5:2;bloom_before_level=3;}", "{id=ribbonfilter:11.5:3;bloom_before_level=3;}"),
        ("rocksdb.BuiltinBloomFilter", "rocksdb.BuiltinBloomFilter"),
        ("nullptr", "nullptr"),
    ] {
        assert_eq!(Option::<FilterPolicy>::parse(text).unwrap().print(), printed);
    }
    for text in
        ["bloomfilter", "bloomfilter:x", "cuckoofilter:10", "bloomfilter:1:false:2", "{bloom_before_level=1}"]
    {
        Option::<FilterPolicy>::parse(text).unwrap_err();
    }
}

#[test]
fn filters_follow_level_and_format_version() {
    let ribbon = FilterPolicy::ribbon(10.0, 0);
    let bloom = Some(FilterChoice::FastLocalBloom { millibits_per_key: 10_000 });
    let standard = Some(FilterChoice::Ribbon { millibits_per_key: 10_000 });
    assert_eq!(ribbon.choose(5, FilterLevel::Flush), bloom);
    assert_eq!(ribbon.choose(5, FilterLevel::Level(Level::ZERO)), standard);
    assert_eq!(ribbon.choose(2, FilterLevel::Unknown), standard);
    assert_eq!(FilterPolicy::ribbon(10.0, i32::MAX).choose(5, FilterLevel::Unknown), bloom);
    let legacy = Some(FilterChoice::LegacyBloom { whole_bits_per_key: 10 });
    assert_eq!(FilterPolicy::bloom(9.5).choose(4, FilterLevel::Unknown), legacy);
    assert_eq!(FilterPolicy::bloom(0.4).choose(7, FilterLevel::Unknown), None);
}

#[test]
fn a_release_caps_what_is_written() {
    let mut options = BlockBasedTableOptions { separate_key_value_in_data_block: true, ..Default::default() };
    assert_eq!(options.first_release_reading(), Some((11, 0)));
    options.cap_to_release((8, 6)).unwrap();
    assert_eq!((options.format_version, options.separate_key_value_in_data_block), (6, false));
    options.cap_to_release((6, 7)).unwrap();
    assert_eq!((options.format_version, options.checksum), (5, ChecksumType::Crc32c));
    options.cap_to_release((3, 9)).unwrap_err();
}

#[test]
fn a_block_cache_of_text_is_an_lru() {
    use mem::cache::{CacheOptions, Kind};
    let parse = |text: &str| CacheText::parse(text).map(|cache| cache.options);
    assert_eq!(parse("8M").unwrap(), CacheOptions::lru(8 << 20));
    assert_eq!(parse("nullptr").unwrap(), CacheOptions::default());
    let full = parse(
        "{capacity=1K;num_shard_bits=3;strict_capacity_limit=true;high_pri_pool_ratio=0.25;low_pri_pool_ratio=0.5}",
    );
    let kind = Kind::Lru { high_pri_pool_ratio: 0.25, low_pri_pool_ratio: 0.5 };
    let wanted =
        CacheOptions { num_shard_bits: 3, strict_capacity_limit: true, kind, ..CacheOptions::lru(1024) };
    assert_eq!(full.unwrap(), wanted);
    assert_eq!(CacheText::parse(&CacheText { options: wanted }.print()).unwrap().options, wanted);
    assert!(parse("{capacity=1;size=2}").is_err() && parse("8x").is_err());
    assert_eq!(parse("hyper_clock_cache://1").unwrap_err().kind(), base::Kind::NotSupported);
}
