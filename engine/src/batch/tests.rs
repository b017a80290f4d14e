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

#[test]
fn a_rollback_keeps_the_rejection_of_an_earlier_record() {
    // The bytes are never touched: the batch looks only at the length.
    let huge = vec![0u8; 1 << 32];
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1").put(b"huge", &huge);
    batch.set_save_point();
    batch.put(b"b", b"2");
    batch.rollback_to_save_point().unwrap();
    assert!(batch.status().is_err(), "the record before the save point is still missing");

    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1");
    batch.set_save_point();
    batch.put(b"huge", &huge);
    assert!(batch.status().is_err());
    batch.rollback_to_save_point().unwrap();
    batch.status().unwrap();
    assert_eq!(batch.count(), 1);
}

/// The texts are RocksDB's.
#[test]
fn rejection_of_a_long_record_names_the_part() {
    // The bytes are never touched: the batch looks only at the length.
    let huge = vec![0u8; 1 << 32];
    let rejected = |batch: &WriteBatch| batch.status().unwrap_err().to_string();
    assert_eq!(rejected(WriteBatch::new().put(&huge, b"v")), "Invalid argument: key is too large");
    assert_eq!(rejected(WriteBatch::new().put(b"k", &huge)), "Invalid argument: value is too large");
    assert_eq!(rejected(WriteBatch::new().put(&huge, &huge)), "Invalid argument: key is too large");
}
