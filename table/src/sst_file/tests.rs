use std::path::Path;

use base::FileNumber;
use env::{AppendHints, Env};
use format::properties::names;

use super::*;

fn writer(options: WriterOptions) -> SstFileWriter {
    let env = Env::memory(1);
    let file = env.fs.create(Path::new("/x.sst"), &AppendHints::default()).unwrap();
    SstFileWriter::new(FileWriter::new(file, env::writer::WriterOptions::default()), options).unwrap()
}

#[test]
fn an_external_table_says_so_and_tells_its_reach() {
    let mut sst = writer(WriterOptions { file_number: FileNumber::new(1), ..WriterOptions::default() });
    sst.put(b"b", b"1").unwrap();
    sst.merge(b"c", b"2").unwrap();
    sst.delete(b"d").unwrap();
    sst.delete_range(b"x", b"z").unwrap();
    sst.delete_range(b"a", b"b").unwrap();
    sst.delete_range(b"q", b"q").unwrap();
    let (info, table, _) = sst.finish().unwrap();
    assert_eq!((info.smallest_key, info.largest_key), (b"b".to_vec(), b"d".to_vec()));
    assert_eq!((info.smallest_range_del_key, info.largest_range_del_key), (b"a".to_vec(), b"z".to_vec()));
    assert_eq!((info.num_entries, info.num_range_del_entries, info.version), (3, 2, 2));
    let p = &table.properties;
    assert_eq!(p.user(names::EXTERNAL_VERSION), Some(&[2, 0, 0, 0][..]));
    assert_eq!(p.user(names::GLOBAL_SEQNO), Some(&[0; 8][..]));
    assert_eq!((p.num_entries, p.key_largest_seqno, &p.db_id[..]), (5, 0, &b"SST Writer"[..]));
    let (smallest, largest) = table.bounds.unwrap();
    assert_eq!((base::key::user_key(&smallest), base::key::user_key(&largest)), (&b"a"[..], &b"z"[..]));
}

#[test]
fn what_an_external_table_may_not_hold_is_refused() {
    let mut sst = writer(WriterOptions::default());
    sst.put(b"b", b"1").unwrap();
    assert!(sst.put(b"b", b"1").unwrap_err().message().contains("ascending"));
    assert!(sst.add(b"c", ValueType::SingleDeletion, b"").unwrap_err().message().contains("SINGLEDEL"));
    assert!(sst.delete_range(b"z", b"a").unwrap_err().message().contains("before"));
    assert!(writer(WriterOptions::default()).finish().err().unwrap().message().contains("no entries"));
}
