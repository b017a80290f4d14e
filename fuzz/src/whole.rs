//! Targets for whole SST files and whole databases, with corrected checksums.

use std::ops::ControlFlow;
use std::path::Path;

use base::iter::InternalIterator;
use engine::components::FamilyDescriptor;
use engine::db::{Db, OpenRequest};
use engine::options::{DbOptions, FamilyOptions, ReadOptions};
use env::{Env, ReadHints};
use table::any::AnyReader;
use table::sst::{OpenOptions, ReadCtx};

/// Opens any bytes as an SST file, or rejects them. An open file is scanned, searched and verified.
pub fn table(data: &[u8]) {
    let mut repaired = data.to_vec();
    crate::repair::table(&mut repaired);
    let env = Env::memory(1);
    let path = Path::new("/000001.sst");
    if env.fs.write_all(path, &repaired, false).is_err() {
        return;
    }
    let Ok(file) = env.fs.open_random(path, &ReadHints::default()) else { return };
    // Some checksums cannot be corrected. Disable the check, so that the decoders get these bytes too.
    let ctx = ReadCtx { verify_checksums: false, ..ReadCtx::default() };
    let Ok(reader) = AnyReader::open(file, data.len() as u64, &OpenOptions::default()) else { return };
    let mut iter = reader.iter(&ctx);
    iter.seek_to_first();
    // Many handles may point to one block. Limit the number of rows by the number of bytes.
    let mut left = 4 * data.len() + 64;
    while iter.valid() && left > 0 {
        let _ = (iter.key().len(), iter.value().len());
        iter.next();
        left -= 1;
    }
    iter.seek(data.get(..16).unwrap_or(b"0123456789abcdef"));
    let _ = (iter.status(), reader.range_tombstones().len(), reader.verify_checksums(&ctx));
    iter.seek_to_last();
    iter.seek_for_prev(data.get(..16).unwrap_or(b"0123456789abcdef"));
    let _ = reader.get(data.get(..16).unwrap_or(b"0123456789abcdef"), &ctx, |_| ControlFlow::Continue(()));
}

/// Opens a directory with any files, or rejects it. An open database is scanned in both directions, searched, and
/// closed. Inputs are archives (`archive`).
pub fn directory(data: &[u8]) {
    let env = Env::memory(1);
    let dir = Path::new("/db");
    env.fs.create_dir_all(dir).expect("an empty disk takes a directory");
    for (name, bytes) in crate::archive::read(data) {
        let mut bytes = bytes.to_vec();
        if name.ends_with(".log") || name.starts_with("MANIFEST-") {
            crate::repair::log(&mut bytes);
        } else if name.ends_with(".sst") {
            crate::repair::table(&mut bytes);
        }
        let _ = env.fs.write_all(&dir.join(name), &bytes, true);
    }
    let options = DbOptions { env: env.clone(), stats_dump_period_sec: 0, ..DbOptions::default() };
    let names = engine::db::list_families(&env, dir).unwrap_or_default();
    for read_only in [true, false] {
        let mut request = OpenRequest::new(dir, options.clone(), FamilyOptions::default());
        // Each column family costs a memtable. A few are enough.
        let others = names.iter().filter(|name| name.as_str() != "default").take(8);
        request
            .families
            .extend(others.map(|name| FamilyDescriptor::new(name.clone(), FamilyOptions::default())));
        let opened = if read_only { Db::open_read_only(request) } else { Db::open(request) };
        let Ok(db) = opened else { continue };
        for family in db.families() {
            let Ok(mut iter) = db.iter(&family, ReadOptions::default()) else { continue };
            let most = 4 * data.len() + 64;
            iter.seek_to_first();
            let mut left = most;
            while iter.valid() && left > 0 {
                iter.next();
                left -= 1;
            }
            let _ = iter.status();
            iter.seek_to_last();
            let mut left = most.min(1000);
            while iter.valid() && left > 0 {
                iter.prev();
                left -= 1;
            }
            let _ = (iter.status(), db.get(&family, b"a", &ReadOptions::default()));
        }
        let _ = (db.files().verify_checksum(), db.close());
    }
    assert_eq!(env.executor.panics(), (0, None));
}
