//! The block cache is charged exactly the memory that its blocks took.

use std::ops::ControlFlow;
use std::sync::Arc;

use allocation_counter::measure;
use base::SequenceNumber;
use base::ValueType;
use base::iter::InternalIterator;
use base::key::{InternalOrder, append_internal, seek_key};
use base::order::Order;
use ironstone_table::options::{BlockBasedTableOptions, FilterPolicy};
use ironstone_table::sst::{BlockCache, OpenOptions, ReadCtx, WriterOptions};
use mem::cache::{CacheOptions, MetadataCharge};

use crate::reader_support::{open, options};
use crate::support::write;

#[test]
fn the_cache_is_charged_what_blocks_of_every_kind_took_from_the_allocator() {
    let orders = [Order::Bytewise, Order::Reverse];
    for (order, (block_size, value_len)) in orders.into_iter().zip([(4096, 100), (70_000, 333)]) {
        for partitioned in [false, true] {
            let mut table = BlockBasedTableOptions {
                block_size,
                cache_index_and_filter_blocks: true,
                partition_filters: partitioned,
                filter_policy: Some(FilterPolicy::bloom(10.0)),
                ..BlockBasedTableOptions::default()
            };
            if partitioned {
                table.index_type = ironstone_table::options::IndexType::TwoLevelIndexSearch;
            }
            let table = Arc::new(table);
            let written = WriterOptions {
                order: InternalOrder::new(order.clone()),
                table: table.clone(),
                ..WriterOptions::default()
            };
            let mut users: Vec<u32> = (0..2000).collect();
            users.sort_by(|a, b| order.compare(&a.to_be_bytes(), &b.to_be_bytes()));
            let (bytes, _) = write(written, |writer| {
                for user in users {
                    let mut key = Vec::new();
                    append_internal(&mut key, &user.to_be_bytes(), SequenceNumber::new(5), ValueType::Value);
                    writer.add(&key, &vec![user as u8; value_len + user as usize % 7]).unwrap();
                }
            });
            let filled = || {
                let cache = CacheOptions {
                    metadata_charge: MetadataCharge::None,
                    num_shard_bits: 0,
                    ..CacheOptions::hyper_clock(64 << 20)
                };
                let cache = BlockCache::new(cache).unwrap();
                let read = OpenOptions {
                    cache: Some(cache.clone()),
                    table: table.clone(),
                    ..options(order.clone())
                };
                let reader = open("/t.sst", bytes.clone(), &read).unwrap();
                let fill = || {
                    let mut iter = reader.iter(&ReadCtx::default());
                    iter.seek_to_first();
                    while iter.valid() {
                        assert!(
                            reader.may_match(base::key::user_key(iter.key()), &ReadCtx::default()).unwrap()
                        );
                        iter.next();
                    }
                    iter.status().unwrap();
                };
                // Run once before: the lists of the cache grow, and the table pins its blocks. New threads
                // have kept no blocks.
                std::thread::scope(|scope| {
                    drop(scope.spawn(|| {
                        fill();
                        cache.erase_unreferenced();
                    }))
                });
                std::thread::scope(|scope| drop(scope.spawn(fill)));
                let scanned = cache.usage();
                // The loads took the credit for search arrays (`array_budget`), so the first searches build no arrays.
                // After three rounds each block has its array, and no later search builds another array.
                let search = || {
                    for user in 0..2000u32 {
                        let key = seek_key(&user.to_be_bytes(), SequenceNumber::new(9));
                        reader.get(&key, &ReadCtx::default(), |_| ControlFlow::Break(())).unwrap();
                    }
                };
                (0..3).for_each(|_| std::thread::scope(|scope| drop(scope.spawn(search))));
                let searched = cache.usage();
                // Blocks were loaded into memory that has room for the search array.
                assert!(searched.abs_diff(scanned) < scanned / 25, "search arrays: {scanned}, {searched}");
                std::thread::scope(|scope| drop(scope.spawn(search)));
                assert_eq!(cache.usage(), searched);
                (reader, cache)
            };
            let ((_reader, cache), twin) = (filled(), filled());
            // This thread keeps the last blocks that it evicts from the two caches: an equal number of
            // bytes from each.
            twin.1.erase_unreferenced();
            let (charged, blocks) = (cache.usage(), cache.occupancy());
            assert!(blocks > 5 && charged > 2000 * value_len, "{charged} bytes of {blocks} blocks");
            let given_back = measure(|| cache.erase_unreferenced());
            assert!(cache.occupancy() < 5, "what is pinned is little");
            let discharged = (charged - cache.usage()) as i64;
            assert_eq!(given_back.bytes_current, -discharged, "{blocks} blocks");
        }
    }
}

#[test]
fn a_look_up_keeps_an_index_block_as_it_is_stored_until_searches_have_earned_the_decoding() {
    use ironstone_table::options::IndexType;
    for index_type in [IndexType::TwoLevelIndexSearch, IndexType::BinarySearch] {
        let table = Arc::new(BlockBasedTableOptions {
            block_size: 1024,
            metadata_block_size: 16 << 10,
            cache_index_and_filter_blocks: true,
            index_type,
            ..BlockBasedTableOptions::default()
        });
        let written = WriterOptions { table: table.clone(), ..WriterOptions::default() };
        let (bytes, _) = write(written, |writer| {
            for user in 0..20_000u32 {
                let mut key = Vec::new();
                append_internal(&mut key, &user.to_be_bytes(), SequenceNumber::new(5), ValueType::Value);
                writer.add(&key, &[user as u8; 100]).unwrap();
            }
        });
        let cache = CacheOptions {
            metadata_charge: MetadataCharge::None,
            num_shard_bits: 0,
            ..CacheOptions::hyper_clock(64 << 20)
        };
        let cache = BlockCache::new(cache).unwrap();
        let read = OpenOptions { cache: Some(cache.clone()), table, ..options(Order::Bytewise) };
        let reader = open("/t.sst", bytes, &read).unwrap();
        let get = |user: u32| {
            let mut found = Vec::new();
            let key = seek_key(&user.to_be_bytes(), SequenceNumber::new(9));
            let visit = |entry: ironstone_table::sst::Entry<'_>| {
                found.push(entry.value.to_vec());
                ControlFlow::Break(())
            };
            reader.get(&key, &ReadCtx::default(), visit).unwrap();
            assert_eq!(found, [[user as u8; 100]]);
        };
        // This thread keeps the memory of an evicted data block, so the index block is the memory that is given back.
        get(7);
        cache.erase_unreferenced();
        get(7);
        let before = cache.usage();
        get(17);
        let data = cache.usage() - before;
        assert!((1024..1200).contains(&data), "the second lookup loads a data block only: {data}");
        cache.erase_unreferenced();
        get(7);
        let (stored, before) = (cache.usage(), cache.usage());
        let given_back = measure(|| cache.erase_unreferenced());
        let discharged = (before - cache.usage() - data) as i64;
        assert_eq!(given_back.bytes_current, -discharged, "{index_type:?}");
        // More searches decode the index block. Its size changes.
        (0..1000).for_each(|_| get(7));
        let decoded = cache.usage();
        assert!(decoded.abs_diff(stored) > 100, "{index_type:?}: {stored} {decoded}");
        (0..1000).for_each(|_| get(7));
        assert_eq!(cache.usage(), decoded);
        // An iterator decodes an index block that a lookup has left.
        get(9000);
        let mut iter = reader.iter(&ReadCtx::default());
        iter.seek(&seek_key(&9001u32.to_be_bytes(), SequenceNumber::new(9)));
        assert_eq!(base::key::user_key(iter.key()), 9001u32.to_be_bytes());
        (0..20_000).step_by(37).for_each(get);
    }
}
