//! Ingestion by file infos: the ingestion does not open the files, and its result is that of an ingestion that reads the files.

use std::path::Path;
use std::sync::Arc;

use env::meter::{FileKind, MeterFs};
use ironstone::env::Op;
use ironstone::{
    Db, IngestExternalFileArg, IngestExternalFileOptions, Kind, LiveFile, Options, PreparedFileInfo,
    SstFileWriter,
};

use super::{how, options};

/// A database whose file system counts calls.
struct Counted {
    db: Db,
    meter: Arc<MeterFs>,
}

impl Counted {
    fn open(path: &Path, options: &Options) -> Counted {
        let mut options = options.clone();
        let meter = MeterFs::wrap(options.db.env.fs.clone());
        options.db.env.fs = meter.clone();
        Counted { db: Db::open(path, options).unwrap(), meter }
    }

    /// Ingests a file. Returns the opens of SST files.
    fn ingest(
        &self,
        path: &Path,
        info: Option<&Arc<PreparedFileInfo>>,
        how: &IngestExternalFileOptions,
    ) -> u64 {
        let before = self.meter.hook().count(FileKind::Table, Op::Open).calls;
        ingest(&self.db, path, info, how).unwrap();
        self.meter.hook().count(FileKind::Table, Op::Open).calls - before
    }
}

fn ingest(
    db: &Db,
    path: &Path,
    info: Option<&Arc<PreparedFileInfo>>,
    how: &IngestExternalFileOptions,
) -> ironstone::Result<()> {
    let mut arg = IngestExternalFileArg::new(db, [path], how);
    arg.file_infos = info.into_iter().cloned().collect();
    db.ingest_external_files_with(vec![arg])
}

/// Writes a file, and returns its info.
fn write(path: &Path, options: &Options, fill: impl FnOnce(&mut SstFileWriter)) -> Arc<PreparedFileInfo> {
    let mut file = SstFileWriter::create(path, &options.db, &options.family).unwrap();
    fill(&mut file);
    file.finish().unwrap().prepared_file_info.unwrap()
}

/// The facts of a live file without its number, path and times.
fn facts(db: &Db) -> Vec<LiveFile> {
    let same = |file: LiveFile| LiveFile {
        number: base::FileNumber::new(0),
        path: "".into(),
        oldest_ancestor_time: 0,
        file_creation_time: 0,
        ..file
    };
    db.live_files().into_iter().map(same).collect()
}

type Fill = fn(&mut SstFileWriter);

/// Option text, and the entries of a file.
const FILES: &[(&str, Fill)] = &[
    ("", |file| {
        file.put(b"b", b"1").unwrap();
        file.merge(b"c", b"2").unwrap();
        file.delete(b"d").unwrap();
    }),
    ("", |file| file.delete_range(b"c", b"x").unwrap()),
    ("", |file| {
        file.delete_range(b"m", b"p").unwrap();
        file.delete_range(b"a", b"c").unwrap();
        file.put(b"b", b"1").unwrap();
        file.put(b"z", b"1").unwrap();
    }),
    ("", |file| {
        file.put(b"b", b"1").unwrap();
        file.delete_range(b"b", b"b\0").unwrap();
        file.delete_range(b"a", b"zz").unwrap();
    }),
    ("table_factory=PlainTable", |file| file.put(b"b", b"1").unwrap()),
    ("table_factory=CuckooTable", |file| file.put(b"b", b"1").unwrap()),
    (STAMPED, |file| {
        file.put_with_ts(b"m", &7u64.to_le_bytes(), b"1").unwrap();
        file.delete_range_with_ts(b"c", b"d", &9u64.to_le_bytes()).unwrap();
        file.delete_range_with_ts(b"c", b"x", &8u64.to_le_bytes()).unwrap();
    }),
    (IN_MEMORY, |file| {
        file.put_with_ts(b"m", &0u64.to_le_bytes(), b"1").unwrap();
        file.delete_range_with_ts(b"c", b"x", &0u64.to_le_bytes()).unwrap();
    }),
    (IN_MEMORY, |file| file.delete_range_with_ts(b"c", b"x", &0u64.to_le_bytes()).unwrap()),
];

const STAMPED: &str = "comparator=leveldb.BytewiseComparator.u64ts;merge_operator=nullptr";
const IN_MEMORY: &str = "comparator=leveldb.BytewiseComparator.u64ts;merge_operator=nullptr;\
                         persist_user_defined_timestamps=false;allow_concurrent_memtable_write=false";

#[test]
fn an_info_gives_what_a_read_of_the_file_gives() {
    for (at, (text, fill)) in FILES.iter().enumerate() {
        let scratch = tempfile::tempdir().unwrap();
        let mut options = options();
        options.update(text).unwrap();
        let path = scratch.path().join("new.sst");
        let info = write(&path, &options, fill);
        for links in [false, true] {
            let how = IngestExternalFileOptions { link_files: links, ..how() };
            let [read, told] = ["read", "told"].map(|name| {
                let dir = scratch.path().join(format!("{name}{links}"));
                Counted::open(&dir, &options)
            });
            let opens = [read.ingest(&path, None, &how), told.ingest(&path, Some(&info), &how)];
            assert_eq!(opens[0], opens[1] + 1, "file {at}: {opens:?} opens");
            assert_eq!(facts(&read.db), facts(&told.db), "file {at} {text}");
            assert_eq!(facts(&read.db).len(), 1);
        }
    }
}

#[test]
fn entries_of_a_file_with_an_info_are_newer_than_the_entries_before() {
    let scratch = tempfile::tempdir().unwrap();
    let world = Counted::open(&scratch.path().join("data"), &options());
    for key in ["a", "b", "c", "d"] {
        world.db.put(key.as_bytes(), b"old").unwrap();
    }
    world.db.flush().unwrap();
    world.db.put(b"d", b"memtable").unwrap();
    let path = scratch.path().join("new.sst");
    let info = write(&path, &options(), |file| {
        file.delete_range(b"b", b"c").unwrap();
        file.put(b"c", b"new").unwrap();
        file.put(b"d", b"new").unwrap();
    });
    let snapshot = world.db.snapshot();
    let verify = IngestExternalFileOptions { verify_checksums_before_ingest: true, ..how() };
    world.ingest(&path, Some(&info), &verify);
    let rows = |db: &Db| {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let rows = db.rows().map(|row| row.map(|(key, value)| text(&key) + "=" + &text(&value)));
        rows.collect::<ironstone::Result<Vec<_>>>().unwrap()
    };
    assert_eq!(rows(&world.db), ["a=old", "c=new", "d=new"]);
    assert_eq!(snapshot.get(b"b").unwrap().as_deref(), Some(&b"old"[..]));
    drop(snapshot);
    world.db.close().unwrap();
    let again = Db::open(scratch.path().join("data"), options()).unwrap();
    assert_eq!(rows(&again), ["a=old", "c=new", "d=new"]);
}

#[test]
fn a_file_of_a_database_is_ingested_by_its_info() {
    let scratch = tempfile::tempdir().unwrap();
    let from = Db::open(scratch.path().join("from"), options()).unwrap();
    from.put(b"a", b"1").unwrap();
    from.put(b"b", b"1").unwrap();
    from.delete_range(b"b", b"k").unwrap();
    from.flush().unwrap();
    let file = &from.live_files()[0];
    let info = from.prepared_file_info_for_external_sst_ingestion(&file.path).unwrap();
    assert_eq!(info.file_size(), file.size);
    assert_eq!(info.properties().key_largest_seqno, file.largest_sequence.get());
    let generated = IngestExternalFileOptions { allow_db_generated_files: true, ..how() };
    let [read, told] = ["read", "told"].map(|name| Counted::open(&scratch.path().join(name), &options()));
    let opens = [read.ingest(&file.path, None, &generated), told.ingest(&file.path, Some(&info), &generated)];
    assert_eq!(opens[0], opens[1] + 1);
    assert_eq!(facts(&read.db), facts(&told.db));
    assert_eq!(told.db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(told.db.get(b"b").unwrap(), None);
    let error = ingest(&told.db, &file.path, Some(&info), &how()).unwrap_err();
    assert!(error.to_string().contains("External file version not found"), "{error}");
}

#[test]
fn a_path_that_is_not_of_a_live_file_has_no_info() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("data");
    let db = Db::open(&dir, options()).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    let path = db.live_files()[0].path.clone();
    let name = Path::new(path.file_name().unwrap());
    let fails = |path: &Path| db.prepared_file_info_for_external_sst_ingestion(path).unwrap_err();
    let expect = |path: &Path, kind, words: &str| {
        let error = fails(path);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    expect(name, Kind::InvalidArgument, "Path does not match live table file: ");
    expect(&scratch.path().join(name), Kind::InvalidArgument, "Path does not match live table file: ");
    expect(&dir.join("CURRENT"), Kind::InvalidArgument, "Invalid table file name: ");
    expect(Path::new("/"), Kind::InvalidArgument, "Invalid table file name: ");
    expect(&dir.join("000777.sst"), Kind::NotFound, "File not present in any level");
    assert!(db.prepared_file_info_for_external_sst_ingestion(&path).is_ok());
}

#[test]
fn infos_that_do_not_fit_the_files_are_rejected() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path().join("data"), options()).unwrap();
    let [first, second] = ["1.sst", "2.sst"].map(|name| scratch.path().join(name));
    let info = write(&first, &options(), |file| file.put(b"a", b"1").unwrap());
    write(&second, &options(), |file| file.put(b"a", &[b'v'; 1000]).unwrap());
    let expect = |arg: IngestExternalFileArg, kind, words: &str| {
        let error = db.ingest_external_files_with(vec![arg]).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(db.live_files().is_empty());
    };
    let with = |files: &[&Path], options: &IngestExternalFileOptions| {
        let arg = IngestExternalFileArg::new(&db, files, options);
        IngestExternalFileArg { file_infos: vec![info.clone()], ..arg }
    };
    let count = "file_infos[0] size must match external_files[0] size";
    expect(with(&[&first, &second], &how()), Kind::InvalidArgument, count);
    let writes = IngestExternalFileOptions { write_global_seqno: true, ..how() };
    expect(
        with(&[&first], &writes),
        Kind::InvalidArgument,
        "write_global_seqno is not supported when file_infos is set",
    );
    expect(with(&[&second], &how()), Kind::InvalidArgument, "the info describes another file");
    expect(with(&[&scratch.path().join("missing.sst")], &how()), Kind::IoError, "missing.sst");
}

#[test]
fn a_damaged_file_with_an_info_is_found_if_checksums_are_verified() {
    let scratch = tempfile::tempdir().unwrap();
    let db = Db::open(scratch.path().join("data"), options()).unwrap();
    let path = scratch.path().join("new.sst");
    let info = write(&path, &options(), |file| {
        (0..100u8).for_each(|key| file.put(&[key], b"value").unwrap());
    });
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[64] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let verify = IngestExternalFileOptions { verify_checksums_before_ingest: true, ..how() };
    let error = ingest(&db, &path, Some(&info), &verify).unwrap_err();
    assert_eq!(error.kind(), Kind::Corruption, "{error}");
    assert!(error.to_string().contains("new.sst"), "{error}");
    assert!(db.live_files().is_empty());
}

#[test]
fn a_file_with_references_to_blob_files_is_rejected_by_its_info() {
    let scratch = tempfile::tempdir().unwrap();
    let mut blobs = options();
    blobs.update("enable_blob_files=true").unwrap();
    let from = Db::open(scratch.path().join("from"), blobs).unwrap();
    from.put(b"a", b"1").unwrap();
    from.flush().unwrap();
    let path = from.live_files()[0].path.clone();
    let info = from.prepared_file_info_for_external_sst_ingestion(&path).unwrap();
    let to = Db::open(scratch.path().join("to"), options()).unwrap();
    let generated = IngestExternalFileOptions { allow_db_generated_files: true, ..how() };
    let error = ingest(&to, &path, Some(&info), &generated).unwrap_err();
    assert_eq!(error.kind(), Kind::NotSupported, "{error}");
    assert!(to.live_files().is_empty());
}
