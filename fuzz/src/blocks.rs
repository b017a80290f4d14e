//! Targets for the single parts of an SST file.

use std::ops::ControlFlow;
use std::sync::Arc;

use base::Order;
use base::SequenceNumber;
use base::key::InternalOrder;
use compress::{Compression, CompressionOptions, Compressor, Dictionary};
use format::block::{Block, BlockIter, HeadOrder, KeyRewrite, PlainEntries};
use format::index::{Index, IndexLayout};
use format::metaindex::Metaindex;
use kernel::filter::Filter;
use mem::range_del::{FragmentedTombstones, Tombstone};

/// Decodes any bytes as a footer and as a metaindex: the result is a value or an error.
pub fn footer(data: &[u8]) {
    if let Ok(footer) = format::footer::Footer::decode(data, data.len() as u64) {
        let _ = footer.index;
    }
    if let Ok(metaindex) = Metaindex::decode(data) {
        assert_eq!(Metaindex::decode(&metaindex.encode()).expect("what we wrote reads"), metaindex);
    }
}

/// Decodes any bytes as table properties.
pub fn properties(data: &[u8]) {
    if let Ok(properties) = format::properties::Properties::decode(data, 0) {
        let _ = (properties.index_type(), properties.global_seqno(Some(SequenceNumber::new(7))));
        let _ = format::properties::Properties::decode(&properties.encode(), 0);
    }
}

/// Reads any bytes as a data block: entries or an error, in both directions, by search, and through the hash index.
pub fn block(data: &[u8]) {
    let order = InternalOrder::new(Order::Bytewise);
    for block in [Block::parse(data), Block::parse_searchable(data, Some(HeadOrder::Bytewise))] {
        let Ok(block) = block else { continue };
        let target = data.get(..16).unwrap_or(data);
        let mut seen = 0;
        if target.len() > 8 {
            let _ = block.visit_versions(&order, KeyRewrite::default(), target, &mut |_, _, place| {
                seen += 1;
                assert!(place.end <= data.len() && seen <= data.len(), "more versions than bytes");
                ControlFlow::Continue(())
            });
        }
        let mut iter = BlockIter::new(block);
        // Every entry takes at least one byte, so a walk has at most as many steps as the block has bytes.
        let mut left = data.len() + 1;
        iter.seek_to_first();
        while iter.valid() && left > 0 {
            let _ = (iter.key().len(), iter.value().len());
            iter.next();
            left -= 1;
        }
        assert!(left > 0, "more entries than bytes");
        iter.seek_to_last();
        // Each backward step reads from a restart point, so the cost of a step is not bounded. Limit the number of
        // steps.
        let mut left = data.len().min(1000) + 1;
        while iter.valid() && left > 0 {
            iter.prev();
            left -= 1;
        }
        iter.seek(&order, target);
        iter.seek_for_prev(&order, target);
        let _ = iter.status();
    }
}

/// Reads any bytes as an index block: separators and handles or an error, in each of its layouts. The first byte of
/// the input selects the layout.
pub fn index(data: &[u8]) {
    let Some((&flags, payload)) = data.split_first() else { return };
    let layout = IndexLayout {
        user_keys: flags & 1 != 0,
        delta_values: flags & 2 != 0,
        first_keys: flags & 4 != 0,
        heads: (flags & 8 != 0).then_some(HeadOrder::Bytewise),
        ..IndexLayout::default()
    };
    let Ok(index) = Index::decode(payload, &layout) else { return };
    let order = InternalOrder::new(Order::Bytewise);
    let _ = index.seek(&order, payload.get(..16).unwrap_or(payload));
    assert!(index.len() <= payload.len(), "more entries than bytes");
    let mut key = Vec::new();
    for i in 0..index.len() {
        key.clear();
        let _ = (index.handle(i), index.first_key(i), index.separator(i, &mut key));
    }
}

/// Fragments range tombstones of any bytes, or rejects them.
pub fn range_del(data: &[u8]) {
    let Ok(mut entries) = PlainEntries::new(data, false) else { return };
    let mut tombstones = Vec::new();
    // Overlapping tombstones make as many fragments as the product of their numbers. A few tombstones are enough
    // here.
    while tombstones.len() < 64
        && let Ok(Some(entry)) = entries.next()
    {
        if let Ok(tombstone) = Tombstone::decode(entries.key(), entry.value, 0) {
            tombstones.push(tombstone);
        }
    }
    let fragments = FragmentedTombstones::new(tombstones, InternalOrder::new(Order::Bytewise));
    for i in 0..fragments.len() {
        let _ = fragments.fragment(i).newest_at(SequenceNumber::new(u64::MAX >> 8));
    }
}

/// Queries a filter of any bytes. A batch query must return the answers of the single queries.
pub fn filter(data: &[u8]) {
    let filter = Filter::parse(data);
    let hashes: Vec<u64> = data.chunks(8).take(64).map(|c| filter.hash(c)).collect();
    let mut answers = vec![false; hashes.len()];
    filter.may_match_batch(data, &hashes, &mut answers);
    for (hash, answer) in hashes.iter().zip(answers) {
        assert_eq!(filter.may_match(data, *hash), answer);
    }
}

/// Decompresses any bytes: a block or an error, with and without a dictionary, and within the allowed memory. The
/// first two bytes of the input are the compression type and the length of the dictionary.
pub fn decompress(data: &[u8]) {
    let [kind, dict_len, rest @ ..] = data else { return };
    let Ok(kind) = Compression::from_byte(*kind) else { return };
    let (dict, payload) = rest.split_at(rest.len().min(usize::from(*dict_len)));
    // The announced length is limited by the largest ratio of the compression type. Lengths above 1 MiB are skipped.
    match compress::uncompressed_len(kind, payload) {
        Ok(len) if len <= 1 << 20 => {
            if let Ok(block) = compress::decompress(kind, payload, None) {
                assert_eq!(block.len(), len, "not what was announced");
            }
            if !dict.is_empty() {
                let dict = Arc::new(Dictionary::new(dict.to_vec()));
                let _ = compress::decompress(kind, payload, Some(&dict));
            }
        }
        _ => {}
    }
}

/// The compression types and levels that [`compress`] uses: the encoders of LZ4 and of Snappy.
const ENCODERS: [(Compression, i32); 7] = [
    (Compression::Lz4, -1),
    (Compression::Lz4, -2),
    (Compression::Lz4, -70_000),
    (Compression::Lz4hc, 1),
    (Compression::Lz4hc, 9),
    (Compression::Lz4hc, 12),
    (Compression::Snappy, -1),
];

/// Compresses any bytes, with and without a dictionary: the payload decompresses to the bytes. The first three bytes of the input
/// are the encoder, the length of the dictionary, and the number of copies of the other bytes, because blocks of 8 KiB and of
/// 64 KiB take other paths.
pub fn compress(data: &[u8]) {
    let [encoder, dict_len, copies, rest @ ..] = data else { return };
    let (kind, level) = ENCODERS[usize::from(*encoder) % ENCODERS.len()];
    let options = CompressionOptions { level, ..CompressionOptions::default() };
    let (dict, rest) = rest.split_at(rest.len().min(usize::from(*dict_len)));
    let block = rest.repeat((usize::from(*copies) + 1).min((1 << 18) / rest.len().max(1)));
    let dict = (!dict.is_empty()).then_some(dict);
    let Ok(mut compressor) = Compressor::new(kind, &options, dict) else { return };
    let digested = dict.map(|dict| Arc::new(Dictionary::new(dict.to_vec())));
    let (mut payload, mut again) = (Vec::new(), Vec::new());
    compressor.compress_always(&block, &mut payload).expect("every block has a compressed form");
    let back = compress::decompress(compressor.stored_kind(), &payload, digested.as_deref());
    assert!(back.is_ok_and(|back| back == block), "another block comes back");
    compressor.compress_always(&block, &mut again).expect("as before");
    assert!(payload == again, "the same block has two compressed forms");
}
