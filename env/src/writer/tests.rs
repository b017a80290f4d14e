use super::*;
use crate::clock::ManualClock;
use crate::fault::FaultFs;
use crate::fs::{AppendHints, FileSystem};
use crate::memory::MemoryFs;
use crate::meter::{MeterFs, Op};
use crate::rate::RateOptions;

const PATH: &str = "/f";

fn memory() -> Arc<dyn FileSystem> {
    Arc::new(MemoryFs::new(Arc::new(ManualClock::new(0))))
}

fn create(fs: &dyn FileSystem, options: WriterOptions) -> FileWriter {
    FileWriter::new(fs.create(Path::new(PATH), &AppendHints::default()).unwrap(), options)
}

fn content(fs: &dyn FileSystem) -> Vec<u8> {
    fs.read_all(Path::new(PATH), 1 << 30).unwrap()
}

#[test]
fn small_appends_gather_and_large_ones_go_through() {
    let fs = MeterFs::wrap(memory());
    let mut w = create(&*fs, WriterOptions { buffer_bytes: 1000, ..Default::default() });
    for _ in 0..10 {
        w.append(&[1; 100]).unwrap();
    }
    assert_eq!((w.size(), w.flushed_size()), (1000, 0));
    w.append(&[2; 5000]).unwrap();
    assert_eq!((w.size(), w.flushed_size()), (6000, 6000));
    assert_eq!(fs.hook().total(Op::Append).calls, 2);
    w.pad(10_000).unwrap();
    w.append(b"end").unwrap();
    w.close().unwrap();
    let want = [vec![1; 1000], vec![2; 5000], vec![0; 10_000], b"end".to_vec()].concat();
    assert_eq!(content(&*fs), want);
}

#[test]
fn the_checksum_covers_every_byte_in_order() {
    let fs = memory();
    let mut w = create(&*fs, WriterOptions { buffer_bytes: 7, checksum: true, ..Default::default() });
    for i in 0..200u8 {
        w.append(&vec![i; usize::from(i % 13)]).unwrap();
    }
    w.sync(false).unwrap();
    assert_eq!(w.checksum(), Some(kernel::checksum::crc32c::value(&content(&*fs))));
}

#[test]
fn the_first_error_stays() {
    for plan in ["append * #2 EIO", "sync * #1 EIO", "append * #2 ENOSPC"] {
        let fs = FaultFs::wrap(memory());
        let mut w = create(&*fs, WriterOptions { buffer_bytes: 0, ..Default::default() });
        w.append(b"a").unwrap();
        fs.hook().set_plan(plan).unwrap();
        let fail = |w: &mut FileWriter| w.append(b"b").and_then(|()| w.sync(true)).unwrap_err();
        if plan.contains("append") {
            w.append(b"x").unwrap();
        }
        let first = fail(&mut w);
        fs.hook().set_plan("").unwrap();
        assert!(w.failed());
        for again in [fail(&mut w), w.flush().unwrap_err(), w.close().unwrap_err()] {
            assert_eq!(again.to_string(), first.to_string());
        }
    }
}

#[test]
fn a_sync_that_fails_elsewhere_poisons_the_writer() {
    let fs = FaultFs::wrap(memory());
    let mut w = create(&*fs, WriterOptions::default());
    let syncer = w.syncer();
    w.append(b"a").unwrap();
    w.flush().unwrap();
    fs.hook().set_plan("sync * #1 EIO").unwrap();
    assert!(syncer.sync().is_err());
    assert!(syncer.sync().is_err(), "the data may be gone: a second sync proves nothing");
    assert!(w.append(b"b").is_err());
}

#[test]
fn write_back_starts_after_the_end() {
    let fs = MeterFs::wrap(memory());
    let options = WriterOptions { bytes_per_sync: 1 << 20, ..Default::default() };
    let mut w = create(&*fs, options);
    for _ in 0..64 {
        w.append(&[3; 128 << 10]).unwrap();
    }
    w.flush().unwrap();
    assert_eq!(fs.hook().total(Op::RangeSync).calls, 7, "8 MiB less the last");
}

#[test]
fn the_limiter_slows_writes() {
    let clock = Arc::new(ManualClock::new(0));
    let limiter = RateLimiter::new(RateOptions::new(1 << 20), clock).unwrap();
    let fs = memory();
    let mut w = create(
        &*fs,
        WriterOptions {
            rate_limiter: Some(Arc::new(limiter)),
            priority: IoPriority::High,
            ..Default::default()
        },
    );
    w.append(&[9; 3 << 20]).unwrap();
    w.close().unwrap();
    assert_eq!(content(&*fs).len(), 3 << 20);
    assert!(w.granted().wait_us > 2_000_000, "{:?}", w.granted());
}
