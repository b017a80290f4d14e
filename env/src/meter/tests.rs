use super::*;
use crate::clock::ManualClock;
use crate::fs::{AppendHints, ReadHints};
use crate::memory::MemoryFs;

#[test]
fn calls_and_bytes_are_counted_by_kind() {
    let fs = MeterFs::wrap(Arc::new(MemoryFs::new(Arc::new(ManualClock::new(0)))));
    let mut wal = fs.create(Path::new("/000004.log"), &AppendHints::default()).unwrap();
    wal.append(b"12345").unwrap();
    wal.append(b"678").unwrap();
    wal.sync().unwrap();
    let r = fs.open_random(Path::new("/000004.log"), &ReadHints::default()).unwrap();
    r.read_at(6, &mut [0; 10]).unwrap();
    assert!(fs.open_sequential(Path::new("/CURRENT")).is_err());
    let m = fs.hook();
    assert_eq!(m.count(FileKind::Wal, Op::Append), Count { calls: 2, failed: 0, bytes: 8 });
    assert_eq!(m.count(FileKind::Wal, Op::Read), Count { calls: 1, failed: 0, bytes: 2 });
    assert_eq!(m.count(FileKind::Wal, Op::Sync).calls, 1);
    assert_eq!(m.count(FileKind::Small, Op::Open), Count { calls: 1, failed: 1, bytes: 0 });
    assert_eq!(m.total(Op::Open).calls, 2);
    m.reset();
    assert_eq!(m.total(Op::Append), Count::default());
}

#[test]
fn a_file_is_known_by_its_name() {
    for (name, kind) in [
        ("/db/000012.sst", FileKind::Table),
        ("/db/000012.log", FileKind::Wal),
        ("/db/000012.blob", FileKind::Blob),
        ("/db/MANIFEST-000005", FileKind::Manifest),
        ("/db/OPTIONS-000007", FileKind::Small),
        ("/db/LOG.old.123", FileKind::InfoLog),
        ("/db", FileKind::Other),
    ] {
        assert_eq!(FileKind::of(Path::new(name)), kind, "{name}");
    }
}
