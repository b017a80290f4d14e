//! The calls that an observer receives.

use std::path::Path;

use super::*;
use crate::clock::ManualClock;
use crate::fs::{AppendHints, ReadHints};
use crate::hook::Op;
use crate::memory::MemoryFs;

fn traced() -> Arc<dyn FileSystem> {
    let clock = Arc::new(ManualClock::new(0));
    IoTracer::wrap(Arc::new(MemoryFs::new(clock.clone())), clock)
}

type Seen = Arc<Mutex<Vec<(Op, u64, usize)>>>;

/// Stores the operation, the offset and the bytes of each call. Makes a call itself. Fails at the end.
struct Store(Seen, Arc<dyn FileSystem>);

impl Observer for Store {
    fn operation(&mut self, operation: &FileOperation<'_>) {
        let _ = self.1.exists(Path::new("a call of the observer"));
        self.0.lock().push((operation.call.op, operation.call.offset, operation.call.bytes));
    }

    fn end(&mut self) -> Result<()> {
        Err(Error::busy("the end"))
    }
}

fn watch(fs: &Arc<dyn FileSystem>) -> Seen {
    let seen = Seen::default();
    assert!(IoTracer::of(&**fs).unwrap().start(Box::new(Store(seen.clone(), fs.clone()))));
    seen
}

#[test]
fn files_report_their_calls_while_there_is_an_observer() {
    let fs = traced();
    fs.write_all(Path::new("f"), b"0123456789", false).unwrap();
    let file = fs.open_random(Path::new("f"), &ReadHints::default()).unwrap();
    let seen = watch(&fs);
    assert_eq!(file.read_at(4, &mut [0; 10]).unwrap(), 6);
    let mut append = fs.create(Path::new("g"), &AppendHints::default()).unwrap();
    append.append(b"abc").unwrap();
    assert!(IoTracer::of(&*fs).unwrap().end().is_err());
    append.append(b"def").unwrap();
    assert_eq!(*seen.lock(), [(Op::Read, 4, 6), (Op::Create, 0, 0), (Op::Append, 3, 3)]);
}

#[test]
fn a_second_observer_is_refused() {
    let fs = traced();
    let seen = watch(&fs);
    let tracer = IoTracer::of(&*fs).unwrap();
    assert!(!tracer.start(Box::new(Store(seen, fs.clone()))));
    assert!(tracer.end().is_err() && tracer.end().is_ok());
}

#[test]
fn a_file_system_without_a_tracer_has_none() {
    let fs: Arc<dyn FileSystem> = Arc::new(MemoryFs::new(Arc::new(ManualClock::new(0))));
    assert!(IoTracer::of(&*fs).is_none());
    assert_eq!(traced().name(), fs.name());
}
