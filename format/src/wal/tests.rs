//! RocksDB's WALs, ends of blocks, torn tails, damage, and the facts that the recovery modes need.

use super::*;
use crate::test_vectors::{db_vectors, hex, rle};
use crate::{batch, edit::VersionEdit};
use base::WalNumber;
use proptest::prelude::*;
use serde_json::Value;

/// A replacement for a compressor: it returns the given frames.
struct Frames(std::collections::VecDeque<Vec<u8>>);

impl StreamCompressor for Frames {
    fn compress(&mut self, _record: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend(self.0.pop_front().unwrap());
        Ok(())
    }
}

/// A replacement for a decompressor: it copies the frames.
struct Raw;

impl StreamDecompressor for Raw {
    fn reset(&mut self) {}

    fn decompress(&mut self, fragment: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(fragment);
        Ok(())
    }
}

fn options(wal_number: u64) -> ReaderOptions {
    ReaderOptions {
        wal_number: WalNumber::new(wal_number),
        decompressor: Some(Box::new(|_| Ok(Box::new(Raw)))),
        ..ReaderOptions::default()
    }
}

/// An item without its lifetime. The bytes of a record are copied.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Got {
    Record { bytes: Vec<u8>, offset: u64, end: u64 },
    Sizes(Vec<(FamilyId, u16)>, u64),
    Predecessor(Predecessor, u64),
    Torn { offset: u64, record_offset: u64, dropped: u64, kind: TailKind },
    Old { offset: u64, dropped: u64 },
    Hole(u64),
    Corruption(Damage),
}

fn own(item: Item<'_>) -> Option<Got> {
    Some(match item {
        Item::Record { bytes, offset, end } => Got::Record { bytes: bytes.to_vec(), offset, end },
        Item::TimestampSizes { sizes, offset } => Got::Sizes(sizes, offset),
        Item::Predecessor { info, offset } => Got::Predecessor(info, offset),
        Item::TornTail { offset, record_offset, dropped, kind } => {
            Got::Torn { offset, record_offset, dropped, kind }
        }
        Item::OldRecord { offset, dropped } => Got::Old { offset, dropped },
        Item::Hole { offset } => Got::Hole(offset),
        Item::Corruption(damage) => Got::Corruption(damage),
        Item::EndOfLog => return None,
    })
}

fn read(bytes: &[u8], wal_number: u64) -> Vec<Got> {
    let mut reader = Reader::new(bytes, options(wal_number));
    let mut got = Vec::new();
    while let Some(item) = own(reader.next().unwrap()) {
        got.push(item);
        assert!(got.len() <= bytes.len() + 1, "a log of {} bytes came to no end", bytes.len());
    }
    assert_eq!(reader.next().unwrap(), Item::EndOfLog);
    got
}

fn records(got: &[Got]) -> Vec<Vec<u8>> {
    let bytes = |g: &Got| match g {
        Got::Record { bytes, .. } => Some(bytes.clone()),
        _ => None,
    };
    got.iter().filter_map(bytes).collect()
}

fn framing(recyclable: bool, wal_number: u64) -> Framing {
    if recyclable { Framing::Recyclable { wal_number: WalNumber::new(wal_number) } } else { Framing::Classic }
}

/// Returns the content of a record according to the vector. The vectors store large records as runs.
fn expected_bytes(logical: &Value) -> Option<Vec<u8>> {
    match (logical.get("hex"), logical.get("rle")) {
        (Some(text), _) => Some(hex(text)),
        (None, Some(runs)) => Some(rle(runs)),
        (None, None) => None,
    }
}

#[test]
fn wals_of_rocksdb_are_read_and_written_alike() {
    for vector in db_vectors("wal_files") {
        let name = vector["name"].as_str().unwrap();
        let wal_number = vector["log_number"].as_u64().unwrap();
        let compressed = vector["compressed"].as_bool().unwrap();
        let file = rle(&vector["rle"]);
        assert_eq!(file.len() as u64, vector["file_size"].as_u64().unwrap(), "{name}");
        let got = read(&file, wal_number);
        let mut writer = Writer::new(framing(vector["recyclable"].as_bool().unwrap(), wal_number));
        let mut again = Vec::new();
        if compressed {
            let frames = records(&got).into_iter().collect();
            writer.set_compression(&mut again, Box::new(Frames(frames)));
        }
        let mut items = got.iter();
        for logical in vector["logical"].as_array().unwrap() {
            let meta = logical.get("meta").and_then(Value::as_str);
            if meta == Some("SetCompression") {
                continue;
            }
            let at = logical["offset"].as_u64().unwrap();
            match items.next().unwrap() {
                Got::Record { bytes, offset, .. } => {
                    assert_eq!((*offset, meta), (at, None), "{name}");
                    if let (false, Some(expected)) = (compressed, expected_bytes(logical)) {
                        assert_eq!(*bytes, expected, "{name}@{at}");
                    }
                    writer.append(&mut again, bytes).unwrap();
                }
                Got::Sizes(sizes, offset) => {
                    assert_eq!(*offset, at);
                    let told: Vec<_> = sizes.iter().map(|(f, n)| serde_json::json!([f.get(), n])).collect();
                    assert_eq!(Value::Array(told), logical["decoded"]);
                    writer.timestamp_sizes(&mut again, sizes);
                }
                Got::Predecessor(info, offset) => {
                    assert_eq!(*offset, at);
                    assert_eq!(info.wal_number.get(), logical["decoded"]["log_number"]);
                    assert_eq!(info.size_bytes, logical["decoded"]["size_bytes"]);
                    assert_eq!(info.last_seqno_recorded.get(), logical["decoded"]["last_seqno"]);
                    writer.predecessor(&mut again, info);
                }
                other => panic!("{name}: {other:?}"),
            }
        }
        // The bytes after the end of a recycled file belong to the older WAL.
        if let Some(stale) = items.next() {
            assert!(vector["recyclable"].as_bool().unwrap(), "{name}: {stale:?}");
        }
        assert_eq!(writer.offset(), again.len() as u64);
        match vector["bytes_reencoded"].as_u64() {
            Some(n) => assert!(again == file[..n as usize], "{name}"),
            None => assert!(compressed || again[..] == file[..again.len()], "{name}"),
        }
    }
}

#[test]
fn manifests_read_and_write_alike() {
    for vector in db_vectors("manifest_files") {
        let mut writer = Writer::new(Framing::Classic);
        let mut file = Vec::new();
        for record in vector["records"].as_array().unwrap() {
            assert_eq!(record["offset"], writer.offset());
            writer.append(&mut file, &hex(&record["hex"])).unwrap();
        }
        assert_eq!(vector["file_size"], file.len());
        for record in records(&read(&file, 0)) {
            VersionEdit::decode(&record).unwrap();
        }
    }
}

/// Replays a WAL with a recovery mode. Returns the batches that are kept, and the report with which the
/// replay ended, if any.
fn replay(file: &[u8], number: u64, mode: u64) -> (Vec<Vec<u8>>, Option<String>) {
    let strict = mode == 1 || mode == 2;
    let mut kept = Vec::new();
    for item in read(file, number) {
        let report = match item {
            Got::Record { bytes, .. } if bytes.len() < batch::HEADER_LEN => {
                Some("log record too small".to_string())
            }
            Got::Record { bytes, .. } => {
                kept.push(bytes);
                None
            }
            Got::Torn { kind, .. } => strict.then(|| match kind {
                TailKind::Header => "truncated header".to_string(),
                TailKind::Body => "truncated record body".to_string(),
                TailKind::MissingEnd => "error reading trailing data due to encountering EOF".to_string(),
            }),
            Got::Old { .. } if mode == 3 => None,
            Got::Old { .. } => return (kept, None),
            Got::Corruption(damage) if damage.recycled && mode == 0 => {
                let _ = damage;
                return (kept, None);
            }
            Got::Corruption(damage) => Some(damage.reason),
            _ => None,
        };
        if let (Some(report), true) = (report, mode != 3) {
            return (kept, Some(report));
        }
    }
    (kept, None)
}

#[test]
fn the_reader_reports_what_the_recovery_modes_need() {
    for case in db_vectors("recovery_cases") {
        let name = case["name"].as_str().unwrap();
        for mode in 0..4u64 {
            let expected = &case["by_wal_recovery_mode"][mode.to_string()];
            let status = expected["status"].as_str().unwrap_or_default();
            for (file_name, parts) in case["wals"].as_object().unwrap() {
                let number = file_name.trim_end_matches(".log").parse().unwrap();
                let (_, report) = replay(&rle(parts), number, mode);
                match report {
                    Some(report) if mode < 2 => {
                        assert_eq!(expected["open"], "error", "{name} in mode {mode}");
                        assert!(status.contains(&report), "{name} in mode {mode}: {report}, not {status}");
                        break;
                    }
                    _ => {}
                }
            }
        }
    }
}

fn log(framing: Framing, sizes: &[usize]) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut writer = Writer::new(framing);
    let mut file = Vec::new();
    let mut all = Vec::new();
    for (i, &n) in sizes.iter().enumerate() {
        let record: Vec<u8> = (0..n).map(|j| (i * 31 + j * 7) as u8).collect();
        writer.append(&mut file, &record).unwrap();
        all.push(record);
    }
    (file, all)
}

#[test]
fn records_of_all_sizes_around_the_block_end_are_read_again() {
    for framing in [Framing::Classic, Framing::Recyclable { wal_number: WalNumber::new(9) }] {
        for room in 0..30 {
            for n in [0, 1, 20, BLOCK_LEN, 3 * BLOCK_LEN] {
                let first = BLOCK_LEN - room - RECYCLABLE_HEADER_LEN;
                let (file, all) = log(framing, &[first, n, 5]);
                assert_eq!(records(&read(&file, 9)), all, "{framing:?} {room} {n}");
            }
        }
    }
}

#[test]
fn parts_make_one_record() {
    let mut writer = Writer::new(Framing::Classic);
    let mut parted = Vec::new();
    writer.append_parts(&mut parted, &[b"ab", b"", &[7; 40_000], b"c"]).unwrap();
    let (mut whole, mut record) = (Vec::new(), b"ab".to_vec());
    record.resize(40_002, 7);
    record.push(b'c');
    Writer::new(Framing::Classic).append(&mut whole, &record).unwrap();
    assert_eq!(parted, whole);
}

#[test]
fn every_cut_is_a_torn_tail_or_an_end() {
    let (file, all) = log(Framing::Classic, &[10, 40_000, 3]);
    for n in (0..file.len()).step_by(13).chain(file.len() - 12..file.len()) {
        let got = read(&file[..n], 0);
        let kept = records(&got);
        assert_eq!(kept, all[..kept.len()]);
        assert!(got.len() - kept.len() <= 1);
        assert!(!matches!(got.last(), Some(Got::Corruption(_))), "at {n}");
    }
}

#[test]
fn a_torn_body_reports_its_offset_and_the_offset_of_its_record() {
    let (file, _) = log(Framing::Classic, &[10, 40_000]);
    let got = read(&file[..BLOCK_LEN + 100], 0);
    assert_eq!(
        got[1],
        Got::Torn {
            offset: BLOCK_LEN as u64,
            record_offset: 17,
            dropped: (100 + BLOCK_LEN - 17 - 7) as u64,
            kind: TailKind::Body
        }
    );
}

#[test]
fn reading_continues_in_the_block_after_damage() {
    let (mut file, all) = log(Framing::Classic, &[10, 10, BLOCK_LEN, 30]);
    file[20] ^= 1;
    let got = read(&file, 0);
    assert_eq!(records(&got), all[..1].iter().chain(&all[3..]).cloned().collect::<Vec<_>>());
    let Got::Corruption(first) = &got[1] else { panic!("{got:?}") };
    assert_eq!((first.offset, first.dropped), (17, (BLOCK_LEN - 17) as u64));
    assert_eq!(first.reason, "checksum mismatch");
    let Got::Corruption(second) = &got[2] else { panic!("{got:?}") };
    assert_eq!(second.reason, "missing start of fragmented record(2)");
}

#[test]
fn a_recyclable_record_in_a_classic_wal_ends_the_read() {
    let (mut file, _) = log(Framing::Classic, &[10]);
    let mut other = Vec::new();
    Writer::resume(Framing::Recyclable { wal_number: WalNumber::ZERO }, file.len() as u64)
        .append(&mut other, b"x")
        .unwrap();
    file.extend(other);
    let got = read(&file, 0);
    assert!(matches!(&got[1], Got::Corruption(d) if d.reason.contains("not recycled")));
}

#[test]
fn records_of_an_older_wal_are_recognized() {
    let (mut file, _) = log(Framing::Recyclable { wal_number: WalNumber::new(3) }, &[100, 100, 100]);
    let (new, all) = log(Framing::Recyclable { wal_number: WalNumber::new(8) }, &[100]);
    file[..new.len()].copy_from_slice(&new);
    let got = read(&file, 8);
    assert_eq!(records(&got), all);
    assert_eq!(got[1], Got::Old { offset: new.len() as u64, dropped: 0 });
}

#[test]
fn a_read_of_an_active_wal_continues_after_rewind() {
    let mut writer = Writer::new(Framing::Classic);
    let mut file = Vec::new();
    let mut ends = Vec::new();
    for n in [0usize, 7, 40_000, 1, 32_000, 900, 70_000] {
        if n == 1 {
            writer.timestamp_sizes(&mut file, &[(FamilyId::new(1), 8)]);
        }
        writer.append(&mut file, &vec![n as u8; n]).unwrap();
        ends.push(file.len());
    }
    struct Growing(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
    impl Source for Growing {
        fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize> {
            (&self.0.lock().unwrap()[..]).read_at(offset, buf)
        }
    }
    let shared = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut reader = Reader::new(Growing(shared.clone()), ReaderOptions::default());
    let mut count = 0;
    for n in (0..=file.len()).step_by(97).chain([file.len()]) {
        *shared.lock().unwrap() = file[..n].to_vec();
        reader.rewind();
        loop {
            match reader.next().unwrap() {
                Item::Record { .. } => count += 1,
                Item::TimestampSizes { .. } => {}
                Item::EndOfLog | Item::TornTail { .. } => break,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(count, ends.iter().filter(|&&end| end <= n).count());
    }
}

/// The reader took the old content of a recycled file for a damaged record. The record had 22 KiB and a type
/// that no writer uses. In a record with so many bits, there is often one bit whose flip makes the checksum
/// correct by chance. The crash test found this with seed 18003954.
#[test]
fn one_bit_correction_of_an_unknown_type_is_chance() {
    for (kind, told) in [(record_type::FULL, true), (0xf7, false)] {
        let mut file = vec![0; HEADER_LEN + 300];
        file[4..6].copy_from_slice(&300u16.to_le_bytes());
        file[6] = kind;
        let crc = kernel::checksum::crc32c::mask(kernel::checksum::crc32c::value(&file[6..]));
        file[..4].copy_from_slice(&crc.to_le_bytes());
        file[200] ^= 4;
        assert_eq!(diagnose(&file).is_some(), told);
    }
}

#[test]
fn zeros_that_a_writer_leaves_are_no_gap() {
    for left in 0..=RECYCLABLE_HEADER_LEN {
        let mut writer = Writer::new(framing(true, 3));
        let mut file = Vec::new();
        writer.append(&mut file, &vec![1; BLOCK_LEN - RECYCLABLE_HEADER_LEN - left]).unwrap();
        writer.append(&mut file, b"second").unwrap();
        let mut reader = Reader::new(&file[..], options(3));
        let mut count = 0;
        while !matches!(reader.next().unwrap(), Item::EndOfLog) {
            count += 1;
            assert_eq!(reader.hole(), None, "{left} bytes left");
        }
        assert_eq!(count, 2);
        // Zeros at the end of the file may have any cause, so the reader reports a gap.
        file.resize(2 * BLOCK_LEN, 0);
        let mut reader = Reader::new(&file[..], options(3));
        while !matches!(reader.next().unwrap(), Item::EndOfLog) {}
        assert!(reader.hole().is_some());
    }
}

#[test]
fn zeros_in_place_of_a_record_are_a_hole() {
    for recyclable in [false, true] {
        let header = if recyclable { RECYCLABLE_HEADER_LEN } else { HEADER_LEN };
        let mut writer = Writer::new(framing(recyclable, 3));
        let mut file = Vec::new();
        // Leaves so little space in the first block that only a trailer fits there, and no record that must
        // not be split.
        writer.append(&mut file, &vec![1; BLOCK_LEN - header - 12]).unwrap();
        let first = file.len();
        writer.timestamp_sizes(&mut file, &[(FamilyId::new(1), 8)]);
        writer.append(&mut file, b"second").unwrap();
        assert!(matches!(&read(&file, 3)[..], [Got::Record { .. }, Got::Sizes(..), Got::Record { .. }]));
        let salvaged = salvage(&mut &file[..], &options(3), &mut |_, _, _| Ok(())).unwrap();
        assert_eq!((salvaged.faults, salvaged.end), (Vec::new(), file.len() as u64));
        let mut alone = Vec::new();
        Writer::new(framing(recyclable, 3)).timestamp_sizes(&mut alone, &[(FamilyId::new(1), 8)]);
        let salvaged = salvage(&mut &alone[..], &options(3), &mut |_, _, _| Ok(())).unwrap();
        assert_eq!(salvaged.end, alone.len() as u64, "a record without data counts too");
        // A writer also leaves zeros at the end of a block, but not this many.
        file[header + 100..first].fill(0);
        let crc = kernel::checksum::crc32c::mask(kernel::checksum::crc32c::value(&file[6..header + 100]));
        file[..4].copy_from_slice(&crc.to_le_bytes());
        file[4..6].copy_from_slice(&100u16.to_le_bytes());
        let at = (header + 100) as u64;
        let got = read(&file, 3);
        assert!(
            matches!(&got[..], [Got::Record { .. }, Got::Hole(hole), Got::Sizes(..), Got::Record { .. }] if *hole == at),
            "{got:?}"
        );
        // The same with a whole block of zeros.
        let longer = [&file[..BLOCK_LEN], &vec![0; BLOCK_LEN][..], &file[BLOCK_LEN..]].concat();
        let got = read(&longer, 3);
        assert!(
            matches!(&got[..], [Got::Record { .. }, Got::Hole(hole), Got::Sizes(..), Got::Record { .. }] if *hole == at),
            "{got:?}"
        );
        let mut records = 0;
        let salvaged = salvage(&mut &longer[..], &options(3), &mut |_, _, _| {
            records += 1;
            Ok(())
        });
        let salvaged = salvaged.unwrap();
        assert!(
            matches!(&salvaged.faults[..], [fault] if (fault.offset, fault.lost_bytes) == (at, 2 * BLOCK_LEN as u64 - at))
        );
        assert_eq!(salvaged.sizes_lost_at, Some(at), "the zeros can be in place of the sizes of timestamps");
        assert_eq!(records, 2);
        // Nothing follows the zeros: they are the end of the written data.
        assert!(matches!(&read(&longer[..BLOCK_LEN * 2], 3)[..], [Got::Record { .. }]));
    }
}

#[test]
fn timestamp_sizes_are_reported_once() {
    let mut writer = Writer::new(Framing::Classic);
    let mut file = Vec::new();
    writer.timestamp_sizes(&mut file, &[(FamilyId::DEFAULT, 0), (FamilyId::new(1), 8)]);
    let len = file.len();
    writer.timestamp_sizes(&mut file, &[(FamilyId::new(1), 8)]);
    assert_eq!(file.len(), len);
    assert_eq!(read(&file, 0), [Got::Sizes(vec![(FamilyId::new(1), 8)], 0)]);
    let repeated = [&file[..], &file[..]].concat();
    assert!(
        matches!(&read(&repeated, 0)[1], Got::Corruption(d) if d.reason.contains("recorded column family"))
    );
}

#[test]
fn a_compressed_wal_is_rejected_where_compression_is_not_allowed() {
    let mut file = Vec::new();
    Writer::new(Framing::Classic).set_compression(&mut file, Box::new(Frames(Default::default())));
    let mut reader = Reader::new(&file[..], ReaderOptions::default());
    assert!(matches!(reader.next().unwrap(), Item::Corruption(_)));
}

#[test]
fn one_flipped_bit_is_found() {
    for framing in [Framing::Classic, Framing::Recyclable { wal_number: WalNumber::new(77) }] {
        let (file, _) = log(framing, &[50]);
        let whole = [&file[..], &[0xAB; 100]].concat();
        assert_eq!(diagnose(&whole), None);
        for byte in 0..file.len() {
            for bit in 0..8 {
                let mut copy = whole.clone();
                copy[byte] ^= 1 << bit;
                assert_eq!(diagnose(&copy), Some(Diagnosis::Bit { byte, bit }), "{framing:?}");
            }
        }
    }
}

#[test]
fn a_bit_is_no_damage_where_a_lost_sector_explains_it() {
    const SECTOR: usize = 512;
    for len in [50, 600] {
        let (record, _) = log(Framing::Classic, &[len]);
        for offset in [1, 2, 9, 100, 462, 463, 500, 505, 506, 510, 511, 512] {
            let place = |at: usize| (offset + at) / SECTOR;
            for lost in place(0)..=place(record.len() - 1) {
                // The disk did not write one sector of the record. The sector has zeros, except for one
                // bit.
                let mut torn = record.clone();
                let part: Vec<usize> = (0..record.len()).filter(|&at| place(at) == lost).collect();
                part.iter().for_each(|&at| torn[at] = 0);
                let split = part.len() < record.len();
                for (at, bit) in part.iter().flat_map(|&at| (0..8).map(move |bit| (at, bit))) {
                    let found = Diagnosis::Bit { byte: at, bit };
                    // The length can only be found if it is the damaged field or was not lost.
                    if !(4..7).any(|at| place(at) == lost) {
                        assert_eq!(
                            found.could_be_torn(&torn, offset as u64),
                            split,
                            "{len} {offset} {found:?}"
                        );
                    }
                    assert_eq!(
                        found.could_be_torn(&record, offset as u64),
                        zeros(&record, &part),
                        "{len} {offset}"
                    );
                }
            }
        }
    }
    fn zeros(record: &[u8], part: &[usize]) -> bool {
        part.len() < record.len() && part.iter().all(|&at| record[at] == 0)
    }
}

#[test]
fn a_flipped_bit_in_the_last_bytes_of_a_recycled_wal_may_be_an_older_record() {
    for (framing, torn_from) in
        [(Framing::Classic, 50), (Framing::Recyclable { wal_number: WalNumber::new(7) }, 46)]
    {
        let (record, _) = log(framing, &[50]);
        let header = record.len() - 50;
        for byte in 0..record.len() {
            let found = Diagnosis::Bit { byte, bit: 3 };
            assert_eq!(found.could_be_torn(&record, 0), byte >= header + torn_from, "{framing:?} {byte}");
        }
    }
}

/// A WAL starts with a predecessor record: the number, the size and the last sequence number of the
/// previous WAL. In this test the new and the old predecessor record differ in one bit.
#[test]
fn a_flipped_bit_in_the_wal_number_of_a_recycled_wal_may_be_an_older_record() {
    let record = |sequence: u64| {
        let (mut file, mut writer) =
            (Vec::new(), Writer::new(Framing::Recyclable { wal_number: WalNumber::new(7) }));
        writer.append(&mut file, &[34u64, 133, sequence].map(u64::to_le_bytes).concat()).unwrap();
        file
    };
    let (new, old) = (record(0x45), record(0x47));
    let torn_at = RECYCLABLE_HEADER_LEN + 16;
    let torn = [&new[..torn_at], &old[torn_at..]].concat();
    let found = diagnose(&torn).unwrap();
    assert_eq!(found, Diagnosis::Bit { byte: torn_at, bit: 1 });
    assert!(found.could_be_torn(&torn, 0));
    // Larger numbers do not become equal by chance.
    let (new, old) = (record(0x4545_4545_4545_4545), record(0x4545_4545_4545_4547));
    let torn = [&new[..torn_at], &old[torn_at..]].concat();
    assert!(!diagnose(&torn).unwrap().could_be_torn(&torn, 0));
}

/// The record starts with the last byte of a sector. Only this byte is missing, and only one bit of it was
/// set.
#[test]
fn a_record_without_its_sector_is_torn_and_one_with_it_damaged() {
    let written = |first: usize, salt: u32| {
        let (mut file, mut writer) = (Vec::new(), Writer::new(Framing::Classic));
        writer.append(&mut file, &vec![1; first - HEADER_LEN]).unwrap();
        writer.append(&mut file, &salt.to_le_bytes()).unwrap();
        file
    };
    for (at, torn) in [(510, false), (511, true), (512, false)] {
        let salt = (0..).find(|&salt| written(at, salt)[at] == 0x80).unwrap();
        let mut file = written(at, salt);
        file[at] = 0;
        let mut reader = Reader::new(&file[..], ReaderOptions::default());
        reader.next().unwrap();
        assert!(matches!(reader.next().unwrap(), Item::Corruption(_)));
        let bit = Some(Diagnosis::Bit { byte: 0, bit: 7 });
        assert_eq!(diagnose(reader.damaged()), bit);
        assert_eq!(reader.damaged_not_torn(), bit.filter(|_| !torn), "at {at}");
    }
}

#[test]
fn a_wrong_length_is_found() {
    let (mut file, _) = log(Framing::Classic, &[50]);
    file[4] = 0xFF;
    file[5] = 0x7F;
    file.resize(400, 9);
    let mut reader = Reader::new(&file[..], ReaderOptions::default());
    assert!(matches!(reader.next().unwrap(), Item::TornTail { kind: TailKind::Body, .. }));
    assert_eq!(diagnose(reader.damaged()), Some(Diagnosis::Length(50)));
}

proptest! {
    #[test]
    fn logs_come_back(
        sizes in prop::collection::vec(prop_oneof![0usize..100, 30_000usize..40_000], 0..8),
        recyclable: bool,
    ) {
        let (file, all) = log(framing(recyclable, 5), &sizes);
        prop_assert_eq!(records(&read(&file, 5)), all);
    }

    #[test]
    fn flipped_logs_come_to_an_end(
        sizes in prop::collection::vec(prop_oneof![0usize..100, 30_000usize..40_000], 1..5),
        recyclable: bool, flips in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..6),
    ) {
        let (mut file, _) = log(framing(recyclable, 5), &sizes);
        for (at, mask) in flips {
            let at = at.index(file.len());
            file[at] ^= mask;
        }
        read(&file, 5);
        diagnose(&file[..file.len().min(BLOCK_LEN)]);
    }

    #[test]
    fn random_bytes_come_to_an_end(bytes in prop::collection::vec(any::<u8>(), 0..400), number in 0u64..3) {
        read(&bytes, number);
        diagnose(&bytes);
    }
}
