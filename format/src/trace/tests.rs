//! Records and payloads of traces.

use super::*;

fn record(kind: RecordType, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_record(&mut bytes, 0x0102, kind, payload);
    bytes
}

fn decoded(kind: RecordType, payload: &[u8]) -> Query<'_> {
    Query::decode(&Record { micros: 0, kind: kind as u8, payload }, 2).unwrap()
}

#[test]
fn a_record_has_the_bytes_of_rocksdb() {
    let bytes = record(RecordType::Get, &get_payload(FamilyId::new(7), b"ab"));
    let expected: [&[u8]; 6] = [
        &[2, 1, 0, 0, 0, 0, 0, 0],
        &[4],
        &[15, 0, 0, 0],
        &[12, 0, 0, 0, 0, 0, 0, 0],
        &[7, 0, 0, 0],
        b"\x02ab",
    ];
    assert_eq!(bytes, expected.concat());
}

#[test]
fn an_empty_bound_is_left_out() {
    let all = seek_payload(FamilyId::DEFAULT, b"k", [b"a", b"z"]);
    assert_eq!((all[0], &all[12..]), (0xf0, &b"\x01k\x01a\x01z"[..]));
    let upper = seek_payload(FamilyId::DEFAULT, b"k", [b"", b"z"]);
    assert_eq!((upper[0], &upper[12..]), (0xb0, &b"\x01k\x01z"[..]));
}

#[test]
fn many_keys_are_two_lists() {
    let bytes = multi_get_payload([(FamilyId::new(1), &b"a"[..]), (FamilyId::new(2), &b"b"[..])].into_iter());
    assert_eq!(bytes[..2], [0, 7]);
    assert_eq!(bytes[8..], *b"\x02\0\0\0\x08\x01\0\0\0\x02\0\0\0\x04\x01a\x01b");
}

#[test]
fn each_call_decodes_to_itself() {
    let pairs = vec![(FamilyId::new(1), &b"a"[..]), (FamilyId::new(2), &b""[..])];
    let seek = Seek { family: FamilyId::new(3), key: b"k", lower: b"", upper: b"z", is_for_prev: true };
    let payload = write_payload(b"batch");
    assert_eq!(decoded(RecordType::Write, &payload), Query::Write(b"batch"));
    let payload = get_payload(FamilyId::new(9), b"key");
    assert_eq!(decoded(RecordType::Get, &payload), Query::Get(FamilyId::new(9), b"key"));
    let payload = seek_payload(seek.family, seek.key, [seek.lower, seek.upper]);
    assert_eq!(decoded(RecordType::SeekForPrev, &payload), Query::Seek(seek));
    let payload = multi_get_payload(pairs.iter().copied());
    assert_eq!(decoded(RecordType::MultiGet, &payload), Query::MultiGet(pairs));
}

#[test]
fn a_call_of_the_version_0_1_has_no_map() {
    let old = |kind, payload| Query::decode(&Record { micros: 0, kind: kind as u8, payload }, 1);
    assert_eq!(old(RecordType::Write, b"batch").unwrap(), Query::Write(b"batch"));
    assert_eq!(old(RecordType::Get, b"\x05\0\0\0\x01k").unwrap(), Query::Get(FamilyId::new(5), b"k"));
    let seek = Seek { family: FamilyId::new(5), key: b"k", lower: b"", upper: b"", is_for_prev: false };
    assert_eq!(old(RecordType::Seek, b"\x05\0\0\0\x01k").unwrap(), Query::Seek(seek));
    assert!(old(RecordType::MultiGet, b"").unwrap_err().is_corruption());
}

#[test]
fn the_header_has_the_version() {
    let bytes = record(RecordType::Begin, header());
    let first = Record::decode(&bytes).unwrap();
    assert_eq!(Header::decode(&first).unwrap(), Header { micros: 0x0102, version: 2 });
    let other = Record { kind: RecordType::End as u8, ..first };
    assert!(Header::decode(&other).unwrap_err().is_corruption());
    for wrong in ["0", "0.2.1", "0.", ".2", "a.b", "99999.99999"] {
        let text = format!("feedcafedeadbeef\tTrace Version: {wrong}\tRocksDB Version: 11.8\t");
        let record = Record { payload: text.as_bytes(), ..first };
        assert!(Header::decode(&record).unwrap_err().is_corruption(), "{wrong}");
    }
}

#[test]
fn every_shortened_call_is_refused_or_decodes() {
    let pairs = [(FamilyId::new(1), &b"aa"[..]), (FamilyId::new(2), &b"bb"[..])];
    let calls = [
        (RecordType::Write, write_payload(b"batch")),
        (RecordType::Get, get_payload(FamilyId::new(1), b"key")),
        (RecordType::Seek, seek_payload(FamilyId::new(1), b"key", [b"a", b"z"])),
        (RecordType::MultiGet, multi_get_payload(pairs.into_iter())),
    ];
    for (kind, payload) in calls {
        for len in 0..payload.len() {
            let part = Record { micros: 0, kind: kind as u8, payload: &payload[..len] };
            assert!(Query::decode(&part, 2).unwrap_err().is_corruption(), "{kind:?} of {len} bytes");
        }
        let whole = record(kind, &payload);
        for len in 0..whole.len() {
            assert!(Record::decode(&whole[..len]).unwrap_err().is_corruption());
        }
    }
}

#[test]
fn a_file_operation_has_the_parts_that_its_map_names() {
    let read = FileOperation {
        name: "Read",
        nanos: 5,
        status: "OK",
        file: b"f.sst",
        file_size: None,
        len: Some(7),
        offset: Some(9),
    };
    let expected: [&[u8]; 8] = [
        &[6, 0, 0, 0, 0, 0, 0, 0],
        b"\x04Read",
        &[5, 0, 0, 0, 0, 0, 0, 0],
        b"\x02OK",
        b"\x05f.sst",
        &[7, 0, 0, 0, 0, 0, 0, 0],
        &[9, 0, 0, 0, 0, 0, 0, 0],
        &[0; 8],
    ];
    assert_eq!(read.payload(), expected.concat());
}

#[test]
fn an_access_has_its_look_up_after_the_common_part() {
    let access = BlockAccess {
        block: RecordType::DataBlock,
        key: b"key",
        size: 1,
        family: 2,
        family_name: b"cf",
        level: 3,
        file: 4,
        caller: 1,
        is_hit: true,
        no_insert: false,
        get: Some(GetAccess { id: 5, from_snapshot: true, key: b"k", data: Some((6, 7, true)) }),
    };
    let number = |number: u64| number.to_le_bytes().to_vec();
    let common =
        [b"\x03key".to_vec(), number(1), number(2), b"\x02cf\x03\0\0\0".to_vec(), number(4), vec![1, 1, 0]];
    let get = [number(5), b"\x01\x01k".to_vec()];
    let data = [number(6), number(7), vec![1]];
    assert_eq!(access.payload(), [common.concat(), get.concat(), data.concat()].concat());
    let index = BlockAccess { get: access.get.map(|get| GetAccess { data: None, ..get }), ..access };
    assert_eq!(index.payload(), [common.concat(), get.concat()].concat());
    assert_eq!(BlockAccess { get: None, ..access }.payload(), common.concat());
}

#[test]
fn a_count_beyond_the_keys_allocates_nothing_for_them() {
    let payload = multi_get_payload([(FamilyId::new(1), &b"a"[..])].into_iter());
    let with_count = |count: u32| {
        let mut payload = payload.clone();
        payload[8..12].copy_from_slice(&count.to_le_bytes());
        let record = Record { micros: 0, kind: RecordType::MultiGet as u8, payload: &payload };
        Query::decode(&record, 2).map(drop).map_err(|error| error.kind())
    };
    assert_eq!(with_count(1), Ok(()));
    assert_eq!(with_count(u32::MAX), Err(base::Kind::Corruption));
    assert_eq!(with_count(0), Err(base::Kind::InvalidArgument));
}
