//! The layouts of rows and of the index, byte by byte.

use base::SequenceNumber;
use base::ValueType;
use base::key::append_internal;
use base::order::BuiltinPrefix;

use super::index::{Index, IndexBuilder, Rows};
use super::row::RowEncoder;
use crate::options::EncodingType;

fn encoded(
    encoding: EncodingType,
    len: Option<usize>,
    sparseness: usize,
    keys: &[(&str, u64)],
) -> Vec<Vec<u8>> {
    let mut encoder = RowEncoder::new(encoding, len, sparseness);
    let prefix = BuiltinPrefix::Fixed(2);
    let encode = |(user, seq): &(&str, u64)| {
        let (mut key, mut out) = (Vec::new(), Vec::new());
        append_internal(&mut key, user.as_bytes(), SequenceNumber::new(*seq), ValueType::Value);
        encoder.encode(&key, b"v", Some(&prefix), &mut out).unwrap();
        out
    };
    keys.iter().map(encode).collect()
}

#[test]
fn rows_of_whole_keys_say_their_length_unless_all_lengths_are_equal() {
    let keys = [("abc", 0), ("abd", 2)];
    let rows = encoded(EncodingType::Plain, None, 16, &keys);
    assert_eq!(rows[0], b"\x03abc\xff\x01v");
    assert_eq!(rows[1], b"\x03abd\x01\x02\0\0\0\0\0\0\x01v");
    let rows = encoded(EncodingType::Plain, Some(3), 16, &keys);
    assert_eq!(rows[0], b"abc\xff\x01v");
}

#[test]
fn rows_of_a_shared_prefix_store_the_rest_of_the_key() {
    let long = "ab".to_string() + &"c".repeat(70);
    let keys = [("ab1", 0), ("ab2", 0), ("ab34", 0), (&long[..], 0), ("ac1", 0), ("ac2", 0)];
    let rows = encoded(EncodingType::Prefix, None, 3, &keys);
    assert_eq!(rows[0], b"\x03ab1\xff\x01v");
    // The second key stores the length of the prefix.
    assert_eq!(rows[1], b"\x42\x812\xff\x01v");
    assert_eq!(rows[2], b"\x8234\xff\x01v");
    // Each third key is stored whole. 72 is 63 plus 9.
    assert_eq!(rows[3], [b"\x3f\x09", long.as_bytes(), b"\xff\x01v"].concat());
    assert_eq!(rows[4], b"\x03ac1\xff\x01v");
    assert_eq!(rows[5], b"\x42\x812\xff\x01v");
}

#[test]
fn an_index_of_one_bucket_lists_each_row_that_is_due() {
    let mut builder = IndexBuilder::new(2, 0.0);
    for row in 0..5u32 {
        builder.add(b"", row * 10, true);
    }
    let bytes = builder.finish();
    let expected = [
        &[1u8, 1][..],    // one bucket, one prefix
        &[0, 0, 0, 0x80], // the list at 0
        &[3],             // three offsets
        &[0, 0, 0, 0, 20, 0, 0, 0, 40, 0, 0, 0],
    ]
    .concat();
    assert_eq!(bytes, expected);
    let index = Index::parse(bytes).unwrap();
    assert_eq!(index.offsets().unwrap(), [0, 20, 40]);
    assert!(matches!(index.find(77).unwrap(), Rows::Among(list) if list.len() == 12));
}

#[test]
fn a_row_without_its_whole_key_is_no_entry_of_the_index() {
    let mut builder = IndexBuilder::new(1, 0.0);
    for (offset, is_whole) in [(0, true), (10, false), (20, true), (30, false)] {
        builder.add(b"p", offset, is_whole);
    }
    assert_eq!(Index::parse(builder.finish()).unwrap().offsets().unwrap(), [0, 20]);
}

#[test]
fn buckets_without_rows_and_with_one_row_have_no_list() {
    let mut builder = IndexBuilder::new(16, 0.1);
    builder.add(b"a", 0, true);
    builder.add(b"b", 9, true);
    let index = Index::parse(builder.finish()).unwrap();
    assert_eq!(index.sizes(), (21 * 4, 0));
    assert_eq!(index.num_prefixes(), 2);
    assert!(matches!(index.find(kernel::hash::slice_hash(b"b")).unwrap(), Rows::At(9)));
    let empty = (0..21).filter(|bucket| matches!(index.find(*bucket).unwrap(), Rows::None)).count();
    assert_eq!(empty, 19);
}

#[test]
fn an_index_that_points_outside_of_itself_is_corrupt() {
    for bytes in [&b""[..], b"\x00\x01", b"\x02\x01\0\0\0\0", b"\xff\xff\xff\xff\x0f\x01\0\0\0\0"] {
        assert!(Index::parse(bytes.to_vec()).is_err());
    }
    let index = Index::parse(b"\x01\x01\x05\0\0\x80".to_vec()).unwrap();
    assert!(index.find(0).is_err());
    assert!(index.offsets().is_err());
}
