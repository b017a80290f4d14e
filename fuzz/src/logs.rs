//! Targets for sequences of records: WALs, write batches, version edits, and the records of blob files.

use base::{FileNumber, WalNumber};
use format::batch::Batch;
use format::blob::{BlobIndex, Footer, Header, RecordHeader};
use format::edit::VersionEdit;
use format::proof::{OptionsExtent, Proof};
use format::wal::{Item, Predecessor, Reader, ReaderOptions, diagnose, marks_of, parse_marks, put_marks};
use format::{annotate, trace, wide as entity};

/// Reads any bytes as a WAL up to its end, with correct and with wrong checksums.
pub fn wal(data: &[u8]) {
    read_log(data, |_| {});
    let _ = Predecessor::decode(data);
    let mut repaired = data.to_vec();
    crate::repair::log(&mut repaired);
    read_log(&repaired, |_| {});
}

/// Reads any bytes as a record of a trace of calls. If a call decodes and has all its parts, the call encodes to the same bytes.
pub fn trace(data: &[u8]) {
    let Ok(record) = trace::Record::decode(data) else { return };
    let _ = trace::Header::decode(&record);
    let _ = trace::Query::decode(&record, 1);
    let Ok(query) = trace::Query::decode(&record, 2) else { return };
    let again = match &query {
        trace::Query::Write(batch) => trace::write_payload(batch),
        trace::Query::Get(family, key) => trace::get_payload(*family, key),
        trace::Query::Seek(seek) => trace::seek_payload(seek.family, seek.key, [seek.lower, seek.upper]),
        trace::Query::MultiGet(pairs) => trace::multi_get_payload(pairs.iter().copied()),
    };
    // Parts can be left out, and bytes can follow the last part. What was read decodes to the same call again.
    let again = trace::Record { payload: &again, ..record };
    assert_eq!(trace::Query::decode(&again, 2).expect("what we wrote reads"), query);
}

/// The search for a flipped bit takes quadratic time, so only short WALs run it.
const DIAGNOSED_LEN_MAX: usize = 300;

fn read_log(data: &[u8], mut each: impl FnMut(&[u8])) {
    let mut reader =
        Reader::new(data, ReaderOptions { wal_number: WalNumber::new(4), ..ReaderOptions::default() });
    let mut diagnosed = false;
    for _ in 0..=data.len() + 1 {
        match reader.next() {
            Ok(Item::EndOfLog) => return,
            Ok(Item::Record { bytes, .. }) => each(bytes),
            // Run the search once per input.
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

/// Reads any bytes as a write batch: records or an error.
pub fn batch(data: &[u8]) {
    if let Ok(batch) = Batch::new(data) {
        let _ = batch.verify();
    }
    assert_eq!(annotate_bounded(data, |data| annotate::batch(data).bytes), data);
}

/// Annotates only small inputs, because annotations always need more than four times the memory of their input.
fn annotate_bounded(data: &[u8], annotate: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    if data.len() <= 512 { annotate(data) } else { data.to_vec() }
}

/// If an edit decodes, it encodes, and decodes to the same edit.
pub fn edit(data: &[u8]) {
    assert_eq!(annotate_bounded(data, |data| annotate::edit(data).bytes), data);
    let Ok(mut edit) = VersionEdit::decode(data) else { return };
    let _ = edit.describe(true);
    let mut bytes = Vec::new();
    if edit.encode(0, &mut bytes).is_ok() {
        let again = VersionEdit::decode(&bytes).expect("what we wrote reads");
        edit.deleted_files.sort_unstable();
        edit.deleted_files.dedup();
        // As in RocksDB, the checksum of an unknown function is not written.
        for file in edit.new_files.iter_mut().filter(|file| file.checksum.function == "Unknown") {
            file.checksum.value.clear();
        }
        assert_eq!(again, edit);
    }
}

/// Reads any bytes as a MANIFEST with corrected checksums: every record is an edit or an error.
pub fn manifest(data: &[u8]) {
    let mut repaired = data.to_vec();
    crate::repair::log(&mut repaired);
    read_log(&repaired, |record| {
        let _ = VersionEdit::decode(record);
    });
}

/// Decodes any bytes as an entity.
pub fn wide(data: &[u8]) {
    if let Ok(columns) = entity::decode(data) {
        let mut bytes = Vec::new();
        entity::encode(&columns, &mut bytes).expect("what reads can be written");
        assert_eq!(entity::decode(&bytes).expect("what we wrote reads"), columns);
    }
}

/// Decodes any bytes as blob headers, footers, records and indexes.
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

/// Decodes any bytes as a proof. A proof that decodes is encoded to equal bytes, with any last line. Marks decode to
/// the values that were encoded.
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
    assert_eq!(OptionsExtent::of(FileNumber::new(1), data).difference(data), None);
    let _ = marks_of(data);
    if let Some(marks) = parse_marks(data) {
        let mut batch = vec![0; format::batch::HEADER_LEN];
        put_marks(&mut batch, &marks);
        assert_eq!(marks_of(&batch), Some(marks));
    }
}
