//! Opens, column families that come and go, calls that both engines must reject, and the end of a life.

use ironstone_sim::sample::{Fixed, Timestamps};
use testkit::chance::Chance;

use super::{Differs, EXACT, FAMILIES_MAX, Family, NAMED, Pair, same};
use crate::rows::{self, Opening};
use crate::store::{FamilyText, Item, Writing};

/// Returns true if an option string writes blob files.
fn blobs(text: &str) -> bool {
    text.contains("enable_blob_files=true") && !text.contains("enable_blob_files=false")
}

impl Pair {
    fn texts(&mut self, opening: &Opening) -> Vec<FamilyText> {
        self.families
            .iter_mut()
            .map(|family| {
                let (text, prefix) = opening.family(&family.name);
                family.prefix = prefix;
                family.vector = text.contains("memtable_factory=vector");
                family.blobs |= blobs(&text);
                family.direct = blobs(&text) && ironstone_sim::life::writes_directly(&text);
                (family.name.clone(), text)
            })
            .collect()
    }

    pub(super) fn begin(&mut self, opening: Opening) -> Differs {
        let texts = self.texts(&opening);
        let ours = self.sides[0].open(&self.dirs[0], &opening.db, &texts, false);
        let theirs = self.sides[1].open(&self.dirs[1], &opening.db, &texts, false);
        self.opening = opening;
        self.openings += 1;
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                self.open = Some([ours, theirs]);
                self.set_times(u64::MAX);
                self.recycled = self.opening.recycles();
                Ok(())
            }
            // RocksDB rejects the open or not, depending on the fragments of the older records in a recycled WAL.
            (Ok(ours), Err(code)) if code == "Corruption" && self.recycled && self.opening.is_absolute() => {
                drop(ours);
                let lenient = self.opening.lenient();
                self.begin(lenient)
            }
            (ours, theirs) => {
                let (ours, theirs) = (ours.map(|_| ()), theirs.map(|_| ()));
                Err(format!("opening with {}: ours {ours:?}, theirs {theirs:?}", self.opening.db))
            }
        }
    }

    pub(super) fn create(&mut self, n: u64) -> Differs {
        let (name, _) = rows::NAMES[n as usize % rows::NAMES.len()];
        let known = self.families.iter().any(|f| f.name == name);
        if !known && self.families.len() >= FAMILIES_MAX {
            return Ok(());
        }
        let (text, prefix) = self.opening.family(name);
        let made = self.both(|| format!("create_family {name} with {text}"), |s| s.create(name, &text))?;
        if made.is_ok() {
            let vector = text.contains("memtable_factory=vector");
            let blobs = blobs(&text);
            let direct = blobs && ironstone_sim::life::writes_directly(&text);
            self.families.push(Family { name: name.to_string(), prefix, vector, blobs, direct });
        }
        Ok(())
    }

    pub(super) fn drop_family(&mut self, n: u64) -> Differs {
        let at = self.at(n);
        let dropped = self.both(|| "drop_family".to_string(), |s| s.drop_family(at))?;
        if dropped.is_ok() {
            let family = self.families.remove(at);
            self.toggles.retain(|t| t.family != family.name);
            self.dropped = true;
        }
        Ok(())
    }

    /// Flushes the column families if WALs can refer to blob files. RocksDB's open does not read these values: a flush loses them.
    fn flush_direct(&mut self) -> Differs {
        if self.opening.direct.is_empty() {
            return Ok(());
        }
        let all: Vec<usize> = (0..self.families.len()).collect();
        self.both(|| "flush before the close".to_string(), |s| s.flush(&all)).map(drop)
    }

    fn close(&mut self) {
        self.slots = [None, None, None];
        self.snapshots = 0;
        self.dropped = false;
        self.open = None;
    }

    pub(super) fn reopen(&mut self, seed: u64) -> Differs {
        let chance = &mut Chance::new(seed);
        let [ours, _] = self.open.as_mut().ok_or("closed")?;
        let before = ours.sequence();
        self.flush_direct()?;
        self.close();
        let lists = [self.sides[0].families(&self.dirs[0]), self.sides[1].families(&self.dirs[1])];
        let [mut ours, mut theirs] = lists;
        [&mut ours, &mut theirs].into_iter().flatten().for_each(|names| names.sort());
        same(|| "families on disk".to_string(), &ours, &theirs)?;
        let before_open = self.fixed.timestamps;
        self.fixed.timestamps = self.fixed.timestamps.next(&mut Chance::new(seed ^ 0x746f_6767));
        let next = self.plain(Opening::draw(chance.next(), self.fixed));
        match chance.below(12) {
            0 => self.refused(&format!("{}error_if_exists=true;", next.db), &next, |_| {}),
            // The default column family is always opened.
            1 if self.families.last().is_some_and(|f| f.name != "default") => {
                self.refused(&next.db, &next, |families| drop(families.pop()))
            }
            2 => self.refused(&next.db, &next, |families| {
                families.push(("unheard-of".to_string(), String::new()))
            }),
            3 => {
                let other = Fixed { reverse: !self.fixed.reverse, ..self.fixed };
                let other = Opening::draw(chance.next(), other);
                self.refused(&other.db.clone(), &other, |_| {})
            }
            4 => {
                // Timestamps appear in a database whose SST files would have them, or only the option changes.
                let wrong = match before_open {
                    Timestamps::Persisted => Timestamps::InMemory,
                    _ => Timestamps::Persisted,
                };
                let other = Opening::draw(chance.next(), Fixed { timestamps: wrong, ..self.fixed });
                self.refused(&other.db.clone(), &other, |_| {})
            }
            _ => Ok(()),
        }?;
        let order = if chance.percent(15) { chance.below(8) as usize } else { 0 };
        let n = self.families.len();
        self.families.rotate_left(order % n);
        self.begin(next)?;
        for at in 0..self.families.len() {
            self.scan(at)?;
        }
        self.resume_at(before)
    }

    /// Compares the sequence numbers after an open. Ironstone's number must be the number before the close, or
    /// RocksDB's number. RocksDB's number may be lower.
    fn resume_at(&mut self, before: u64) -> Differs {
        let [ours, theirs] = self.open.as_mut().ok_or("closed")?;
        let (ours, theirs) = (ours.sequence(), theirs.sequence());
        if ours == before && theirs.wrapping_add(self.behind) <= before {
            self.behind = ours.wrapping_sub(theirs);
        }
        self.sequence()
    }

    /// Opens both databases, and compares the answers, whether both succeed or both fail.
    fn refused(&mut self, text: &str, opening: &Opening, change: impl Fn(&mut Vec<FamilyText>)) -> Differs {
        let mut texts = self.texts(opening);
        change(&mut texts);
        let ours = self.sides[0].open(&self.dirs[0], text, &texts, false).map(|_| ());
        let theirs = self.sides[1].open(&self.dirs[1], text, &texts, false).map(|_| ());
        same(|| format!("opening with {text} and {texts:?}"), &ours, &theirs)
    }

    pub(super) fn bad(&mut self, n: u64) -> Differs {
        let chance = &mut Chance::new(n);
        match chance.below(8) {
            0 | 1 => {
                let text = self.opening.db.clone();
                let texts = self.texts(&self.opening.clone());
                let ours = self.sides[0].open(&self.dirs[0], &text, &texts, false).map(|_| ());
                let theirs = self.sides[1].open(&self.dirs[1], &text, &texts, false).map(|_| ());
                same(|| "opening what is open".to_string(), &ours, &theirs)
            }
            2 => {
                let nowhere = self.dirs[0].with_file_name("nowhere");
                let texts = vec![("default".to_string(), String::new())];
                let read_only = chance.percent(50);
                let ours = self.sides[0].open(&nowhere, "", &texts, read_only).map(|_| ());
                let theirs = self.sides[1].open(&nowhere, "", &texts, read_only).map(|_| ());
                same(|| format!("opening nothing, read_only={read_only}"), &ours, &theirs)
            }
            3 => self.create(0),
            4 => self
                .both(
                    || "a batch of nothing but save points".to_string(),
                    |s| {
                        s.batch(
                            &[Item::Rollback, Item::SavePoint, Item::PopSavePoint, Item::PopSavePoint],
                            Writing::default(),
                        )
                    },
                )
                .map(|_| ()),
            5 if self.dropped => {
                self.both(|| "calls on a dropped family".to_string(), |s| s.haunt()).map(drop)
            }
            6 => {
                let at = self.at(n);
                let item = Item::Put(at, b"refused".to_vec(), Vec::new());
                let writing = Writing { sync: true, no_wal: true, ignore_missing: false };
                self.both(|| "sync without log".to_string(), |s| s.single(&item, writing)).map(|_| ())
            }
            _ => {
                let nowhere = self.dirs[0].with_file_name("nowhere");
                let [ours, theirs] = [self.sides[0].families(&nowhere), self.sides[1].families(&nowhere)];
                same(|| "families of nothing".to_string(), &ours, &theirs)
            }
        }
    }

    /// Compares every row of the tables of live changes and option strings.
    ///
    /// # Errors
    /// All differences, one per line.
    pub fn tables(&mut self) -> Differs {
        let mut found = Vec::new();
        for (database, name, value) in rows::LIVE {
            let at = (!database).then_some(0);
            let what = || format!("set_options {name}={value}, of the database: {database}");
            found.extend(self.both(what, |s| s.set_options(at, name, value)).err());
        }
        for text in rows::TEXTS {
            let [ours, theirs] = [self.sides[0].takes(text), self.sides[1].takes(text)];
            if rows::LISTED.contains(text) {
                // A listed difference that no longer exists is a failure too.
                if ours.is_ok() || theirs.is_err() {
                    found.push(format!("options {text:?}: listed, but ours {ours:?}, theirs {theirs:?}"));
                }
                continue;
            }
            found.extend(same(|| format!("options {text:?}"), &ours, &theirs).err());
        }
        for name in NAMED {
            found.extend(self.both(|| format!("has {name}"), |s| s.has_property(0, name)).err());
        }
        for name in EXACT {
            found.extend(self.both(|| name.to_string(), |s| s.int_property(0, name)).err());
        }
        if found.is_empty() { Ok(()) } else { Err(found.join("\n")) }
    }

    /// Compares everything once more and closes.
    ///
    /// # Errors
    /// The first difference.
    pub fn end(&mut self) -> Differs {
        for at in 0..self.families.len() {
            self.scan(at)?;
        }
        self.both(|| "verify_checksum".to_string(), |s| s.verify()).map(drop)?;
        // This test comes last, because RocksDB then rejects every later write. Ironstone does not.
        if self.dropped {
            self.both(|| "writes to a dropped family".to_string(), |s| s.haunt_writing())?;
        } else {
            let (first, last) = (vec![1], vec![2]);
            let (begin, end) = if self.fixed.reverse { (first, last) } else { (last, first) };
            let item = Item::DeleteRange(0, begin, end);
            self.both(|| "an inverted range".to_string(), |s| s.single(&item, Writing::default()))
                .map(drop)?;
        }
        let item = Item::Put(0, b"after".to_vec(), Vec::new());
        let [ours, _] = self.open.as_mut().ok_or("closed")?;
        same(|| "a write after those".to_string(), &ours.single(&item, Writing::default()), &Ok(()))?;
        self.close();
        Ok(())
    }
}
