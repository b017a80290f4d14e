//! Wide columns and attribute groups.

use base::SequenceNumber;
use ironstone::{
    Db, Family, FamilyDescriptor, FamilyOptions, Kind, Options, ReadOptions, Subcode, WriteBatch,
    WriteOptions,
};

type Columns<'a> = &'a [(&'a [u8], &'a [u8])];

fn shown(db: &Family, key: &[u8]) -> String {
    format!("{:?}", db.get_entity(key).unwrap())
}

#[test]
fn columns_survive_flush_compaction_and_reopen_in_the_order_of_their_names() {
    let options = Options::in_memory();
    let db = Db::open("data", options.clone()).unwrap();
    db.put_entity(b"k", &[(b"b", b"2"), (b"", b"0"), (b"a", b"1")]).unwrap();
    let wanted = r#"Some({"": "0", "a": "1", "b": "2"})"#;
    assert_eq!(shown(&db, b"k"), wanted);
    db.compact_range(None, None, &Default::default()).unwrap();
    assert_eq!(shown(&db, b"k"), wanted);
    drop(db);
    let db = Db::open("data", options).unwrap();
    assert_eq!(shown(&db, b"k"), wanted);
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b"0"[..]));
    let mut iter = db.iter().unwrap();
    iter.seek_to_first();
    assert_eq!(format!("{:?}", iter.wide_columns().unwrap()), &wanted[5..wanted.len() - 1]);
}

#[test]
fn an_entity_without_default_column_reads_as_an_empty_value() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    db.put_entity(b"k", &[(b"a", b"1")]).unwrap();
    assert_eq!(db.get(b"k").unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(db.get_entity(b"k").unwrap().unwrap().default_column(), b"");
    db.put_entity(b"none", &[]).unwrap();
    assert!(db.get_entity(b"none").unwrap().unwrap().is_empty());
}

#[test]
fn two_columns_of_one_name_are_an_error_and_write_nothing() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let error = db.put_entity(b"k", &[(b"a", b"1"), (b"a", b"2")]).unwrap_err();
    assert_eq!(error.kind(), Kind::Corruption);
    assert!(db.get_entity(b"k").unwrap().is_none());
}

#[test]
fn a_merge_changes_the_default_column_alone() {
    let mut options = Options::in_memory();
    options.update("merge_operator=stringappend").unwrap();
    let db = Db::open("data", options).unwrap();
    db.put_entity(b"k", &[(b"", b"x"), (b"a", b"1")]).unwrap();
    db.merge(b"k", b"y").unwrap();
    assert_eq!(shown(&db, b"k"), r#"Some({"": "x,y", "a": "1"})"#);
    let found = db.multi_get_entity(&[b"k", b"absent"], &ReadOptions::default());
    assert_eq!(format!("{found:?}"), r#"[Ok(Some({"": "x,y", "a": "1"})), Ok(None)]"#);
}

#[test]
fn entities_of_rocksdb_read_column_by_column() {
    let golden = testkit::golden::load("wide");
    let scratch = golden.copy();
    let db = Db::open(scratch.path(), Options::default()).unwrap();
    let mut iter = db.iter().unwrap();
    iter.seek_to_first();
    let (mut entities, mut plain) = (0, 0);
    while iter.valid() {
        let columns = iter.wide_columns().unwrap();
        assert_eq!(db.get_entity(iter.key()).unwrap().unwrap(), columns);
        assert_eq!(columns.default_column(), iter.value());
        if columns.iter().eq([(&b""[..], iter.value())]) {
            plain += 1
        } else {
            entities += 1
        }
        iter.next();
    }
    iter.status().unwrap();
    assert!(entities > 0, "{entities} entities, {plain} plain values");
}

fn hot_and_cold() -> (Db, Vec<Family>) {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let named = |name: &str| FamilyDescriptor::new(name, FamilyOptions::default());
    let families = db.create_families(vec![named("hot"), named("cold")]).unwrap();
    let both: [(&Family, Columns<'_>); 2] =
        [(&families[0], &[(b"a", b"1"), (b"b", b"2")]), (&families[1], &[(b"b", b"3"), (b"c", b"4")])];
    db.put_entity_groups(b"k1", &both, &WriteOptions::default()).unwrap();
    families[1].put_entity(b"k2", &[(b"c", b"5")]).unwrap();
    families[0].put(b"k3", b"plain").unwrap();
    families[0].flush().unwrap();
    (db, families)
}

#[test]
fn an_iterator_over_families_joins_columns_and_keeps_groups_in_both_directions() {
    let (db, families) = hot_and_cold();
    let mut iter = db.coalescing_iter(&families, &ReadOptions::default()).unwrap();
    let line = |iter: &ironstone::FamiliesIter| {
        let columns: Vec<_> = iter
            .columns()
            .unwrap()
            .iter()
            .map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii()))
            .collect();
        let groups: Vec<_> =
            iter.groups().unwrap().iter().map(|group| group.family.name().to_string()).collect();
        format!("{} {} [{}]", iter.key().escape_ascii(), columns.join(" "), groups.join(" "))
    };
    let rows = ["k1 a=1 b=3 c=4 [hot cold]", "k2 c=5 [cold]", "k3 =plain [hot]"];
    iter.seek_to_first();
    for row in rows {
        assert_eq!(line(&iter), row);
        iter.next();
    }
    assert!(!iter.valid());
    iter.seek_to_last();
    for row in rows.iter().rev() {
        assert_eq!(line(&iter), *row);
        iter.prev();
    }
    assert!(!iter.valid());
    // Change the direction in the middle.
    iter.seek(b"k2");
    iter.prev();
    assert_eq!(line(&iter), rows[0]);
    iter.next();
    assert_eq!(line(&iter), rows[1]);
    iter.next();
    iter.prev();
    assert_eq!(line(&iter), rows[1]);
    iter.seek_for_prev(b"k2a");
    assert_eq!(line(&iter), rows[1]);
    iter.status().unwrap();
}

#[test]
fn families_of_other_orders_or_none_have_no_common_iterator() {
    let (db, families) = hot_and_cold();
    let none = db.coalescing_iter(&[], &ReadOptions::default()).err().unwrap();
    assert_eq!(none.kind(), Kind::InvalidArgument);
    let mut reverse = Options::default();
    reverse.update("comparator=rocksdb.ReverseBytewiseComparator").unwrap();
    let reversed = db.create_family(FamilyDescriptor::new("reversed", reverse.family)).unwrap();
    let mixed = db.coalescing_iter(&[families[0].clone(), reversed], &ReadOptions::default());
    assert_eq!(mixed.err().unwrap().kind(), Kind::InvalidArgument);
}

#[test]
fn a_batch_beyond_its_limit_is_not_written_and_a_rollback_makes_it_fit() {
    let db = Db::open("data", Options::in_memory()).unwrap();
    let mut batch = WriteBatch::with_max_bytes(40);
    batch.put(b"a", b"1");
    batch.set_save_point();
    batch.put(b"b", &[0; 40]);
    assert_eq!(batch.status().unwrap_err().subcode(), Subcode::MemoryLimit);
    assert_eq!(db.write(&mut batch).unwrap_err().subcode(), Subcode::MemoryLimit);
    batch.rollback_to_save_point().unwrap();
    db.write(&mut batch).unwrap();
    assert!(db.get(b"a").unwrap().is_some());
    assert!(db.get(b"b").unwrap().is_none());
}

#[test]
fn records_after_the_wal_termination_point_are_in_memtables_alone() {
    let mut options = Options::in_memory();
    options.db.avoid_flush_during_shutdown = true;
    let db = Db::open("data", options.clone()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1");
    batch.mark_wal_termination_point();
    batch.put(b"b", b"2").put(b"c", b"3");
    db.write(&mut batch).unwrap();
    db.put(b"d", b"4").unwrap();
    assert_eq!(db.latest_sequence(), SequenceNumber::new(4));
    assert!(db.get(b"b").unwrap().is_some());
    db.close().unwrap();
    let db = Db::open("data", options).unwrap();
    let keys: Vec<_> = db.rows().map(|row| row.unwrap().0).collect();
    assert_eq!(keys, [b"a", b"d"]);
}

#[test]
fn a_rollback_below_the_wal_termination_point_moves_the_point_to_the_save_point() {
    let mut options = Options::in_memory();
    options.db.avoid_flush_during_shutdown = true;
    let db = Db::open("data", options.clone()).unwrap();
    let mut batch = WriteBatch::new();
    batch.put(b"a", b"1");
    batch.set_save_point();
    batch.put(b"b", b"2");
    batch.mark_wal_termination_point();
    batch.rollback_to_save_point().unwrap();
    assert_eq!(batch.wal_termination_point(), Some((batch.data_size(), 1)));
    // This record is longer than the removed record.
    batch.put(b"c", &[b'3'; 100]);
    db.write(&mut batch).unwrap();
    db.put(b"d", b"4").unwrap();
    db.close().unwrap();
    let db = Db::open("data", options).unwrap();
    let keys: Vec<_> = db.rows().map(|row| row.unwrap().0).collect();
    assert_eq!(keys, [b"a", b"d"]);
}
