//! Tests the references in the inputs and outputs of a compaction.

use base::SequenceNumber;
use base::iter::VecIterator;
use base::key::{InternalOrder, ValueType, append_internal};
use base::order::Order;
use format::blob::{BlobIndex, BlobRef};
use format::wide::Column;

use super::*;

fn key(user: &[u8], value_type: ValueType) -> Vec<u8> {
    let mut out = Vec::new();
    append_internal(&mut out, user, SequenceNumber::new(9), value_type);
    out
}

fn index(file_number: u64, size: u64) -> Vec<u8> {
    let mut out = Vec::new();
    BlobRef { file_number: FileNumber::new(file_number), offset: 100, size, compression: 0 }.encode(&mut out);
    out
}

fn flow(entries: &[(Vec<u8>, Vec<u8>)]) -> BlobFlow {
    let mut flow = BlobFlow::default();
    entries.iter().for_each(|(k, v)| flow.add(k, v).unwrap());
    flow
}

#[test]
fn dropped_references_are_garbage_and_new_files_have_none() {
    let a = (key(b"a", ValueType::BlobIndex), index(5, 10));
    let b = (key(b"bb", ValueType::BlobIndex), index(5, 20));
    let moved = (key(b"a", ValueType::BlobIndex), index(8, 10));
    let coming = flow(&[a.clone(), b.clone(), (key(b"c", ValueType::Value), b"v".to_vec())]);
    assert_eq!(coming.garbage(&coming), []);
    let garbage = coming.garbage(&flow(&[moved, b]));
    assert_eq!(garbage, [BlobGarbage { number: FileNumber::new(5), count: 1, bytes: 32 + 1 + 10 }]);
    let mut twice = flow(std::slice::from_ref(&a));
    twice.merge(&flow(&[a]));
    assert_eq!(twice.garbage(&BlobFlow::default())[0].count, 2);
}

#[test]
fn columns_count_and_embedded_blobs_do_not() {
    let (far, near) = (index(7, 100), index(0, 100));
    let columns = [
        Column { name: b"a", value: &far, is_blob: true },
        Column { name: b"b", value: &near, is_blob: true },
        Column::inline(b"c", b"x"),
    ];
    let mut entity = Vec::new();
    wide::encode(&columns, &mut entity).unwrap();
    let flow = flow(&[(key(b"k", ValueType::WideColumnEntity), entity)]);
    assert_eq!(
        flow.garbage(&BlobFlow::default()),
        [BlobGarbage { number: FileNumber::new(7), count: 1, bytes: 133 }]
    );
}

#[test]
fn a_ttl_index_is_corruption() {
    let mut ttl = Vec::new();
    BlobIndex::Inlined { expiration: 1, value: b"v" }.encode(&mut ttl);
    assert!(BlobFlow::default().add(&key(b"k", ValueType::BlobIndex), &ttl).is_err());
}

#[test]
fn each_entry_of_a_walk_forward_is_counted_once() {
    let entries: Vec<_> =
        [b"a", b"b", b"c"].iter().map(|k| (key(*k, ValueType::BlobIndex), index(5, 1))).collect();
    let order = InternalOrder::new(Order::Bytewise);
    let mut counted = CountBlobs::new(VecIterator::new(entries, order), true);
    counted.seek_to_first();
    while counted.valid() {
        counted.next();
    }
    assert_eq!(counted.flow().unwrap().garbage(&BlobFlow::default())[0].count, 3);
}
