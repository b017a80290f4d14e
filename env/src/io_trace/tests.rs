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

/// Panics in each call.
struct Panics;

impl Observer for Panics {
    fn operation(&mut self, _operation: &FileOperation<'_>) {
        panic!("the observer");
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn calls_are_reported_after_an_observer_panicked() {
    let fs = traced();
    let tracer = IoTracer::of(&*fs).unwrap();
    assert!(tracer.start(Box::new(Panics)));
    let call = || fs.exists(Path::new("f"));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).is_err());
    tracer.end().unwrap();
    let seen = watch(&fs);
    call().unwrap();
    assert_eq!(*seen.lock(), [(Op::Status, 0, 0)]);
}

/// Starts and ends the tracer in a call.
struct Nested(Arc<dyn FileSystem>, Arc<Mutex<Option<(bool, bool)>>>);

impl Observer for Nested {
    fn operation(&mut self, _operation: &FileOperation<'_>) {
        let tracer = IoTracer::of(&*self.0).unwrap();
        *self.1.lock() = Some((tracer.start(Box::new(Panics)), tracer.end().is_ok()));
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn an_observer_cannot_start_or_end_its_tracer() {
    let fs = traced();
    let outcomes = Arc::default();
    let tracer = IoTracer::of(&*fs).unwrap();
    assert!(tracer.start(Box::new(Nested(fs.clone(), Arc::clone(&outcomes)))));
    fs.exists(Path::new("f")).unwrap();
    tracer.end().unwrap();
    assert_eq!(*outcomes.lock(), Some((false, false)));
}

#[test]
fn calls_of_the_file_system_below_the_tracer_are_not_reported() {
    let fs = traced();
    let seen = watch(&fs);
    IoTracer::of(&*fs).unwrap().inner().exists(Path::new("f")).unwrap();
    assert!(seen.lock().is_empty());
}
