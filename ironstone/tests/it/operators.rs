//! Merge operators with additional answers: operands can decide a lookup alone, and a single operand can be worth a
//! partial merge. The cost of a key with very many operands is the cost of its operands.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ironstone::{
    Associative, AssociativeMergeOperator, CompactRangeOptions, Db, FullMerge, MergeFailure, MergeOperator,
    Merged, Options, Pinned, ReadOptions, Subcode,
};

/// A merge operator that joins operands with commas. An operand that starts with `!` decides a lookup. The operand
/// `panic` panics. A partial merge puts a single operand into brackets.
#[derive(Default)]
struct Settles {
    /// The largest number of operands that `should_merge` got.
    shown: AtomicUsize,
}

impl MergeOperator for Settles {
    fn name(&self) -> &str {
        "test.Settles"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Result<Merged, MergeFailure> {
        *out = merge.operands.join(&b","[..]);
        Ok(Merged::New)
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        out.push(b'[');
        out.extend(operands.join(&b","[..]));
        out.push(b']');
        true
    }

    fn allow_single_operand(&self) -> bool {
        true
    }

    fn should_merge(&self, newest_first: &[Pinned]) -> bool {
        self.shown.fetch_max(newest_first.len(), Ordering::Relaxed);
        let oldest = newest_first.last().expect("asked with an operand");
        assert_ne!(&**oldest, b"panic");
        oldest.starts_with(b"!")
    }
}

fn open(path: &std::path::Path, operator: Arc<dyn MergeOperator>) -> Db {
    let mut options = Options::default();
    options.update("create_if_missing=true;disable_auto_compactions=true").unwrap();
    options.family.merge_operator = Some(operator);
    Db::open(path, options).unwrap()
}

fn value(db: &Db, key: &[u8]) -> String {
    let one = db.get(key).unwrap().expect("there");
    let many = db.multi_get(&[key]).pop().unwrap().unwrap().expect("there");
    assert_eq!(one, many);
    String::from_utf8_lossy(&one).into_owned()
}

#[test]
fn operands_that_settle_a_look_up_end_it_in_memory_and_across_tables() {
    for flush in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let operator = Arc::new(Settles::default());
        let db = open(scratch.path(), operator.clone());
        for operand in ["old", "!reset", "1", "2"] {
            db.merge(b"k", operand.as_bytes()).unwrap();
            if flush {
                db.flush().unwrap();
            }
        }
        let told = value(&db, b"k");
        // Each operand has its own memtable, so a flush writes a partial merge of one operand.
        assert_eq!(told, if flush { "[old],[!reset],[1],[2]" } else { "!reset,1,2" });
        assert_eq!(operator.shown.load(Ordering::Relaxed), if flush { 4 } else { 3 });
        // Scans and `get_merge_operands` still use all operands.
        assert_eq!(db.get_merge_operands(b"k", &ReadOptions::default()).unwrap().len(), 4);
        let row = db.rows().next().unwrap().unwrap();
        assert_eq!(row.1.iter().filter(|&&b| b == b',').count(), 3);
    }
}

#[test]
fn a_get_does_not_read_older_tables_after_it_found_the_answer() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path(), Arc::new(NewestWins));
    for operand in [b"1", b"2", b"3"] {
        db.merge(b"k", operand).unwrap();
        db.flush().unwrap();
    }
    // Damage the rows of the oldest SST file. A read that stops before this file does not see the damage.
    drop(db);
    let db = open(scratch.path(), Arc::new(NewestWins));
    let mut tables: Vec<_> = std::fs::read_dir(scratch.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "sst"))
        .collect();
    tables.sort();
    let mut bytes = std::fs::read(&tables[0]).unwrap();
    bytes[..16].fill(0);
    std::fs::write(&tables[0], bytes).unwrap();
    assert_eq!(value(&db, b"k"), "3");
    assert!(db.get_merge_operands(b"k", &ReadOptions::default()).is_err());
}

/// A merge operator that acts as `put`: it needs no older value.
struct NewestWins;

impl MergeOperator for NewestWins {
    fn name(&self) -> &str {
        "test.NewestWins"
    }

    fn full(&self, merge: &FullMerge<'_>, _: &mut Vec<u8>) -> Result<Merged, MergeFailure> {
        Ok(Merged::Operand(merge.operands.len() - 1))
    }

    fn should_merge(&self, _: &[Pinned]) -> bool {
        true
    }
}

#[test]
fn a_panic_in_should_merge_is_an_error_of_the_look_up() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path(), Arc::new(Settles::default()));
    db.merge(b"bad", b"panic").unwrap();
    db.merge(b"good", b"1").unwrap();
    let error = db.get(b"bad").unwrap_err();
    assert_eq!(error.subcode(), Subcode::MergeOperatorFailed);
    let answers = db.multi_get(&[&b"bad"[..], b"good"]);
    assert_eq!(answers[0].as_ref().unwrap_err().subcode(), Subcode::MergeOperatorFailed);
    assert_eq!(answers[1].as_ref().unwrap().as_deref(), Some(&b"1"[..]));
}

/// An associative merge operator of the application: keeps the longest value.
struct Longest;

impl AssociativeMergeOperator for Longest {
    fn name(&self) -> &str {
        "test.Longest"
    }

    fn merge(&self, _key: &[u8], existing: Option<&[u8]>, operand: &[u8], out: &mut Vec<u8>) -> bool {
        let existing = existing.unwrap_or_default();
        out.extend_from_slice(if operand.len() > existing.len() { operand } else { existing });
        true
    }
}

#[test]
fn an_associative_operator_is_one_function() {
    let scratch = tempfile::tempdir().unwrap();
    let db = open(scratch.path(), Arc::new(Associative(Longest)));
    db.put(b"k", b"base").unwrap();
    for operand in [&b"a"[..], b"longest of all", b"bb"] {
        db.merge(b"k", operand).unwrap();
        db.merge(b"without", operand).unwrap();
        db.flush().unwrap();
        assert!(db.get(b"k").unwrap().unwrap().len() >= operand.len());
    }
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    assert_eq!(value(&db, b"k"), "longest of all");
    assert_eq!(value(&db, b"without"), "longest of all");
}

#[test]
fn a_look_up_of_a_key_with_many_operands_takes_memory_by_their_number() {
    let scratch = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.update("create_if_missing=true;merge_operator=max").unwrap();
    let db = Db::open(scratch.path(), options).unwrap();
    let operands = 4000u64;
    for i in 0..operands {
        db.merge(b"k", &i.to_be_bytes()).unwrap();
    }
    let mut found = None;
    let used = allocation_counter::measure(|| found = db.get(b"k").unwrap());
    assert_eq!(found.as_deref(), Some(&(operands - 1).to_be_bytes()[..]));
    assert!(used.bytes_total < 300 * operands, "{} bytes for {operands} operands", used.bytes_total);
}
