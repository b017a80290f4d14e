//! An index block of any bytes gives separators and handles or an error, in each of its layouts.

#![no_main]

use base::Order;
use base::key::InternalOrder;
use format::block::HeadOrder;
use format::index::{Index, IndexLayout};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((&flags, payload)) = data.split_first() else { return };
    let layout = IndexLayout {
        user_keys: flags & 1 != 0,
        delta_values: flags & 2 != 0,
        first_keys: flags & 4 != 0,
        heads: (flags & 8 != 0).then_some(HeadOrder::Bytewise),
        ..IndexLayout::default()
    };
    let Ok(index) = Index::decode(payload, &layout) else { return };
    assert!(index.memory_bytes() <= 64 * payload.len() + (1 << 20));
    let order = InternalOrder::new(Order::Bytewise);
    let _ = index.seek(&order, payload.get(..16).unwrap_or(payload));
    let mut key = Vec::new();
    for i in 0..index.len() {
        key.clear();
        let _ = (index.handle(i), index.first_key(i), index.separator(i, &mut key));
    }
});
