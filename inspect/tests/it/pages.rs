//! Opens every page of the golden databases, sound and damaged.

use std::path::Path;

use base::SequenceNumber;
use base::{EpochNumber, FileNumber, Level, WalNumber};
use env::Env;
use ironstone_inspect::model::{Budget, Weight, load, load_after};
use ironstone_inspect::walk::{LogKind, Sst, record_tree, records};

use ironstone_inspect::web::pages::Site;
use ironstone_inspect::web::server::Server;

use crate::client::{content, golden, serve, sound_databases, start};

/// The pages that need no parameter.
const PAGES: [&str; 13] = [
    "/",
    "/live",
    "/disk",
    "/compare",
    "/tree",
    "/files",
    "/logs",
    "/options",
    "/options?all=1",
    "/memory",
    "/tombstones",
    "/activity",
    "/doctor",
];

#[test]
fn sound_databases_have_no_problem_and_all_their_tables_are_read() {
    for dir in sound_databases() {
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        let db = load(&Env::posix(), &dir, &Budget::COMMAND).unwrap();
        let bad: Vec<_> = db.problems.iter().filter(|p| p.weight != Weight::Note).collect();
        assert!(bad.is_empty(), "{name}: {bad:?}");
        assert_eq!(db.tables_read, db.sst_count(), "{name}");
        assert!(db.knows_options(), "{name}");
    }
}

#[test]
fn pages_show_the_tree_down_to_entries_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("levels");
    std::fs::create_dir(&path).unwrap();
    for (name, bytes) in content(&golden("levels")) {
        std::fs::write(path.join(name), bytes).unwrap();
    }
    let before = content(&path);
    let site = serve(&path);
    for page in PAGES {
        let reply = site.page(page);
        assert_eq!(reply.status, 200, "{page}: {}", reply.body);
        assert!(reply.body.contains("<main id=\"main\">"), "{page}");
    }
    let env = Env::posix();
    let db = load(&env, &path, &Budget::PAGE).unwrap();
    let tree = site.page("/tree").body;
    for file in &db.families[0].files {
        assert!(tree.contains(&format!("/file?number={}\"", file.number)), "file {}", file.number);
        let blocks = Sst::open(&env, &path, file.number).unwrap().blocks(0, 1000).unwrap();
        let shown = site.page(&format!("/file?number={}", file.number)).body;
        assert!(shown.contains("Data blocks"), "{shown}");
        let mut entries = 0;
        for block in 0..blocks.total {
            let (rows, more) =
                Sst::open(&env, &path, file.number).unwrap().entries(block, 0, 100_000).unwrap();
            assert!(!more && !rows.is_empty());
            entries += rows.len() as u64;
            let shown = site.page(&format!("/block?number={}&block={block}", file.number)).body;
            assert!(
                shown.contains(&format!("<td class=\"num\">{}</td>", ironstone_count(rows[0].seq))),
                "{shown}"
            );
        }
        // Each entry is in exactly one block.
        let stats = file.stats.as_ref().unwrap();
        assert_eq!(entries, stats.entries - stats.range_deletions, "file {}", file.number);
    }
    assert_eq!(content(&path), before);
}

fn ironstone_count(n: u64) -> String {
    let digits = n.to_string();
    let first = digits.len() % 3;
    let mut groups: Vec<String> = Vec::new();
    if first > 0 {
        groups.push(digits[..first].to_string());
    }
    groups.extend(digits.as_bytes()[first..].chunks(3).map(|c| String::from_utf8_lossy(c).into_owned()));
    groups.join(",")
}

#[test]
fn records_of_wal_and_manifest_are_searched_and_annotated() {
    let env = Env::posix();
    let dir = golden("atomic-flush");
    let db = load(&env, &dir, &Budget::PAGE).unwrap();
    let manifest = db.manifest.as_ref().unwrap().number;
    let all = records(&env, &dir, LogKind::Manifest, manifest, 0, "", 1000).unwrap();
    assert_eq!(all.rows.len() as u64, db.manifest.as_ref().unwrap().edits, "{all:?}");
    let added = records(&env, &dir, LogKind::Manifest, manifest, 0, "add file", 1000).unwrap();
    assert!(!added.rows.is_empty() && added.rows.len() < all.rows.len());
    for row in &added.rows {
        let tree = record_tree(&env, &dir, LogKind::Manifest, manifest, row.offset).unwrap();
        assert!(tree.len() > 3, "{tree:?}");
    }
    // A walk in pages returns the same records.
    let (mut from, mut paged) = (0, Vec::new());
    loop {
        let page = records(&env, &dir, LogKind::Manifest, manifest, from, "", 2).unwrap();
        paged.extend(page.rows);
        match page.next {
            Some(next) => from = next,
            None => break,
        }
    }
    assert_eq!(paged, all.rows);
    let wal = db.files.iter().find(|f| f.name.ends_with(".log") && f.size > 0).unwrap().number;
    let writes = records(&env, &dir, LogKind::Wal, wal, 0, "", 1000).unwrap();
    assert!(writes.rows.iter().all(|row| row.text.starts_with("sequence ") && !row.is_fault), "{writes:?}");
    let site = serve(&dir);
    let shown = site.page(&format!("/wal?number={wal}&find=put")).body;
    assert!(shown.contains("put "), "{shown}");
    let record = site.page(&format!("/record?number={wal}&offset={}", writes.rows[0].offset)).body;
    assert!(record.contains("sequence"), "{record}");
}

#[test]
fn note_that_the_engine_adds_to_a_write_is_a_sentence() {
    use ironstone::{Db, Options, WriteOptions};
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.db.create_if_missing = true;
    let db = Db::open(dir.path(), options).unwrap();
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    (0..3_u8).for_each(|n| db.put_with(&[n], b"value", &synced).unwrap());
    db.flush().unwrap();
    db.put_with(b"k", b"value", &synced).unwrap();
    let facts = load(&Env::posix(), dir.path(), &Budget::PAGE).unwrap();
    let site = serve(dir.path());
    let wals = facts.files.iter().filter(|file| file.name.ends_with(".log"));
    let bodies: String = wals.map(|wal| site.page(&format!("/wal?number={}", wal.number)).body).collect();
    assert!(bodies.contains("note of Ironstone: "), "{bodies}");
    assert!(bodies.contains(" is durable up to byte "), "{bodies}");
    assert!(!bodies.contains("note of the application"), "{bodies}");
}

#[test]
fn damaged_databases_are_shown_with_the_damaged_file() {
    // The first page shows only some damage. Damage in a data block is found by reading the block.
    let damaged = [
        ("current-missing", "CURRENT"),
        ("manifest-bit-middle", "MANIFEST-"),
        ("manifest-missing", "MANIFEST-"),
        ("options-garbage", "OPTIONS-"),
        ("sst-missing", ".sst"),
        ("sst-cut", ".sst"),
        ("sst-footer", ".sst"),
        ("sst-props-bit", ".sst"),
        ("blob-missing", ".blob"),
        ("blob-cut", ".blob"),
        ("wal-missing-tracked", ".log"),
    ];
    for (name, file) in damaged {
        let dir = golden("corrupt").join(name);
        let db = load(&Env::posix(), &dir, &Budget::PAGE).unwrap();
        let found = db.problems.iter().any(|p| p.weight == Weight::Damage && p.file.contains(file));
        assert!(found, "{name}: {:?}", db.problems);
        let site = serve(&dir);
        let first = site.page("/").body;
        assert!(first.contains("with damage"), "{name}");
        let is_lost = first.contains("data is missing or unreadable");
        assert_eq!(is_lost, !file.starts_with("OPTIONS"), "{name}: an OPTIONS file has no data");
        // The tree marks a damaged SST file.
        let is_marked = site.page("/tree").body.contains(r#"class="file missing""#);
        assert!(is_marked || !file.ends_with(".sst"), "{name}");
    }
}

#[test]
fn fault_of_the_manifest_is_listed_once() {
    for (name, part) in [
        ("manifest-bit-last", "a repair corrects it"),
        ("manifest-bit-middle", "a repair corrects it"),
        ("manifest-unknown-tags", "13 bytes are unreadable"),
    ] {
        let db = load(&Env::posix(), &golden("corrupt").join(name), &Budget::PAGE).unwrap();
        let texts: Vec<_> = db.problems.iter().map(|problem| problem.text.as_str()).collect();
        assert!(texts.len() == 1 && texts[0].contains(part), "{name}: {texts:?}");
    }
}

#[test]
fn every_damaged_database_gets_every_page() {
    for entry in std::fs::read_dir(golden("corrupt")).unwrap() {
        let dir = entry.unwrap().path();
        if !dir.is_dir() {
            continue;
        }
        let site = serve(&dir);
        for page in PAGES {
            let reply = site.page(page);
            assert_eq!(reply.status, 200, "{} {page}: {}", dir.display(), reply.body);
        }
        let db = load(&Env::posix(), &dir, &Budget::PAGE).unwrap();
        for file in db.files.iter().filter(|f| f.name.ends_with(".log")) {
            assert_eq!(site.page(&format!("/wal?number={}", file.number)).status, 200);
        }
        for file in db.families.iter().flat_map(|f| &f.files) {
            assert_eq!(site.page(&format!("/file?number={}", file.number)).status, 200);
            assert_eq!(site.page(&format!("/block?number={}", file.number)).status, 200);
        }
    }
}

#[test]
fn damaged_block_and_damaged_wal_are_named_on_their_pages() {
    let dir = golden("corrupt").join("sst-data-bit");
    let db = load(&Env::posix(), &dir, &Budget::PAGE).unwrap();
    let site = serve(&dir);
    let mut named = 0;
    for file in db.families.iter().flat_map(|f| &f.files) {
        let total = Sst::open(&Env::posix(), &dir, file.number).unwrap().blocks(0, 1).unwrap().total;
        for block in 0..total {
            let body = site.page(&format!("/block?number={}&block={block}", file.number)).body;
            named += usize::from(body.contains("The block is not readable"));
        }
    }
    assert!(named > 0);
    let dir = golden("corrupt").join("wal-bit-middle");
    let db = load(&Env::posix(), &dir, &Budget::PAGE).unwrap();
    let site = serve(&dir);
    let faults = db
        .files
        .iter()
        .filter(|f| f.name.ends_with(".log"))
        .filter(|f| site.page(&format!("/wal?number={}", f.number)).body.contains("class=\"fault\""))
        .count();
    assert_eq!(faults, 1);
}

#[test]
fn twenty_thousand_files_make_a_small_page() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let golden = golden("levels");
    let facts = load(&Env::posix(), &golden, &Budget::PAGE).unwrap();
    let model = &facts.families[0].files[0];
    let from = golden.join(format::names::table(base::FileNumber::new(model.number)));
    write_manifest(path, 20_000, model.size);
    // The files have equal content: a link costs less than a copy.
    std::fs::copy(from, path.join("content")).unwrap();
    for n in 0..20_000 {
        let name = format::names::table(base::FileNumber::new(n + 10));
        std::fs::hard_link(path.join("content"), path.join(name)).unwrap();
    }
    let db = load(&Env::posix(), path, &Budget::PAGE).unwrap();
    assert_eq!(db.sst_count(), 20_000);
    assert!(db.problems.is_empty(), "{:?}", db.problems);
    // The next read keeps the properties that a read has found, so finally all properties are known.
    let again = load_after(&Env::posix(), path, &Budget::PAGE, Some(&db)).unwrap();
    assert!(again.tables_read >= db.tables_read && db.tables_read > 0);
    let site = serve(path);
    for page in ["/", "/tree", "/files"] {
        let reply = site.page(page);
        assert_eq!(reply.status, 200);
        assert!(reply.body.len() < 400_000, "{page}: {} bytes", reply.body.len());
    }
}

#[test]
fn two_directories_are_compared_by_level_and_option() {
    let other = Site::new(Env::posix(), golden("levels")).with_other(golden("cfs"));
    let site = start(Server::bind(other).unwrap());
    let body = site.page("/compare").body;
    // The other directory is the side before, and the shown directory is the side after.
    for part in ["other: cfs", "Bytes before", "Findings"] {
        assert!(body.contains(part), "{part}: {body}");
    }
    let broken = Site::new(Env::posix(), golden("levels")).with_other(golden("no such directory"));
    let body = start(Server::bind(broken).unwrap()).page("/compare").body;
    assert!(body.contains("The other path is not readable"), "{body}");
}

/// Writes a MANIFEST that names `count` files of this size.
fn write_manifest(dir: &Path, count: u64, file_size: u64) {
    use base::ValueType;
    use format::edit::{NewFile, VersionEdit};
    let key = |n: u64| {
        let mut key = Vec::new();
        let trailer = base::key::pack(SequenceNumber::new(n + 1), ValueType::Value as u8);
        base::key::append_with_trailer(&mut key, &n.to_be_bytes(), trailer);
        key
    };
    let mut edit = VersionEdit {
        comparator: Some("leveldb.BytewiseComparator".to_string()),
        wal_number: Some(WalNumber::new(1)),
        next_file_number: Some(FileNumber::new(count + 100)),
        last_sequence: Some(SequenceNumber::new(count + 1)),
        ..VersionEdit::default()
    };
    for n in 0..count {
        edit.new_files.push(NewFile {
            level: Level::new(6),
            number: FileNumber::new(n + 10),
            file_size,
            smallest: key(2 * n),
            largest: key(2 * n + 1),
            smallest_seqno: SequenceNumber::new(1),
            largest_seqno: SequenceNumber::new(n + 1),
            epoch_number: EpochNumber::FIRST,
            ..NewFile::default()
        });
    }
    let mut record = Vec::new();
    edit.encode(0, &mut record).unwrap();
    let mut bytes = Vec::new();
    format::wal::Writer::new(format::wal::Framing::Classic).append(&mut bytes, &record).unwrap();
    std::fs::write(dir.join(format::names::manifest(FileNumber::new(5))), bytes).unwrap();
    std::fs::write(dir.join("CURRENT"), "MANIFEST-000005\n").unwrap();
}

#[test]
fn records_from_an_offset_are_the_records_of_the_whole_file_from_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    let mut writer = format::wal::Writer::new(format::wal::Framing::Classic);
    // Records of many lengths, some longer than two blocks.
    for n in 0..60_usize {
        let mut edit = format::edit::VersionEdit {
            next_file_number: Some(FileNumber::new(n as u64)),
            ..Default::default()
        };
        edit.db_id = Some("x".repeat(if n % 10 == 7 { 90_000 } else { n * 300 }));
        let mut record = Vec::new();
        edit.encode(0, &mut record).unwrap();
        writer.append(&mut bytes, &record).unwrap();
    }
    std::fs::write(dir.path().join("MANIFEST-000005"), &bytes).unwrap();
    let env = Env::posix();
    let list = |from| records(&env, dir.path(), LogKind::Manifest, 5, from, "", 1000).unwrap();
    let all = list(0).rows;
    assert_eq!((all.len(), list(0).next), (60, None));
    for (at, row) in all.iter().enumerate() {
        assert_eq!(list(row.offset).rows, all[at..], "from the record at {}", row.offset);
        assert_eq!(
            list(row.offset + 1).rows,
            all[at + 1..],
            "from the middle of the record at {}",
            row.offset
        );
        assert!(record_tree(&env, dir.path(), LogKind::Manifest, 5, row.offset).is_ok());
    }
}
