//! Blob files: a value that is written can be read, and a corrupt file gives an error with the offset.

use std::path::Path;
use std::sync::Arc;

use base::{FamilyId, FileNumber, Kind};
use compress::{Compression, CompressionOptions};
use env::fs::{AppendHints, FileSystem, RandomRead, ReadHints};
use env::memory::MemoryFs;
use env::writer::{FileWriter, WriterOptions};
use format::blob::BlobRef;

use super::*;

const NAME: &str = "/db/000007.blob";

/// Writes the values under the keys "k0", "k1", ... and returns their locations.
fn written(fs: &MemoryFs, compression: Compression, values: &[Vec<u8>]) -> Vec<BlobRef> {
    fs.create_dir_all(Path::new("/db")).unwrap();
    let file = fs.create(Path::new(NAME), &AppendHints::default()).unwrap();
    let options = BlobWriterOptions {
        family: FamilyId::new(3),
        compression,
        compression_options: CompressionOptions::default(),
        statistics: None,
    };
    let file = FileWriter::new(file, WriterOptions { checksum: true, ..WriterOptions::default() });
    let mut writer = BlobWriter::new(file, FileNumber::new(7), &options).unwrap();
    let places: Vec<_> =
        values.iter().enumerate().map(|(i, v)| writer.add(format!("k{i}").as_bytes(), v).unwrap()).collect();
    let size = writer.file_size();
    let done = writer.finish(false).unwrap();
    assert_eq!(done.blob_count, values.len() as u64);
    assert_eq!(done.blob_bytes, size - 30);
    assert_eq!(fs.file_size(Path::new(NAME)).unwrap(), size + 32);
    places
}

fn file(fs: &dyn FileSystem) -> Arc<dyn RandomRead> {
    fs.open_random(Path::new(NAME), &ReadHints::default()).unwrap()
}

fn access(verify_checksums: bool) -> BlobAccess<'static> {
    BlobAccess { verify_checksums, limits: None }
}

fn values() -> Vec<Vec<u8>> {
    vec![
        b"v".to_vec(),
        vec![b'a'; 10_000],
        (0..=255u8).cycle().map(|b| b.wrapping_mul(91)).take(777).collect(),
    ]
}

#[test]
fn every_compression_reads_back_and_scans() {
    for compression in compress::supported() {
        let fs = MemoryFs::new(Arc::new(env::clock::ManualClock::new(0)));
        let places = written(&fs, compression, &values());
        let reader = BlobReader::open(file(&fs), FamilyId::new(3), None).unwrap();
        assert_eq!(reader.blob_count(), 3);
        for (i, (place, value)) in places.iter().zip(values()).enumerate() {
            let key = format!("k{i}");
            assert_eq!(reader.get(key.as_bytes(), place, access(true)).unwrap(), value);
            assert_eq!(reader.get(key.as_bytes(), place, access(false)).unwrap(), value);
            let ahead = reader.read_ahead(30, 1 << 20, None).unwrap();
            let found = reader.get_from(key.as_bytes(), place, (30, &ahead), access(true)).unwrap().unwrap();
            assert_eq!(found, value);
            assert!(reader.get_from(key.as_bytes(), place, (30, &ahead[..10]), access(true)).is_none());
        }
        let mut seen = Vec::new();
        let scanned = scan(&file(&fs), |record| {
            seen.push((record.key, record.offset));
            Ok(())
        })
        .unwrap();
        assert!(scanned.footer.is_some());
        let expected: Vec<_> =
            places.iter().enumerate().map(|(i, p)| (format!("k{i}").into_bytes(), p.offset)).collect();
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_wrong_place_key_type_or_family_is_corruption() {
    let fs = MemoryFs::new(Arc::new(env::clock::ManualClock::new(0)));
    let places = written(&fs, Compression::None, &values());
    let reader = BlobReader::open(file(&fs), FamilyId::new(3), None).unwrap();
    let wrong = [
        BlobRef { offset: 5, ..places[0] },
        BlobRef { offset: u64::MAX, ..places[0] },
        BlobRef { size: u64::MAX, ..places[0] },
        BlobRef { size: 1 << 40, ..places[0] },
        BlobRef { compression: 7, ..places[0] },
        BlobRef { size: 2, ..places[0] },
        BlobRef { offset: places[0].offset + 1, ..places[0] },
    ];
    for place in wrong {
        let error = reader.get(b"k0", &place, access(true)).unwrap_err();
        assert_eq!(error.kind(), Kind::Corruption, "{place:?}: {error}");
    }
    let error = reader.get(b"k1", &places[0], access(true)).unwrap_err();
    assert!(error.to_string().contains("Key mismatch"), "{error}");
    let error = BlobReader::open(file(&fs), FamilyId::DEFAULT, None).unwrap_err();
    assert!(error.to_string().contains("column family"), "{error}");
}

#[test]
fn every_flipped_byte_is_found_by_a_scan_or_by_the_open() {
    let fs = MemoryFs::new(Arc::new(env::clock::ManualClock::new(0)));
    let places = written(&fs, Compression::None, &[b"abcdef".to_vec()]);
    let fs: &dyn FileSystem = &fs;
    let whole = fs.read_all(Path::new(NAME), 1 << 20).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        fs.write_all(Path::new(NAME), &bytes, false).unwrap();
        let opened = BlobReader::open(file(fs), FamilyId::new(3), None);
        let read = opened.and_then(|reader| reader.get(b"k0", &places[0], access(true)));
        // Bit 2 of the flags byte has no meaning, and RocksDB ignores it too.
        assert_eq!(read.is_err(), at != 12, "byte {at}");
    }
}
