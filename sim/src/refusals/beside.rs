//! Read-only opens concurrently with a writer. Before drawn file-system calls of the reader, the writer changes the
//! database.
//!
//! Every write changes both column families in one batch. A reader must see one state of the database, which is not older
//! than the state at the start of its open.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use engine::batch::WriteBatch;
use engine::components::FamilyDescriptor;
use engine::db::{Db, OpenRequest};
use engine::options::{CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, WriteOptions};
use env::Env;
use env::hook::{Call, Hook, Hooked, Verdict};
use parking_lot::Mutex;
use testkit::chance::Chance;

use super::{options, rows, words};

/// The number of changes during one open. The open of a reader fails after the writer has overtaken eight attempts.
const CHANGES_MAX: usize = 6;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// The writer with every state that the database had.
struct Writer {
    db: Db,
    chance: Chance,
    states: Vec<Rows>,
    changes_left: usize,
    failed: Option<String>,
}

impl Writer {
    fn change(&mut self) -> Result<(), String> {
        let families = [
            self.db.default_family().map_err(words("default"))?,
            self.db.family("second").ok_or("the family second is missing")?,
        ];
        match self.chance.below(10) {
            0 => self.db.flush(&families, &FlushOptions::default()).map_err(words("flush")),
            1 => {
                let all = CompactRangeOptions::default();
                let done = self.db.compactions().compact_range(&families[0], None, None, &all);
                done.map(drop).map_err(words("compact_range"))
            }
            2 => self.roll(),
            3 => {
                let name = format!("f{}", self.states.len());
                let made =
                    self.db.admin().create_family(FamilyDescriptor::new(name, FamilyOptions::default()));
                let made = made.map_err(words("create_family"))?;
                self.db.admin().drop_family(&made).map_err(words("drop_family"))
            }
            _ => {
                let (key, value) = (self.chance.below(20).to_be_bytes(), self.states.len().to_be_bytes());
                let mut batch = WriteBatch::new();
                for family in &families {
                    batch.put_in(family.id(), &key, &value);
                }
                let done = self.db.write(&mut batch, &WriteOptions::default());
                done.map(drop).map_err(words("write"))?;
                let mut next = self.states.last().cloned().unwrap_or_default();
                next.insert(key.to_vec(), value.to_vec());
                self.states.push(next);
                Ok(())
            }
        }
    }

    /// Starts a new MANIFEST with the next version edit.
    fn roll(&self) -> Result<(), String> {
        let bytes = ["1", "4096", "1073741824"][self.states.len() % 3];
        let changes = [("max_manifest_file_size", bytes), ("max_manifest_space_amp_pct", "0")];
        self.db.admin().set_db_options(&changes).map_err(words("set_db_options"))
    }
}

/// Lets the writer change the database before calls of the reader.
struct Meanwhile(Arc<Mutex<Writer>>);

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a writer meanwhile")
    }
}

impl Hook for Meanwhile {
    fn name(&self) -> &'static str {
        "a writer meanwhile"
    }

    fn before(&self, _: &Call<'_>) -> Verdict {
        let writer = &mut *self.0.lock();
        while writer.changes_left > 0 && writer.chance.percent(15) {
            writer.changes_left -= 1;
            if let Err(words) = writer.change() {
                writer.failed = Some(words);
            }
        }
        Verdict::Go
    }
}

pub(super) fn run(seed: u64, chance: &mut Chance, len: usize) -> Result<u64, String> {
    let env = Env::memory(seed);
    let family = FamilyOptions { disable_auto_compactions: chance.percent(50), ..FamilyOptions::default() };
    let db = DbOptions {
        create_missing_column_families: true,
        recycle_log_file_num: chance.below(3) as usize,
        ..options(&env)
    };
    let mut request = OpenRequest::new("/db", db, family.clone());
    request.families.push(FamilyDescriptor::new("second", family));
    let writer = Arc::new(Mutex::new(Writer {
        db: Db::open(request).map_err(words("open"))?,
        chance: Chance::new(chance.next()),
        states: vec![Rows::new()],
        changes_left: 0,
        failed: None,
    }));
    for _ in 0..len {
        if chance.percent(80) {
            writer.lock().change()?;
        } else {
            read(&env, &writer)?;
        }
    }
    let db = writer.lock().db.clone();
    db.close().map_err(words("close"))?;
    Ok(len as u64)
}

fn read(env: &Env, writer: &Arc<Mutex<Writer>>) -> Result<(), String> {
    let mut reading = options(env);
    reading.env.fs = Arc::new(Hooked::new(env.fs.clone(), Arc::new(Meanwhile(writer.clone()))));
    let mut request = OpenRequest::new("/db", reading, FamilyOptions::default());
    request.families.push(FamilyDescriptor::new("second", FamilyOptions::default()));
    let first = {
        let writer = &mut *writer.lock();
        writer.changes_left = CHANGES_MAX;
        writer.states.len() - 1
    };
    let reader = Db::open_read_only(request);
    // The reads below take the lock of the writer too. Release the lock here.
    let (states, failed) = {
        let writer = &mut *writer.lock();
        writer.changes_left = 0;
        (writer.states[first..].to_vec(), writer.failed.take())
    };
    if let Some(words) = failed {
        return Err(format!("a writer with a concurrent reader: {words}"));
    }
    let reader = reader.map_err(words("a read-only open while a writer runs"))?;
    let found = rows(&reader, &reader.default_family().map_err(words("default"))?)?;
    let second = rows(&reader, &reader.family("second").ok_or("the reader lacks the family second")?)?;
    if found != second {
        return Err(format!("a reader sees {} and {} entries of equal families", found.len(), second.len()));
    }
    match states.contains(&found) {
        true => Ok(()),
        false => Err(format!("a reader sees a state that the database did not have since state {first}")),
    }
}
