//! A data block of any bytes gives entries or an error, both ways and by search.

#![no_main]

use base::Order;
use base::key::InternalOrder;
use format::block::{Block, BlockIter, HeadOrder};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let order = InternalOrder::new(Order::Bytewise);
    for block in [Block::parse(data.into()), Block::parse_searchable(data, Some(HeadOrder::Bytewise))] {
        let Ok(block) = block else { continue };
        let mut iter = BlockIter::new(block);
        // Every entry takes a byte at least, so a walk is never longer than the block.
        let mut left = data.len() + 1;
        iter.seek_to_first();
        while iter.valid() && left > 0 {
            let _ = (iter.key().len(), iter.value().len());
            iter.next();
            left -= 1;
        }
        assert!(left > 0, "more entries than bytes");
        iter.seek_to_last();
        let mut left = data.len() + 1;
        while iter.valid() && left > 0 {
            iter.prev();
            left -= 1;
        }
        iter.seek(&order, data.get(..16).unwrap_or(data));
        iter.seek_for_prev(&order, data.get(..16).unwrap_or(data));
        let _ = iter.status();
    }
});
