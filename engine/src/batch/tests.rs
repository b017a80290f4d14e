use super::WriteBatch;

#[test]
fn a_protected_batch_knows_that_it_was_changed() {
    let mut batch = WriteBatch::new();
    batch.put(b"key", b"value").merge(b"key", b"operand").put_log_data(b"blob").delete_range(b"a", b"b");
    batch.protect(true).unwrap();
    assert_eq!(batch.protection().map(<[u64]>::len), Some(3), "log data has none");
    batch.verify_protection().unwrap();
    let bytes = batch.bytes.clone();
    let spots = |word: &[u8]| bytes.windows(word.len()).position(|w| w == word).unwrap();
    for spot in [spots(b"key"), spots(b"value"), spots(b"operand")] {
        batch.bytes[spot] ^= 1;
        assert!(batch.verify_protection().is_err());
        batch.bytes[spot] ^= 1;
    }
    batch.verify_protection().unwrap();
    batch.put(b"more", b"");
    assert!(batch.verify_protection().is_err(), "a record that was not there");
    batch.protect(false).unwrap();
    batch.verify_protection().unwrap();
}
