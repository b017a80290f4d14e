//! Ingestions into several column families, and several ingestions in one commit.

use super::*;

#[test]
fn several_families_take_their_files_in_one_commit() {
    let w = IngestDirectory::new();
    let other = w.db.create_family(FamilyDescriptor::new("other", options().family)).unwrap();
    let args = vec![
        IngestExternalFileArg::new(&w.db, [w.file("a.sst", &["a"], "1")], &how()),
        IngestExternalFileArg::new(&other, [w.file("b.sst", &["b"], "2")], &how()),
    ];
    w.db.ingest_external_files_with(args).unwrap();
    assert_eq!(w.get("a").as_deref(), Some("1"));
    assert_eq!(other.get(b"b").unwrap().as_deref(), Some(&b"2"[..]));

    let args = vec![
        IngestExternalFileArg::new(&w.db, [w.file("c.sst", &["c"], "1")], &how()),
        IngestExternalFileArg::new(&other, [w.dir().join("missing.sst")], &how()),
    ];
    let error = w.db.ingest_external_files_with(args).unwrap_err();
    assert!(error.to_string().contains("missing.sst"), "{error}");
    assert_eq!((w.get("c"), w.names(".sst")), (None, 2));
}

#[test]
fn handles_of_one_column_family_are_committed_as_one_ingestion() {
    let w = IngestDirectory::new();
    let cold = w.db.create_family(FamilyDescriptor::new("cold", options().family)).unwrap();
    let prepare = |family: &Family, path: &PathBuf, how: &IngestExternalFileOptions| {
        w.db.prepare_file_ingestion(vec![IngestExternalFileArg::new(family, [path], how)]).unwrap()
    };
    let (one, two) = (w.file("1.sst", &["a", "b"], "one"), w.file("2.sst", &["b", "c"], "two"));
    let handles = vec![
        prepare(&w.db, &one, &how()),
        prepare(&cold, &w.file("3.sst", &["x"], "cold"), &how()),
        prepare(&w.db, &two, &how()),
    ];
    assert_eq!(w.get("a"), None);
    FileIngestionHandle::commit_together(handles).unwrap();
    assert_eq!(["a", "b", "c"].map(|key| w.get(key).unwrap()), ["one", "two", "two"]);
    assert!(cold.get(b"x").unwrap().is_some());
    // The order of the list decides, not the order of the first phases.
    let (first, second) = (prepare(&w.db, &one, &how()), prepare(&w.db, &two, &how()));
    FileIngestionHandle::commit_together(vec![second, first]).unwrap();
    assert_eq!(w.get("b").unwrap(), "one");
    w.db.close().unwrap();
    let families = vec![
        FamilyDescriptor::new("default", options().family),
        FamilyDescriptor::new("cold", options().family),
    ];
    let again = Db::open_with_families(w.dir().join("data"), options(), families).unwrap();
    assert_eq!(again.get(b"b").unwrap().as_deref(), Some(&b"one"[..]));
}

#[test]
fn handles_that_do_not_fit_together_are_rolled_back() {
    let (w, other) = (IngestDirectory::new(), IngestDirectory::new());
    let path = w.file("1.sst", &["a", "b"], "one");
    let prepare = |how: &IngestExternalFileOptions, replace| {
        let mut arg = IngestExternalFileArg::new(&w.db, [&path], how);
        arg.atomic_replace_range = replace;
        w.db.prepare_file_ingestion(vec![arg]).unwrap()
    };
    let foreign =
        other.db.prepare_file_ingestion(vec![IngestExternalFileArg::new(&other.db, [&path], &how())]);
    let linked = IngestExternalFileOptions { link_files: true, ..how() };
    let uncached = IngestExternalFileOptions { fill_cache: false, ..how() };
    let alone = IngestExternalFileOptions { allow_global_seqno: false, allow_blocking_flush: false, ..how() };
    let now = IngestExternalFileOptions { snapshot_consistency: false, ..how() };
    let cases: [(Vec<FileIngestionHandle>, Kind, &str); 6] = [
        (Vec::new(), Kind::InvalidArgument, "no file ingestion handles to commit"),
        (vec![prepare(&how(), None), foreign.unwrap()], Kind::InvalidArgument, "different databases"),
        (vec![prepare(&how(), None), prepare(&linked, None)], Kind::InvalidArgument, "the same Ingest"),
        (vec![prepare(&how(), None), prepare(&uncached, None)], Kind::InvalidArgument, "fill cache arg"),
        (
            vec![prepare(&alone, None), prepare(&alone, None)],
            Kind::InvalidArgument,
            "Global seqno is required",
        ),
        (
            vec![prepare(&now, None), prepare(&now, Some(ReplaceRange::All))],
            Kind::NotSupported,
            "atomic_replace_range is used",
        ),
    ];
    for (handles, kind, words) in cases {
        let error = FileIngestionHandle::commit_together(handles).unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains(words)), (kind, true), "{error}");
    }
    assert_eq!((w.names(".sst"), other.names(".sst"), w.get("a")), (0, 0, None));
}

/// RocksDB accepts such a list too.
#[test]
fn one_ingestion_is_behind_in_one_column_family_and_not_in_another() {
    let w = IngestDirectory::with(
        "allow_ingest_behind=true;num_levels=3;compaction_style=kCompactionStyleUniversal",
    );
    let mut family = options().family;
    family.num_levels = 3;
    let cold = w.db.create_family(FamilyDescriptor::new("cold", family)).unwrap();
    w.db.put(b"a", b"newer").unwrap();
    w.db.flush().unwrap();
    let behind = IngestExternalFileOptions { ingest_behind: true, ..how() };
    w.db.ingest_external_files_with(vec![
        IngestExternalFileArg::new(&w.db, [w.file("1.sst", &["a"], "behind")], &behind),
        IngestExternalFileArg::new(&cold, [w.file("2.sst", &["a"], "new")], &how()),
    ])
    .unwrap();
    assert_eq!(w.get("a").as_deref(), Some("newer"));
    assert_eq!(cold.get(b"a").unwrap().as_deref(), Some(&b"new"[..]));
}
