//! Bundles are written, inspected and diagnosed. They contain no key and no value.

use env::Env;
use ironstone::{Db, Options};
use ironstone_inspect::bundle;
use ironstone_inspect::model::{Budget, Source, load};

use crate::client::serve;

#[test]
fn bundle_has_the_facts_and_no_key_and_no_value() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.update("level0_file_num_compaction_trigger=3").unwrap();
    let db = Db::open(&path, options).unwrap();
    for n in 0..100 {
        db.put(format!("confidential-key-{n}").as_bytes(), b"confidential-value").unwrap();
        if n % 40 == 0 {
            db.flush().unwrap();
        }
    }
    db.compact_range(Some(b"confidential-key-1"), None, &Default::default()).unwrap();
    drop(db);
    let log = std::fs::read_to_string(path.join("LOG")).unwrap();
    let message =
        "2026/01/01-00:00:00.000000 1 [WARN] a key 'confidential-key-7' and 0x636F6E666964656E7469616C\n";
    std::fs::write(path.join("LOG"), log + message).unwrap();
    let env = Env::posix();
    let facts = load(&env, &path, &Budget::COMMAND).unwrap();
    let text = bundle::write(&env, &path, &facts).unwrap();
    let digits = [testkit::hex::lower(b"confidential"), testkit::hex::upper(b"confidential")];
    for secret in ["confidential".to_string()].into_iter().chain(digits) {
        assert!(!text.contains(&secret), "{secret} is in the bundle");
    }
    let file = dir.path().join("bundle.json");
    std::fs::write(&file, &text).unwrap();
    assert!(bundle::is_bundle(&env, &file).unwrap());
    let read = bundle::read(&env, &file).unwrap();
    assert_eq!(read.source, Source::Bundle);
    assert_eq!((read.sst_count(), read.sst_bytes()), (facts.sst_count(), facts.sst_bytes()));
    assert_eq!(read.log.jobs.len(), facts.log.jobs.len());
    assert_eq!(read.family_option("default", "level0_file_num_compaction_trigger").as_deref(), Some("3"));
    let site = serve(&file);
    for page in
        ["/", "/tree", "/files", "/logs", "/options", "/memory", "/tombstones", "/activity", "/doctor"]
    {
        let reply = site.page(page);
        assert_eq!(reply.status, 200, "{page}");
        assert!(reply.body.contains("support bundle"), "{page}");
    }
}

#[test]
fn broken_bundles_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("bundle.json");
    for text in ["{\"ironstone_bundle\":1,", "{\"ironstone_bundle\":1,\"database\":{}}"] {
        std::fs::write(&file, text).unwrap();
        assert!(bundle::read(&Env::posix(), &file).is_err());
        assert_eq!(serve(&file).page("/").status, 500);
    }
    let deep = format!("{{\"ironstone_bundle\":1,\"database\":{}", "[".repeat(100_000));
    std::fs::write(&file, deep).unwrap();
    assert!(bundle::read(&Env::posix(), &file).is_err());
}
