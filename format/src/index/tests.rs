//! Index blocks that RocksDB wrote.

use base::SequenceNumber;
use base::key::seek_key;
use proptest::prelude::*;

use super::*;
use crate::test_vectors::{hex, vectors};

#[test]
fn index_blocks_of_rocksdb_decode_and_find() {
    for v in vectors("index_block") {
        let entries = v["entries"].as_array().unwrap();
        for heads in [None, Some(HeadOrder::Bytewise)] {
            let layout = IndexLayout {
                user_keys: v["key_is_user_key"].as_bool().unwrap(),
                delta_values: v["delta_values"].as_bool().unwrap(),
                first_keys: v["first_key"].as_bool().unwrap(),
                heads,
                rewrite: KeyRewrite::default(),
            };
            let index = Index::decode(&hex(&v["bytes"]), &layout).unwrap();
            assert_eq!(index.len(), entries.len());
            let order = InternalOrder::new(Order::Bytewise);
            for (i, entry) in entries.iter().enumerate() {
                let number = |name: &str| entry[name].as_u64().unwrap();
                assert_eq!(index.handle(i), BlockHandle::new(number("offset"), number("size")));
                let mut separator = Vec::new();
                let own = index.separator(i, &mut separator);
                let stored = hex(&entry["separator"]);
                if layout.user_keys {
                    assert_eq!((&separator[..], own), (user_key(&stored), None));
                } else {
                    assert_eq!((&separator[..], own), (user_key(&stored), Some(trailer(&stored))));
                }
                for name in ["first", "last"] {
                    assert_eq!(index.seek(&order, &hex(&entry[name])), i, "{name} key of block {i}");
                }
                let first = layout.first_keys.then(|| hex(&entry["first"]));
                assert_eq!(index.first_key(i), first.as_deref());
                assert!(!index.is_below(i, &order.user, user_key(&stored)));
                assert!(index.is_below(i, &order.user, &[user_key(&stored), b"\0"].concat()));
            }
            assert_eq!(index.seek(&order, &seek_key(b"\xff\xff", SequenceNumber::ZERO)), entries.len());
            assert!(index.memory_bytes() > 0);
            if StoredIndex::suits(&layout) {
                the_stored_index_finds_the_blocks_of_the_decoded_index(&hex(&v["bytes"]), &layout, entries);
            }
        }
    }
}

fn the_stored_index_finds_the_blocks_of_the_decoded_index(
    payload: &[u8],
    layout: &IndexLayout,
    entries: &[serde_json::Value],
) {
    let index = Index::decode(payload, layout).unwrap();
    let stored = StoredIndex::parse(payload, layout).unwrap();
    let order = InternalOrder::new(Order::Bytewise);
    let mut targets: Vec<Vec<u8>> = ["first", "last", "separator"]
        .iter()
        .flat_map(|name| entries.iter().map(move |e| hex(&e[name])))
        .collect();
    targets.extend([seek_key(b"", SequenceNumber::ZERO), seek_key(b"\xff\xff", SequenceNumber::ZERO)]);
    for target in targets.iter().filter(|target| target.len() >= 8) {
        let mut place = stored.seek(&order, target).unwrap();
        for i in index.seek(&order, target)..index.len() {
            assert_eq!(place.handle(), Some(index.handle(i)), "block {i} from {target:?}");
            let user = user_key(target);
            assert_eq!(place.may_continue(&order.user, user), index.may_continue(i, &order.user, user));
            place.next().unwrap();
        }
        assert_eq!(place.handle(), None);
    }
}

proptest! {
    #[test]
    fn bytes_of_chance_never_panic(
        bytes in prop::collection::vec(0u8..40, 0..200), restarts in 0u32..4,
        user_keys: bool, delta_values: bool, first_keys: bool, heads: bool,
        target in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut payload = bytes;
        payload.extend_from_slice(&restarts.to_le_bytes());
        let layout = IndexLayout {
            user_keys,
            delta_values,
            first_keys,
            heads: heads.then_some(HeadOrder::Bytewise),
            rewrite: KeyRewrite::default(),
        };
        if StoredIndex::suits(&layout)
            && let Ok(stored) = StoredIndex::parse(&payload, &layout)
            && let Ok(mut place) = stored.seek(&InternalOrder::new(Order::Bytewise), &target)
        {
            while place.handle().is_some() && place.next().is_ok() {
                let _ = place.may_continue(&Order::Bytewise, &target);
            }
        }
        if let Ok(index) = Index::decode(&payload, &layout) {
            let at = index.seek(&InternalOrder::new(Order::Bytewise), &target);
            prop_assert!(at <= index.len());
            let _ = (index.handle(at), index.first_key(at), index.is_below(at, &Order::Bytewise, &target));
        }
    }
}
