//! Ingests external SST files.

use std::path::PathBuf;

use super::{Differs, Pair, same};
use crate::rows;
use crate::script::{Change, TOGGLES};
use crate::store::External;
use crate::watch;

impl Pair {
    /// Writes these changes to an external SST file, and ingests a copy with each engine. The entries of the file are the last change
    /// of each key, and the range deletions.
    pub(super) fn ingest(&mut self, at: usize, by_ours: bool, changes: &[Change]) -> Differs {
        let entries = self.entries(at, changes);
        if entries.is_empty() || self.fixed.timestamps.are_on() {
            return Ok(());
        }
        self.ingested += 1;
        let name = |engine: &str| self.dirs[0].with_file_name(format!("{engine}-{}.sst", self.ingested));
        let files: [PathBuf; 2] = [name("ingested"), name("ingested-too")];
        let (text, _) = self.opening.family(&self.families[at].name);
        let writer = &self.sides[usize::from(!by_ours)];
        writer
            .write_file(&files[0], &text, &entries)
            .map_err(|code| format!("an external file with {text}, by Ironstone: {by_ours}: {code}"))?;
        std::fs::copy(&files[0], &files[1]).map_err(|error| error.to_string())?;
        let [ours, theirs] = self.open.as_mut().ok_or("closed")?;
        watch::enter_ours();
        let ours = ours.ingest(at, &files[0]);
        watch::enter_theirs();
        let theirs = theirs.ingest(at, &files[1]);
        watch::leave();
        files.iter().for_each(|file| drop(std::fs::remove_file(file)));
        same(|| format!("ingestion of {entries:?}"), &ours, &theirs)?;
        self.sequence_after_ingestion()
    }

    fn entries(&mut self, at: usize, changes: &[Change]) -> Vec<External> {
        let merges = !rows::operator(&self.families[at].name).is_empty();
        let mut points = std::collections::BTreeMap::new();
        let mut ranges = Vec::new();
        for change in changes {
            let (key, entry) = match change {
                Change::Put(_, key, value) => (key, External::Put(key.clone(), value.clone())),
                Change::Merge(_, key, serial) if merges => {
                    let operand = rows::operand(&self.families[at].name, *serial);
                    (key, External::Merge(key.clone(), operand))
                }
                Change::Delete(_, key) => (key, External::Delete(key.clone())),
                Change::DeleteRange(..) => {
                    if let Some(crate::store::Item::DeleteRange(_, begin, end)) = self.item(change)
                        && begin != end
                    {
                        ranges.push(External::DeleteRange(begin, end));
                    }
                    continue;
                }
                _ => continue,
            };
            if key.first() != Some(&TOGGLES) {
                points.insert(key.clone(), entry);
            }
        }
        let mut entries: Vec<External> = points.into_values().collect();
        if self.fixed.reverse {
            entries.reverse();
        }
        entries.extend(ranges);
        entries
    }

    /// Compares the newest sequence numbers. An ingestion takes a sequence number only if its keys overlap other keys. The overlap
    /// depends on the files, and the files on the jobs that ran. In Ironstone, an open iterator holds a snapshot, and then an
    /// ingestion takes a sequence number.
    fn sequence_after_ingestion(&mut self) -> Differs {
        let [ours, theirs] = self.open.as_mut().ok_or("closed")?;
        let behind = ours.sequence().wrapping_sub(theirs.sequence());
        let change = behind.wrapping_sub(self.behind) as i64;
        let most = if self.snapshots == 0 { 1 } else { 0 };
        if change.abs() > most {
            return Err(format!("an ingestion takes {change} sequence numbers more than RocksDB's"));
        }
        self.behind = behind;
        Ok(())
    }
}
