//! Blob headers, footers, records and indexes of any bytes.

#![no_main]

use format::blob::{BlobIndex, Footer, Header, RecordHeader};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = Header::decode(data);
    let _ = Footer::decode(data);
    if let Ok(header) = RecordHeader::decode(data) {
        let _ = header.verify(b"key", data);
    }
    if let Ok(index) = BlobIndex::decode(data) {
        let mut bytes = Vec::new();
        index.encode(&mut bytes);
        assert_eq!(BlobIndex::decode(&bytes).expect("what we wrote reads"), index);
    }
});
