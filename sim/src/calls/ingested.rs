//! Ingestions with all options of [`IngestExternalFileOptions`], of files that `SstFileWriter` or another database wrote.
//!
//! ```text
//!  an ingestion that contradicts itself, its files or the rows of the database     an error, and nothing changes
//!  an ingestion that the database may reject because of tombstones or memtables    an error, and nothing changes, or all rows
//!  each other ingestion                                                            all rows
//! ```
//! After `snapshot_consistency=false` a snapshot may show a row of a file. After a replacement of a range no snapshot is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use format::edit::CRC32C_CHECKSUM_FUNC_NAME;
use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, Db, Family, FamilyDescriptor, FileIngestionHandle,
    FlushOptions, IngestExternalFileArg, IngestExternalFileOptions, Kind, Options, PreparedFileInfo,
    ReplaceRange, Snapshot, SstFileWriter, Temperature, WriteBatch,
};
use kernel::checksum::crc32c;
use testkit::chance::Chance;
use testkit::model::Model;

use super::indexed::{rows_equal, rows_equal_at};
use super::overlay::State;
use super::{FAMILIES, Setting, World, key, same, told, value};

/// The largest size of a file in bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The rows of an SST file. `None` is a deletion.
type Rows = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The files of one ingestion, oldest first.
#[derive(Default)]
struct Files {
    paths: Vec<PathBuf>,
    rows: Vec<Rows>,
    infos: Vec<Arc<PreparedFileInfo>>,
    /// True if a database wrote the files.
    are_of_a_database: bool,
}

impl Files {
    /// Returns the smallest and the largest key of each file.
    fn ranges(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.rows.iter().filter_map(|rows| {
            Some((rows.first_key_value()?.0.as_slice(), rows.last_key_value()?.0.as_slice()))
        })
    }

    /// Returns true if two files have overlapping key ranges.
    fn overlap(&self) -> bool {
        let mut ranges: Vec<_> = self.ranges().collect();
        ranges.sort();
        ranges.windows(2).any(|pair| pair[0].1 >= pair[1].0)
    }

    /// Returns true if two files have the same key.
    fn share_a_key(&self) -> bool {
        let mut keys: Vec<_> = self.rows.iter().flat_map(Rows::keys).collect();
        keys.sort();
        keys.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Returns true if a row of the model lies in the key range of a file.
    fn meet(&self, model: &Model) -> bool {
        self.ranges().any(|(first, last)| model.iter().any(|(key, _)| first <= key && key <= last))
    }
}

/// One ingestion.
struct Request {
    /// The index of the column family.
    at: usize,
    files: Files,
    options: IngestExternalFileOptions,
    replaced: Option<ReplaceRange>,
    checksums: Vec<(Vec<u8>, String)>,
    /// True if a checksum is not the checksum of its file.
    is_checksum_wrong: bool,
    has_infos: bool,
}

/// The outcomes that a request may have.
#[derive(Debug, PartialEq)]
enum Verdict {
    Rejected,
    /// Rejected with one of these kinds, or ingested.
    MayBeRejected(Vec<Kind>),
}

/// A database that ingests files, and its model.
pub(super) struct Ingested {
    options: Options,
    db: Option<Db>,
    families: Vec<Family>,
    state: State,
    snapshots: Vec<(Snapshot, State)>,
    made: u64,
}

impl Ingested {
    /// Opens the database.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(setting: &Setting) -> Result<Ingested, String> {
        let mut options = setting.options.clone();
        options.update("inplace_update_support=false").map_err(told("options"))?;
        let state = vec![Default::default(); FAMILIES.len()];
        let mut world =
            Ingested { options, db: None, families: Vec::new(), state, snapshots: Vec::new(), made: 0 };
        world.open()?;
        Ok(world)
    }

    fn open(&mut self) -> Result<(), String> {
        let (db, families) = super::open(&self.options, super::families(&self.options))?;
        (self.db, self.families) = (Some(db), families);
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), String> {
        self.families.clear();
        self.snapshots.clear();
        super::close(&mut self.db)?;
        self.open()?;
        rows_equal(&self.families, &self.state)
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let mut batch = WriteBatch::new();
        for _ in 0..1 + chance.below(6) {
            let (at, key) = (chance.below(2) as usize, key(chance));
            let (id, value) = (self.families[at].id(), value(chance));
            match chance.below(10) {
                0..6 => {
                    batch.put_in(id, &key, &value);
                    self.state[at].put(&key, &value);
                }
                6..9 => {
                    batch.delete_in(id, &key);
                    self.state[at].delete(&key);
                }
                _ => {
                    let end = super::key(chance);
                    let (begin, end) = if key < end { (key, end) } else { (end, key) };
                    batch.delete_range_in(id, &begin, &end);
                    self.state[at].delete_range(&begin, &end);
                }
            }
        }
        self.db().write(batch).map_err(told("write"))
    }

    /// Writes one to three files with `SstFileWriter`. Some files have keys that the database does not have.
    fn write_files(&mut self, chance: &mut Chance) -> Result<Files, String> {
        let mut files = Files::default();
        for _ in 0..1 + chance.below(3) {
            self.made += 1;
            let path = PathBuf::from(format!("/external{}.sst", self.made));
            let fresh = chance.percent(50).then(|| format!("new{:05}.", self.made));
            let rows: Rows = (0..1 + chance.below(12))
                .map(|_| {
                    let mut key = key(chance);
                    key.splice(0..0, fresh.iter().flat_map(|prefix| prefix.bytes()));
                    (key, chance.percent(85).then(|| value(chance)))
                })
                .collect();
            let mut writer = SstFileWriter::create(&path, &self.options.db, &self.options.family)
                .map_err(told("create of an SST file"))?;
            for (key, value) in &rows {
                let done = match value {
                    Some(value) => writer.put(key, value),
                    None => writer.delete(key),
                };
                done.map_err(told("write to an SST file"))?;
            }
            let info = writer.finish().map_err(told("finish of an SST file"))?;
            files.infos.extend(info.prepared_file_info);
            files.paths.push(path);
            files.rows.push(rows);
        }
        Ok(files)
    }

    /// Writes files with another database, which ends afterwards. No two files overlap.
    fn files_of_a_database(&mut self, chance: &mut Chance) -> Result<Files, String> {
        self.made += 1;
        let path = format!("/source{}", self.made);
        let mut options = self.options.clone();
        options
            .update("enable_blob_direct_write=false;enable_blob_files=false;disable_auto_compactions=true")
            .map_err(told("options"))?;
        let family = vec![FamilyDescriptor::new("default", options.family.clone())];
        let db = Db::open_with_families(&path, options, family).map_err(told("open of a source"))?;
        let prefix = if chance.percent(60) { format!("new{:05}.", self.made) } else { String::new() };
        let mut rows = Model::default();
        for _ in 0..1 + chance.below(40) {
            let (key, value) = ([prefix.as_bytes(), &key(chance)].concat(), value(chance));
            db.put(&key, &value).map_err(told("put into a source"))?;
            rows.put(&key, &value);
        }
        db.flush().map_err(told("flush of a source"))?;
        if chance.percent(50) || db.live_files().len() > 1 {
            let all = CompactRangeOptions {
                bottommost_level_compaction: BottommostLevelCompaction::Force,
                ..CompactRangeOptions::default()
            };
            db.compact_range(None, None, &all).map_err(told("compaction of a source"))?;
        }
        let mut files = Files { are_of_a_database: true, ..Files::default() };
        for file in db.live_files() {
            let info = db.prepared_file_info_for_external_sst_ingestion(&file.path);
            files.infos.push(info.map_err(told("prepared_file_info"))?);
            let end = [&file.largest_key[..], &[0]].concat();
            let inside = rows.range(Some(&file.smallest_key), Some(&end));
            files.rows.push(inside.map(|(key, value)| (key.to_vec(), Some(value.to_vec()))).collect());
            files.paths.push(file.path);
        }
        db.close().map_err(told("close of a source"))?;
        Ok(files)
    }

    fn request(&mut self, chance: &mut Chance) -> Result<Request, String> {
        let files =
            if chance.percent(25) { self.files_of_a_database(chance)? } else { self.write_files(chance)? };
        let mut options = options(chance);
        if files.are_of_a_database && chance.percent(90) {
            (options.allow_db_generated_files, options.write_global_seqno) = (true, false);
        }
        // These files keep their sequence numbers, and a later file must have larger sequence numbers for the same key. All entries of
        // `SstFileWriter` have the sequence number 0.
        options.allow_db_generated_files &= !files.share_a_key();
        let replaced = chance.percent(15).then(|| match chance.percent(40) {
            true => ReplaceRange::All,
            false => {
                let (first, last) = (files.ranges().min(), files.ranges().map(|(_, last)| last).max());
                let start = first.map_or_else(Vec::new, |(first, _)| first.to_vec());
                let mut end = last.map_or_else(Vec::new, <[u8]>::to_vec);
                end.extend(chance.percent(80).then_some(0));
                ReplaceRange::Keys { start, end }
            }
        });
        if replaced.is_some() && chance.percent(90) {
            options.snapshot_consistency = false;
        }
        let (mut checksums, mut is_checksum_wrong) = (Vec::new(), false);
        if chance.percent(40) {
            for path in &files.paths {
                let fs = &self.options.db.env.fs;
                let bytes = fs.read_all(path, FILE_BYTES_MAX).map_err(told("read of an SST file"))?;
                let checksum = crc32c::extend(0, &bytes).to_be_bytes().to_vec();
                checksums.push((checksum, CRC32C_CHECKSUM_FUNC_NAME.to_string()));
            }
            // Without the check, the MANIFEST takes a wrong checksum, and `verify_file_checksums` reports it.
            if options.verify_file_checksum && chance.percent(20) {
                checksums[0].0[1] ^= 1;
                is_checksum_wrong = self.options.db.file_checksum_gen_factory.is_some();
            }
        }
        let has_infos = chance.percent(25) && files.infos.len() == files.paths.len();
        let at = chance.below(2) as usize;
        Ok(Request { at, files, options, replaced, checksums, is_checksum_wrong, has_infos })
    }

    /// Returns the outcomes that the options allow.
    fn verdict(&self, request: &Request) -> Verdict {
        let Request { at, files, options, replaced, .. } = request;
        let contradicts = options.move_files && options.link_files
            || options.write_global_seqno && (options.allow_db_generated_files || request.has_infos)
            || options.snapshot_consistency && replaced.is_some()
            || files.are_of_a_database && !options.allow_db_generated_files;
        let is_outside = match replaced {
            Some(ReplaceRange::Keys { start, end }) => {
                files.ranges().any(|(first, last)| first < &start[..] || last >= &end[..])
            }
            _ => false,
        };
        // Files that a database wrote keep their sequence numbers.
        let keeps_numbers = options.allow_db_generated_files || !options.allow_global_seqno;
        let is_hidden = options.snapshot_consistency && !self.snapshots.is_empty();
        let needs_numbers = is_hidden
            || replaced.is_none() && files.meet(&self.state[*at])
            || files.overlap() && !options.allow_db_generated_files;
        if contradicts || is_outside || request.is_checksum_wrong || keeps_numbers && needs_numbers {
            return Verdict::Rejected;
        }
        let mut kinds = Vec::new();
        if keeps_numbers || !options.allow_blocking_flush || replaced.is_some() {
            kinds.push(Kind::InvalidArgument);
        }
        if options.fail_if_not_bottommost_level {
            kinds.push(Kind::TryAgain);
        }
        Verdict::MayBeRejected(kinds)
    }

    fn ingest(&mut self, chance: &mut Chance) -> Result<(), String> {
        let request = self.request(chance)?;
        let verdict = self.verdict(&request);
        let family = &self.families[request.at];
        let before: BTreeSet<_> = family.live_files().into_iter().map(|file| file.number).collect();
        let mut given = IngestExternalFileArg::new(family, &request.files.paths, &request.options);
        given.checksums = request.checksums.clone();
        given.atomic_replace_range = request.replaced.clone();
        given.temperature = *chance.pick(&[Temperature::Unknown, Temperature::Warm]);
        if request.has_infos {
            given.file_infos = request.files.infos.clone();
        }
        let done = match chance.below(4) {
            0 => self.db().prepare_file_ingestion(vec![given]).and_then(FileIngestionHandle::commit),
            1 => {
                // The files of a handle that is dropped change nothing.
                if !request.options.move_files {
                    drop(self.db().prepare_file_ingestion(vec![given.clone()]));
                }
                self.db().ingest_external_files_with(vec![given])
            }
            _ => self.db().ingest_external_files_with(vec![given]),
        };
        let what = || {
            let Request { files, options, replaced, .. } = &request;
            let ranges: Vec<_> = files.ranges().collect();
            format!("ingestion of {ranges:02x?} with {options:?}, in place of {replaced:02x?}")
        };
        match (done, verdict) {
            (Ok(()), Verdict::MayBeRejected(_)) => {
                self.check_files(&request, &before).map_err(|words| format!("{}: {words}", what()))?;
                self.ingested(&request)
            }
            (Err(error), Verdict::MayBeRejected(kinds)) if kinds.contains(&error.kind()) => Ok(()),
            (Err(_), Verdict::Rejected) => Ok(()),
            (done, verdict) => Err(format!("{}: {done:?} and not {verdict:?}", what())),
        }?;
        rows_equal(&self.families, &self.state).map_err(|words| format!("after {}: {words}", what()))
    }

    /// Checks the external files, and the level of the ingested files.
    fn check_files(&self, request: &Request, before: &BTreeSet<ironstone::FileNumber>) -> Result<(), String> {
        for path in &request.files.paths {
            let is_left = self.options.db.env.fs.open_sequential(path).is_ok();
            same("the external file is left", &is_left, &!request.options.move_files)?;
        }
        if request.options.fail_if_not_bottommost_level {
            let family = &self.families[request.at];
            let last = family.options().num_levels as usize - 1;
            let files = family.live_files();
            let new = files.iter().filter(|file| !before.contains(&file.number));
            let on_last = new.filter(|file| file.level.index() == last).count();
            same("files on the last level", &(on_last >= request.files.paths.len()), &true)?;
        }
        Ok(())
    }

    /// Applies an ingestion to the model.
    fn ingested(&mut self, request: &Request) -> Result<(), String> {
        let Request { at, files, options, replaced, .. } = request;
        let model = &mut self.state[*at];
        match replaced {
            Some(ReplaceRange::All) => *model = Model::default(),
            Some(ReplaceRange::Keys { start, end }) => model.delete_range(start, end),
            None => {}
        }
        let rows: Rows =
            files.rows.iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
        for (key, value) in &rows {
            match value {
                Some(value) => model.put(key, value),
                None => model.delete(key),
            }
        }
        if replaced.is_some() {
            self.snapshots.clear();
        }
        if options.snapshot_consistency {
            return Ok(());
        }
        // A snapshot sees an entry that kept its sequence number.
        for (snapshot, state) in &mut self.snapshots {
            for (key, value) in &rows {
                let found = self.families[*at].get_with(key, &snapshot.options()).map_err(told("get"))?;
                if found.as_deref() == value.as_deref() {
                    match value {
                        Some(value) => state[*at].put(key, value),
                        None => state[*at].delete(key),
                    }
                }
            }
        }
        Ok(())
    }
}

/// Draws the options of an ingestion. Most draws change few options.
fn options(chance: &mut Chance) -> IngestExternalFileOptions {
    let mut options = IngestExternalFileOptions {
        move_files: chance.percent(30),
        verify_checksums_before_ingest: chance.percent(30),
        verify_checksums_readahead_size: *chance.pick(&[0, 0, 100, 100_000]),
        verify_file_checksum: chance.percent(70),
        fill_cache: chance.percent(70),
        prefetch_lmax_index_and_filter_blocks: chance.percent(60),
        file_opening_threads: *chance.pick(&[1, 1, 3, 0, -1]),
        failed_move_fall_back_to_copy: chance.percent(50),
        ..IngestExternalFileOptions::default()
    };
    options.link_files = if options.move_files { chance.percent(3) } else { chance.percent(30) };
    options.snapshot_consistency = chance.percent(75);
    options.allow_global_seqno = chance.percent(80);
    options.allow_blocking_flush = chance.percent(80);
    options.write_global_seqno = chance.percent(20);
    options.fail_if_not_bottommost_level = chance.percent(15);
    options.allow_db_generated_files = chance.percent(8);
    options
}

impl World for Ingested {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        let family = self.families[chance.below(2) as usize].clone();
        match chance.below(100) {
            0..40 => self.write(chance),
            40..75 => self.ingest(chance),
            75..83 => {
                let options = FlushOptions { allow_write_stall: true, ..FlushOptions::default() };
                family.flush_with(&options).map_err(told("flush"))
            }
            83..89 => {
                let done = family.compact_range(None, None, &CompactRangeOptions::default());
                done.map_err(told("compact"))
            }
            89..93 => {
                self.snapshots.push((self.db().snapshot(), self.state.clone()));
                Ok(())
            }
            93..96 => {
                self.snapshots.clear();
                Ok(())
            }
            96 => self.reopen(),
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
        self.db().verify_checksum().map_err(told("verify_checksum"))?;
        match self.options.db.file_checksum_gen_factory {
            Some(_) => self.db().verify_file_checksums().map_err(told("verify_file_checksums")),
            None => Ok(()),
        }
    }
}
