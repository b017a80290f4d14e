//! What is written in order: logs, batches, edits, and the records of blob files.

use format::batch::Batch;
use format::blob::{BlobIndex, Footer, Header, RecordHeader};
use format::edit::VersionEdit;
use format::proof::{OptionsExtent, Proof};
use format::wal::{Item, Predecessor, Reader, ReaderOptions, diagnose, marks_of, parse_marks, put_marks};
use format::{annotate, wide as entity};

/// A log of any bytes comes to an end, checksums right or not.
pub fn wal(data: &[u8]) {
    read_log(data, |_| {});
    let _ = Predecessor::decode(data);
    let mut repaired = data.to_vec();
    crate::repair::log(&mut repaired);
    read_log(&repaired, |_| {});
}

/// Looking for the one bit is quadratic in the length; what it does is seen in short logs.
const DIAGNOSED_LEN_MAX: usize = 300;

fn read_log(data: &[u8], mut each: impl FnMut(&[u8])) {
    let mut reader = Reader::new(data, ReaderOptions { wal_number: 4, ..ReaderOptions::default() });
    let mut diagnosed = false;
    for _ in 0..=data.len() + 1 {
        match reader.next() {
            Ok(Item::EndOfLog) => return,
            Ok(Item::Record { bytes, .. }) => each(bytes),
            // Once is enough.
            Ok(Item::Corruption(_) | Item::TornTail { .. })
                if !diagnosed && data.len() <= DIAGNOSED_LEN_MAX =>
            {
                diagnosed = true;
                diagnose(reader.damaged());
            }
            Ok(_) => {}
            Err(e) => panic!("a slice cannot fail: {e}"),
        }
    }
    panic!("the log came to no end");
}

/// A batch of any bytes gives records or an error.
pub fn batch(data: &[u8]) {
    if let Ok(batch) = Batch::new(data) {
        let _ = batch.verify();
    }
    assert_eq!(annotate_bounded(data, |data| annotate::batch(data).bytes), data);
}

/// Annotations hold more than four times their input by nature; they are made of small ones.
fn annotate_bounded(data: &[u8], annotate: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    if data.len() <= 512 { annotate(data) } else { data.to_vec() }
}

/// An edit that reads is written and reads again to the same.
pub fn edit(data: &[u8]) {
    assert_eq!(annotate_bounded(data, |data| annotate::edit(data).bytes), data);
    let Ok(mut edit) = VersionEdit::decode(data) else { return };
    let _ = edit.describe(true);
    let mut bytes = Vec::new();
    if edit.encode(0, &mut bytes).is_ok() {
        let again = VersionEdit::decode(&bytes).expect("what we wrote reads");
        edit.deleted_files.sort_unstable();
        edit.deleted_files.dedup();
        // A checksum of an unknown function is not written, as in RocksDB.
        for file in edit.new_files.iter_mut().filter(|file| file.file_checksum_func_name == "Unknown") {
            file.file_checksum.clear();
        }
        assert_eq!(again, edit);
    }
}

/// A MANIFEST of any bytes, its checksums put right: every record is an edit or an error.
pub fn manifest(data: &[u8]) {
    let mut repaired = data.to_vec();
    crate::repair::log(&mut repaired);
    read_log(&repaired, |record| {
        let _ = VersionEdit::decode(record);
    });
}

/// Entities of any bytes.
pub fn wide(data: &[u8]) {
    if let Ok(columns) = entity::decode(data) {
        let mut bytes = Vec::new();
        entity::encode(&columns, &mut bytes).expect("what reads can be written");
        assert_eq!(entity::decode(&bytes).expect("what we wrote reads"), columns);
    }
}

/// Blob headers, footers, records and indexes of any bytes.
pub fn blob(data: &[u8]) {
    let mut again = Vec::new();
    if let Ok(header) = Header::decode(data) {
        header.encode(&mut again);
        assert_eq!(Header::decode(&again).expect("what we wrote reads"), header);
    }
    let _ = Footer::decode(data);
    if let Ok(header) = RecordHeader::decode(data) {
        let _ = header.verify(b"key", data);
    }
    if let Ok(index) = BlobIndex::decode(data) {
        let mut bytes = Vec::new();
        index.encode(&mut bytes);
        assert_eq!(BlobIndex::decode(&bytes).expect("what we wrote reads"), index);
    }
}

/// A proof that decodes is encoded to equal bytes, whatever its last line was. Marks decode to the values
/// that were encoded.
pub fn proof(data: &[u8]) {
    const CRC_LINE_LEN: usize = 13;
    let body = &data[..data.len().saturating_sub(CRC_LINE_LEN)];
    let crc = kernel::checksum::crc32c::value(body);
    let mended = [body, format!("crc {:08x}\n", kernel::checksum::crc32c::mask(crc)).as_bytes()].concat();
    for bytes in [data, &mended] {
        if let Ok(proof) = Proof::decode(bytes) {
            assert_eq!(proof.encode(), bytes);
        }
    }
    assert_eq!(OptionsExtent::of(1, data).difference(data), None);
    let _ = marks_of(data);
    if let Some(marks) = parse_marks(data) {
        let mut batch = vec![0; format::batch::HEADER_LEN];
        put_marks(&mut batch, &marks);
        assert_eq!(marks_of(&batch), Some(marks));
    }
}
