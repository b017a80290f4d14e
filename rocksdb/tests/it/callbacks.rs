//! Functions of the application. A panic in a function fails the call or the job, and the database stays usable.

use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use rocksdb::compaction_filter::CompactionFilter;
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};
use rocksdb::{
    CompactionDecision, DB, ErrorKind, InfoLogger, LogLevel, Options, ReadOptions, SliceTransform,
    SstFileWriter,
};

fn open(change: impl FnOnce(&mut Options)) -> (tempfile::TempDir, DB) {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    change(&mut options);
    let db = DB::open(&options, dir.path()).unwrap();
    (dir, db)
}

#[test]
fn a_merge_function_that_panics_fails_the_read_alone() {
    let (_dir, db) = open(|options| {
        options.set_merge_operator("panics", |_, _, _| panic!("no merge"), |_, _, _| None);
    });
    db.merge(b"k", b"1").unwrap();
    db.put(b"other", b"2").unwrap();
    assert_eq!(db.get(b"k").unwrap_err().kind(), ErrorKind::Corruption);
    assert!(db.get(b"other").unwrap().is_some());
}

#[test]
fn a_compaction_filter_decides_about_each_value() {
    let (_dir, db) = open(|options| {
        options.set_compaction_filter("test", |_level, key: &[u8], _value: &[u8]| match key.first() {
            Some(b'_') => CompactionDecision::Remove,
            Some(b'%') => CompactionDecision::Change(b"secret"),
            _ => CompactionDecision::Keep,
        });
    });
    for key in [&b"_1"[..], b"%2", b"k3"] {
        db.put(key, b"v").unwrap();
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.get(b"_1").unwrap(), None);
    assert_eq!(db.get(b"%2").unwrap().as_deref(), Some(&b"secret"[..]));
    assert_eq!(db.get(b"k3").unwrap().as_deref(), Some(&b"v"[..]));
}

#[test]
fn a_compaction_filter_that_panics_fails_its_compaction_alone() {
    let (_dir, db) = open(|options| {
        options.set_compaction_filter("panics", |_: u32, _: &[u8], _: &[u8]| panic!("no filter"));
    });
    db.put(b"k", b"v").unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"v"[..]));
}

struct Counting(u16, CString);

impl CompactionFilter for Counting {
    fn filter(&mut self, _level: u32, _key: &[u8], _value: &[u8]) -> CompactionDecision {
        self.0 += 1;
        if self.0 > 2 { CompactionDecision::Remove } else { CompactionDecision::Keep }
    }

    fn name(&self) -> &CStr {
        &self.1
    }
}

struct Factory(CString, Arc<Mutex<Vec<bool>>>);

impl CompactionFilterFactory for Factory {
    type Filter = Counting;

    fn create(&mut self, context: CompactionFilterContext) -> Counting {
        self.1.lock().unwrap().push(context.is_manual_compaction);
        Counting(0, c"counting".to_owned())
    }

    fn name(&self) -> &CStr {
        &self.0
    }
}

#[test]
fn a_factory_makes_a_filter_for_each_compaction() {
    let made = Arc::new(Mutex::new(Vec::new()));
    let (_dir, db) = open(|options| {
        options.set_compaction_filter_factory(Factory(c"factory".to_owned(), made.clone()));
    });
    for key in [b"1", b"2", b"3"] {
        db.put(key, b"v").unwrap();
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(*made.lock().unwrap(), [true]);
    let left = [b"1", b"2", b"3"].map(|key| db.get(key).unwrap().is_some());
    assert_eq!(left, [true, true, false]);
}

/// A filter that shares its limit by an `Rc`, as programs on the crate rocksdb do: neither the filter nor its factory is `Send`.
struct AtLeast(Rc<u8>, CString);

impl CompactionFilter for AtLeast {
    fn filter(&mut self, _level: u32, key: &[u8], _value: &[u8]) -> CompactionDecision {
        if key[0] < *self.0 { CompactionDecision::Remove } else { CompactionDecision::Keep }
    }

    fn name(&self) -> &CStr {
        &self.1
    }
}

struct AtLeastFactory<C>(Rc<u8>, CString, PhantomData<C>);

impl<C> CompactionFilterFactory for AtLeastFactory<C> {
    type Filter = AtLeast;

    fn create(&mut self, _: CompactionFilterContext) -> AtLeast {
        AtLeast(self.0.clone(), self.1.clone())
    }

    fn name(&self) -> &CStr {
        &self.1
    }
}

/// A generic function that knows only that its type is `'static`.
fn set_generic_factory<C: 'static>(options: &mut Options) {
    options.set_compaction_filter_factory(AtLeastFactory::<C>(
        Rc::new(5),
        c"at least".to_owned(),
        PhantomData,
    ));
}

#[test]
fn a_factory_needs_no_send() {
    let (_dir, db) = open(set_generic_factory::<Rc<()>>);
    for key in 0..10u8 {
        db.put([key], b"v").unwrap();
    }
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(db.iterator(rocksdb::IteratorMode::Start).count(), 5);
}

#[test]
fn a_comparator_orders_the_keys() {
    let (_dir, db) = open(|options| options.set_comparator("backward", Box::new(|a, b| b.cmp(a))));
    db.put(b"a", b"1").unwrap();
    db.put(b"b", b"2").unwrap();
    let first = db.iterator(rocksdb::IteratorMode::Start).next().unwrap().unwrap().0;
    assert_eq!(&*first, b"b");
}

#[test]
fn a_prefix_iterator_ends_at_its_prefix() {
    let (_dir, db) = open(|options| {
        options.set_prefix_extractor(SliceTransform::create(
            "first",
            |key| &key[..1],
            Some(|key| !key.is_empty()),
        ));
    });
    for key in [b"a1", b"a2", b"b1"] {
        db.put(key, b"").unwrap();
    }
    assert_eq!(db.prefix_iterator(b"a").count(), 2);
}

#[test]
fn a_logger_gets_the_lines_of_its_level() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let seen = lines.clone();
    let log = move |level, line: &str| seen.lock().unwrap().push((level, line.to_string()));
    let (_dir, _db) =
        open(|options| options.set_info_logger(InfoLogger::new_callback_logger(LogLevel::Info, log)));
    let lines = lines.lock().unwrap();
    assert!(lines.iter().any(|(_, line)| line.contains("Options.create_if_missing")), "{lines:?}");
    assert!(lines.iter().all(|(level, _)| *level == LogLevel::Info), "{lines:?}"); // also the header lines
}

/// Returns the key of a key with a timestamp of one byte.
fn user_key(key: &[u8]) -> &[u8] {
    &key[..key.len() - 1]
}

#[test]
fn a_file_with_timestamps_is_written_and_ingested() {
    let ordered = |options: &mut Options| {
        options.set_comparator_with_ts(
            "one byte of time",
            1,
            // The newest timestamp of a key comes first.
            Box::new(|a, b| user_key(a).cmp(user_key(b)).then_with(|| b.last().cmp(&a.last()))),
            Box::new(|a, b| a.cmp(b)),
            Box::new(|a, a_has_time, b, b_has_time| {
                let bare =
                    |key: &'_ [u8], has_time| if has_time { user_key(key).to_vec() } else { key.to_vec() };
                bare(a, a_has_time).cmp(&bare(b, b_has_time))
            }),
        );
    };
    let (dir, db) = open(ordered);
    let file = dir.path().join("external.sst");
    let mut options = Options::default();
    ordered(&mut options);
    let mut writer = SstFileWriter::create(&options);
    writer.open(&file).unwrap();
    writer.put_with_ts(b"a", [1], b"1").unwrap();
    writer.delete_with_ts(b"b", [2]).unwrap();
    assert_eq!(writer.put(b"c", b"1").unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(writer.put_with_ts(b"c", [1, 1], b"1").unwrap_err().kind(), ErrorKind::InvalidArgument);
    writer.finish().unwrap();
    db.ingest_external_file(vec![&file]).unwrap();
    let mut at = ReadOptions::default();
    at.set_timestamp([1]);
    assert_eq!(db.get_opt(b"a", &at).unwrap().as_deref(), Some(&b"1"[..]));
    at.set_timestamp([0]);
    assert_eq!(db.get_opt(b"a", &at).unwrap(), None);
}
