//! Calls that delete files, stop background work, or write files outside of the database.
//!
//! ```text
//!  delete_files_in_ranges   no key outside of the ranges changes; a key in a range has its value, an older value or none;
//!                           no SST file below level 0 lies in a range afterwards, except files that share a key
//!  delete_file, remove_table  one SST file by its number, in the open and in the closed database
//!  abort_all_compactions    flushes continue, compactions are rejected until the last resume
//!  cancel_all_background_work  writes continue, flushes and compactions are rejected until the next open
//!  destroy_with             the database is gone, also its SST files in `cf_paths`; files of others stay
//!  embedded blobs           an ingested file returns its values, small and large
//!  traces                   the replay of a trace makes an equal database
//! ```
//! The model keeps each older value of a key, because the deletion of a file can uncover older values.

use base::Level;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ironstone::trace::{self, FileTraceReader, FileTraceWriter, ReplayOptions, Replayer, TraceOptions};
use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, Db, DbPath, EmbeddedBlobOptions, Family,
    FamilyDescriptor, FileNumber, FlushOptions, IngestExternalFileOptions, Kind, LiveFile, Options, Snapshot,
    SstFileWriter, Subcode, WriteBatch,
};
use testkit::chance::Chance;

use super::indexed::{rows_equal, rows_equal_at};
use super::overlay::{Key, State};
use super::{FAMILIES, Setting, World, key, same, scan, told, value};

/// The directory of the SST files of the second column family.
const APART: &str = "/apart";

/// A file in this directory that is no file of a database.
const STRAY: &str = "/apart/thesis.txt";

/// A database, and its model.
pub(super) struct Control {
    options: Options,
    db: Option<Db>,
    families: Vec<Family>,
    state: State,
    /// The older values of each key that files may still hold. Empty: only the newest value, or a tombstone.
    older: BTreeMap<Key, BTreeSet<Vec<u8>>>,
    snapshots: Vec<(Snapshot, State)>,
    /// The number of files and databases that were made outside of the database. Each has the number in its name.
    made: u64,
    /// The number of calls that disabled file deletions and were not undone.
    deletions_disabled: u64,
}

impl Control {
    /// Opens the database.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(setting: &Setting) -> Result<Control, String> {
        let mut options = setting.options.clone();
        // Without a full history of values the model cannot know which older value a deleted file uncovers.
        options.update("inplace_update_support=false").map_err(told("options"))?;
        let mut world = Control {
            options,
            db: None,
            families: Vec::new(),
            state: vec![Default::default(); FAMILIES.len()],
            older: BTreeMap::new(),
            snapshots: Vec::new(),
            made: 0,
            deletions_disabled: 0,
        };
        world.open()?;
        world
            .options
            .db
            .env
            .fs
            .write_all(STRAY.as_ref(), b"text", false)
            .map_err(told("a file of the user"))?;
        Ok(world)
    }

    fn descriptors(&self) -> Vec<FamilyDescriptor> {
        let of = |(at, name): (usize, &&str)| {
            let mut family = self.options.family.clone();
            if at == 1 {
                family.cf_paths = vec![DbPath { path: APART.into(), target_size: 1 << 30 }];
            }
            FamilyDescriptor::new(*name, family)
        };
        FAMILIES.iter().enumerate().map(of).collect()
    }

    fn open(&mut self) -> Result<(), String> {
        let (db, families) = super::open(&self.options, self.descriptors())?;
        (self.db, self.families) = (Some(db), families);
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        self.families.clear();
        self.snapshots.clear();
        self.deletions_disabled = 0;
        super::close(&mut self.db)
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    /// Puts or deletes a key in the model.
    fn change(&mut self, key: &Key, value: Option<&[u8]>) {
        if let Some(old) = self.state[key.family].get(&key.bytes) {
            self.older.entry(key.clone()).or_default().insert(old.to_vec());
        }
        match value {
            Some(value) => self.state[key.family].put(&key.bytes, value),
            None => self.state[key.family].delete(&key.bytes),
        }
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let mut batch = WriteBatch::new();
        for _ in 0..1 + chance.below(8) {
            let key = Key::draw(chance);
            let value = chance.percent(75).then(|| value(chance));
            let id = self.families[key.family].id();
            match &value {
                Some(value) => batch.put_in(id, &key.bytes, value),
                None => batch.delete_in(id, &key.bytes),
            };
            self.change(&key, value.as_deref());
        }
        self.db().write(batch).map_err(told("write"))
    }

    fn delete_range(&mut self, chance: &mut Chance) -> Result<(), String> {
        let (at, a, b) = (chance.below(2) as usize, key(chance), key(chance));
        let (begin, end) = if a <= b { (a, b) } else { (b, a) };
        self.families[at].delete_range(&begin, &end).map_err(told("delete_range"))?;
        for (key, _) in self.state[at].rows() {
            if begin <= key && key < end {
                self.change(&Key { family: at, bytes: key }, None);
            }
        }
        Ok(())
    }

    /// Compacts a column family. Without snapshots, each key then has one entry.
    fn compact(&mut self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(2) as usize;
        let force = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        self.families[at].compact_range(None, None, &force).map_err(told("compact"))?;
        if self.snapshots.is_empty() {
            self.older.retain(|key, _| key.family != at);
        }
        Ok(())
    }

    fn delete_files(&mut self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(2) as usize;
        let mut bounds: Vec<Vec<u8>> = (0..2 + 2 * chance.below(2)).map(|_| key(chance)).collect();
        bounds.sort();
        let mut ranges: Vec<(Option<&[u8]>, Option<&[u8]>)> =
            bounds.chunks(2).map(|pair| (Some(&pair[0][..]), Some(&pair[1][..]))).collect();
        if chance.percent(20) {
            ranges[0].0 = None;
        }
        if chance.percent(20) {
            ranges.last_mut().expect("a range").1 = None;
        }
        let include_end = chance.percent(50);
        let contains = |key: &[u8]| {
            ranges.iter().any(|(begin, end)| {
                begin.is_none_or(|begin| begin <= key)
                    && end.is_none_or(|end| key < end || (include_end && key == end))
            })
        };
        let lies_in = |smallest: &[u8], largest: &[u8]| {
            ranges.iter().any(|(begin, end)| {
                begin.is_none_or(|begin| begin <= smallest)
                    && end.is_none_or(|end| largest < end || (include_end && largest == end))
            })
        };
        let family = self.families[at].clone();
        // Compactions could move files into the ranges between the call and the check.
        self.db().abort_all_compactions().map_err(told("abort_all_compactions"))?;
        family.delete_files_in_ranges(&ranges, include_end).map_err(told("delete_files_in_ranges"))?;
        let files = family.live_files();
        // Entries of one key can be in two files. Such files are only deleted together.
        let shares_a_key = |file: &LiveFile| {
            let mut others =
                files.iter().filter(|other| other.level == file.level && other.number != file.number);
            others
                .any(|other| other.largest_key == file.smallest_key || other.smallest_key == file.largest_key)
        };
        let left = files.iter().find(|file| {
            let is_in = file.level > Level::ZERO && lies_in(&file.smallest_key, &file.largest_key);
            is_in && !file.being_compacted && !shares_a_key(file)
        });
        self.db().resume_all_compactions().map_err(told("resume_all_compactions"))?;
        if let Some(file) = left {
            return Err(format!("a file of {} is left in {ranges:02x?}: {file:02x?}", file.level));
        }
        self.take_older(at, contains, &format!("the deletion of files in {ranges:02x?}"))
    }

    /// Takes the rows of a column family after a deletion of files. A key for which `contains` is true has its value, an older value
    /// or none. All other keys have their values.
    fn take_older(&mut self, at: usize, contains: impl Fn(&[u8]) -> bool, what: &str) -> Result<(), String> {
        // Deleted entries are gone in snapshots too.
        self.snapshots.clear();
        let found = scan(&self.families[at])?;
        let keys: BTreeSet<Vec<u8>> =
            found.keys().cloned().chain(self.state[at].rows().into_iter().map(|(key, _)| key)).collect();
        for key in keys {
            let (now, before) = (found.get(&key), self.state[at].get(&key));
            if now.map(Vec::as_slice) == before {
                continue;
            }
            let older = self.older.get(&Key { family: at, bytes: key.clone() });
            let is_older = now.is_none_or(|now| older.is_some_and(|older| older.contains(now)));
            if !contains(&key) || !is_older {
                return Err(format!("{key:02x?} after {what}: {now:02x?} and not {before:02x?}"));
            }
            match now {
                Some(now) => self.state[at].put(&key, now),
                None => self.state[at].delete(&key),
            }
        }
        Ok(())
    }

    /// Deletes a live SST file by its name, or a file that is not live. Only the oldest file of level 0 and files on the last level can
    /// be deleted.
    fn delete_file(&mut self, chance: &mut Chance) -> Result<(), String> {
        let unknown = *chance.pick(&["999999.sst", "000001.log", "no file"]);
        let refused = engine::db::delete_file(self.db().engine(), unknown).map_err(|error| error.kind());
        let expected = if unknown.ends_with(".log") { Kind::NotSupported } else { Kind::InvalidArgument };
        same(unknown, &refused, &Err(expected))?;
        let at = chance.below(2) as usize;
        let files = self.families[at].live_files();
        if files.is_empty() {
            return Ok(());
        }
        let file = chance.pick(&files).clone();
        let name = format!("{:06}.sst", file.number.get());
        match engine::db::delete_file(self.db().engine(), &name) {
            Ok(()) => {}
            Err(error) if error.kind() == Kind::InvalidArgument => {
                let is_last =
                    files.iter().all(|other| other.level < file.level || other.number == file.number);
                same("a file alone on the last level is deleted", &is_last, &false)?;
            }
            Err(error) => return Err(format!("delete_file: {error}")),
        }
        let lies_in = |key: &[u8]| &file.smallest_key[..] <= key && key <= &file.largest_key[..];
        self.take_older(at, lies_in, &format!("the deletion of {name}"))
    }

    /// Removes a live SST file from the MANIFEST of the closed database, and opens the database again.
    fn remove_from_manifest(&mut self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(2) as usize;
        let files = self.families[at].live_files();
        let running = engine::db::remove_table("/db".as_ref(), &self.options.db, FileNumber::new(1));
        same("an open database", &running.map_err(|error| error.kind()), &Err(Kind::IoError))?;
        self.close()?;
        let unknown = engine::db::remove_table("/db".as_ref(), &self.options.db, FileNumber::new(1 << 40));
        same("a file that does not exist", &unknown.map_err(|error| error.kind()), &Err(Kind::NotFound))?;
        if files.is_empty() || chance.percent(20) {
            self.open()?;
            return rows_equal(&self.families, &self.state);
        }
        let file = chance.pick(&files).clone();
        match engine::db::remove_table("/db".as_ref(), &self.options.db, file.number) {
            Ok(removed) => {
                same("the removed file", &(&removed.family[..], removed.size), &(FAMILIES[at], file.size))?
            }
            // The close can end with a compaction of the file.
            Err(error) if error.kind() == Kind::NotFound => {}
            Err(error) => return Err(format!("remove_table: {error}")),
        }
        self.open()?;
        let lies_in = |key: &[u8]| &file.smallest_key[..] <= key && key <= &file.largest_key[..];
        self.take_older(at, lies_in, &format!("the removal of {}", file.number.get()))?;
        rows_equal(&self.families, &self.state)
    }

    /// Writes and flushes while compactions are aborted. A manual compaction is rejected.
    fn abort(&mut self, chance: &mut Chance) -> Result<(), String> {
        let calls = 1 + chance.below(2);
        for _ in 0..calls {
            self.db().abort_all_compactions().map_err(told("abort_all_compactions"))?;
        }
        self.write(chance)?;
        let family = self.families[chance.below(2) as usize].clone();
        // By default, a flush waits until a compaction makes room for its file.
        let options = FlushOptions { allow_write_stall: true, ..FlushOptions::default() };
        family.flush_with(&options).map_err(told("flush without compactions"))?;
        for _ in 0..calls {
            let rejected = family.compact_range(None, None, &CompactRangeOptions::default());
            let subcode = rejected.err().map(|error| (error.kind(), error.subcode()));
            same("aborted", &subcode, &Some((Kind::Incomplete, Subcode::CompactionAborted)))?;
            self.db().resume_all_compactions().map_err(told("resume_all_compactions"))?;
        }
        let more = self.db().resume_all_compactions().map_err(|error| error.kind());
        same("one resume too many", &more, &Err(Kind::InvalidArgument))
    }

    /// Cancels the background work, writes, and opens the database again.
    fn cancel(&mut self, chance: &mut Chance) -> Result<(), String> {
        let wait = chance.percent(50);
        for _ in 0..1 + chance.below(2) {
            self.db().cancel_all_background_work(wait).map_err(told("cancel_all_background_work"))?;
        }
        for at in 0..FAMILIES.len() {
            let (key, value) = (Key { family: at, bytes: key(chance) }, chance.bytes(9));
            match self.families[at].put(&key.bytes, &value) {
                Ok(()) => self.change(&key, Some(&value)),
                // The write had to wait for a flush or a compaction. The write has no effect.
                Err(error) if error.kind() == Kind::ShutdownInProgress => {}
                Err(error) => return Err(format!("put without background work: {error}")),
            }
            let family = &self.families[at];
            let flushed = family.flush().map_err(|error| error.kind());
            same("flush without background work", &flushed, &Err(Kind::ShutdownInProgress))?;
            let compacted = family.compact_range(None, None, &CompactRangeOptions::default());
            let compacted = compacted.map_err(|error| error.kind());
            same("compaction without background work", &compacted, &Err(Kind::ShutdownInProgress))?;
        }
        rows_equal(&self.families, &self.state)?;
        self.reopen()
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.close()?;
        self.open()?;
        rows_equal(&self.families, &self.state)
    }

    /// Destroys the database, and opens a new one in its place.
    fn destroy(&mut self) -> Result<(), String> {
        let destroy = |world: &Control| {
            let families: Vec<_> = world.descriptors().into_iter().map(|family| family.options).collect();
            ironstone::destroy_with("/db", &world.options.db, &families)
        };
        let running = destroy(self).map_err(|error| error.kind());
        same("destroy of an open database", &running, &Err(Kind::IoError))?;
        rows_equal(&self.families, &self.state)?;
        self.close()?;
        destroy(self).map_err(told("destroy_with"))?;
        let env = self.options.db.env.clone();
        let apart: Vec<_> = env.fs.list(Path::new(APART)).map_err(told("list"))?;
        same("files left", &apart.len(), &1)?;
        let mut existing = self.options.clone();
        existing.db.create_if_missing = false;
        let opened = Db::open_with_families("/db", existing, self.descriptors());
        same("open of a destroyed database", &opened.is_err(), &true)?;
        self.state = vec![Default::default(); FAMILIES.len()];
        self.older.clear();
        self.open()?;
        rows_equal(&self.families, &self.state)
    }

    /// Ingests an SST file with embedded blobs.
    fn ingest(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.made += 1;
        let (at, path) = (chance.below(2) as usize, format!("/embedded{}.sst", self.made));
        let mut outside = self.options.clone();
        outside.update("block_based_table_factory={format_version=7}").map_err(told("format_version"))?;
        let embedded = EmbeddedBlobOptions { min_blob_size: *chance.pick(&[0, 10, 500]) };
        let create =
            SstFileWriter::create_with_embedded_blobs(&path, &outside.db, &outside.family, &embedded);
        let mut writer = create.map_err(told("create_with_embedded_blobs"))?;
        let rows: BTreeMap<Vec<u8>, Vec<u8>> =
            (0..1 + chance.below(20)).map(|_| (key(chance), value(chance))).collect();
        for (key, value) in &rows {
            writer.put(key, value).map_err(told("put of an embedded blob"))?;
        }
        writer.finish().map_err(told("finish with embedded blobs"))?;
        let options = IngestExternalFileOptions {
            move_files: chance.percent(50),
            ..IngestExternalFileOptions::default()
        };
        let ingested = self.families[at].ingest_external_files([&path], &options);
        ingested.map_err(told("ingestion of embedded blobs"))?;
        rows.iter()
            .for_each(|(key, value)| self.change(&Key { family: at, bytes: key.clone() }, Some(value)));
        Ok(())
    }

    /// Traces drawn calls, and replays the trace on an empty database. This database must then hold the traced writes.
    fn trace(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.made += 1;
        let env = self.options.db.env.clone();
        let path = format!("/trace{}", self.made);
        let writer = FileTraceWriter::create(&env, path.as_ref()).map_err(told("create of a trace"))?;
        let began = env.clock.now_micros();
        let options = TraceOptions {
            filter: *chance.pick(&[0, 0, TraceOptions::GET, TraceOptions::WRITE, TraceOptions::SEEK]),
            sampling_frequency: *chance.pick(&[1, 1, 0, 3]),
            max_trace_file_size: *chance.pick(&[1 << 36, 1 << 36, 1 << 36, 300]),
            preserve_write_order: chance.percent(30),
        };
        trace::start(self.db(), options, Box::new(writer)).map_err(told("start of a trace"))?;
        let mut traced: State = vec![Default::default(); FAMILIES.len()];
        for _ in 0..1 + chance.below(10) {
            let (at, key, value) = (chance.below(2) as usize, key(chance), value(chance));
            self.families[at].put(&key, &value).map_err(told("traced put"))?;
            self.families[at].get(&key).map_err(told("traced get"))?;
            if chance.percent(30) {
                let keys = [&key[..], b"key01"];
                self.families[at].multi_get(&keys[..chance.below(3) as usize]);
                let mut iter = self.families[at].iter().map_err(told("traced iter"))?;
                iter.seek(&key);
                iter.seek_for_prev(&key);
            }
            self.change(&Key { family: at, bytes: key.clone() }, Some(&value));
            traced[at].put(&key, &value);
        }
        trace::end(self.db()).map_err(told("end of a trace"))?;
        let copy = format!("/replayed{}", self.made);
        let descriptors =
            FAMILIES.iter().map(|name| FamilyDescriptor::new(*name, self.options.family.clone()));
        let opened = Db::open_with_families(&copy, self.options.clone(), descriptors.collect());
        let db = opened.map_err(told("open for a replay"))?;
        let families: Result<Vec<_>, _> = FAMILIES.iter().map(|name| db.family(name)).collect();
        let families = families.map_err(told("family"))?;
        let mut reader = FileTraceReader::open(&env, path.as_ref()).map_err(told("open of a trace"))?;
        reader.close();
        let closed = (reader.read().is_err(), reader.reset().is_err());
        same("reads of a closed trace fail", &closed, &(true, true))?;
        let reader = FileTraceReader::open(&env, path.as_ref()).map_err(told("open of a trace"))?;
        let mut replayer = Replayer::new(&db, families.clone(), reader).map_err(told("replayer"))?;
        same("time before the header is read", &replayer.header_timestamp(), &0)?;
        replayer.prepare().map_err(told("prepare of a replay"))?;
        same("time of the header", &replayer.header_timestamp(), &began)?;
        let fast = ReplayOptions { fast_forward: 1000.0, ..ReplayOptions::default() };
        replayer.replay(&fast).map_err(told("replay"))?;
        // A trace with fewer writes has rows that the traced database had.
        if options.filter & TraceOptions::WRITE != 0 {
            traced = vec![Default::default(); FAMILIES.len()];
        }
        if options.sampling_frequency < 2 && options.max_trace_file_size > 300 {
            rows_equal(&families, &traced).map_err(|words| format!("after a replay: {words}"))?;
        }
        drop((replayer, families));
        db.close().map_err(told("close after a replay"))?;
        ironstone::destroy(&copy, &self.options.db).map_err(told("destroy"))?;
        env.fs.unlink(path.as_ref()).map_err(told("deletion of a trace"))
    }

    fn deletions(&mut self, chance: &mut Chance) {
        if chance.percent(50) && self.deletions_disabled < 2 {
            self.db().disable_file_deletions();
            self.deletions_disabled += 1;
        } else if self.deletions_disabled > 0 {
            self.db().enable_file_deletions();
            self.deletions_disabled -= 1;
        }
    }
}

impl World for Control {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..55 => self.write(chance),
            55..60 => self.delete_range(chance),
            60..66 => self.families[chance.below(2) as usize].flush().map_err(told("flush")),
            66..73 => self.compact(chance),
            73..78 => self.delete_files(chance),
            78 => self.delete_file(chance),
            79 if chance.percent(40) => self.remove_from_manifest(chance),
            79 => self.delete_file(chance),
            80..84 => self.abort(chance),
            84 => self.cancel(chance),
            85 => self.destroy(),
            86 => self.reopen(),
            87 => self.trace(chance),
            88..92 => self.ingest(chance),
            92..95 => {
                if self.snapshots.len() == 3 {
                    self.snapshots.remove(0);
                }
                self.snapshots.push((self.db().snapshot(), self.state.clone()));
                Ok(())
            }
            95..97 => {
                self.deletions(chance);
                Ok(())
            }
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        rows_equal(&self.families, &self.state)?;
        for (snapshot, state) in &self.snapshots {
            rows_equal_at(&self.families, state, &snapshot.options())
                .map_err(|words| format!("in a snapshot: {words}"))?;
        }
        let kept = self.db().kept_files();
        same("snapshots that keep entries", &kept.snapshots, &(self.snapshots.len() as u64))?;
        same("time of a snapshot", &kept.oldest_snapshot_time.is_some(), &!self.snapshots.is_empty())?;
        same("file deletions are disabled", &kept.deletions_disabled, &(self.deletions_disabled > 0))?;
        same("readers of older versions", &kept.versions.iter().filter_map(|v| v.iterators).count(), &0)
    }
}
