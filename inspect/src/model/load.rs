//! Reads a directory into a [`Database`].
//!
//! The loader opens files only for reading, and takes no lock. A writer may change the directory at the same time. A
//! file may disappear between the list and the read. This is not a problem if the next MANIFEST does not name the
//! file.

use std::path::Path;

use base::map::HashMap;
use base::{Error, Level, Order, Result};
use engine::manifest::{FamilyRecord, Recovered, read_current, recover, recover_leniently};
use env::Env;
use format::edit::NewFile;
use format::names;

use super::families::{AXIS, BlobFile, Family, SstFile, TableStats};
use super::files::{DiskFile, FileKind};
use super::problems::{LOST_EDITS, PROBLEMS_MAX, Weight, plain, problem};
use crate::words;

use super::{Database, Manifest, Source, identity, info_log, option_rows, places, tables};

/// Limits of one load.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The number of SST files whose properties are read.
    pub tables_max: usize,
    /// The microseconds for reading the properties of SST files.
    pub table_micros_max: u64,
    /// The bytes of info logs that are read, newest first.
    pub log_bytes_max: u64,
}

impl Budget {
    /// The limits of a page: about a second.
    pub const PAGE: Budget = Budget { tables_max: 4000, table_micros_max: 600_000, log_bytes_max: 16 << 20 };
    /// The limits of a command: up to a minute.
    pub const COMMAND: Budget =
        Budget { tables_max: 20_000, table_micros_max: 60_000_000, log_bytes_max: 64 << 20 };
}

/// The largest number of files that are listed.
const FILES_MAX: usize = 200_000;

/// The largest number of faults of the MANIFEST that are listed.
const MANIFEST_FAULTS_MAX: usize = 20;

/// The largest length of a key bound in bytes. The rest is cut off.
const KEY_SHOWN_MAX: usize = 64;

/// Reads the database at `dir`. If the path is a file, reads it as an info log. Changes nothing and takes no lock.
///
/// Damage is not an error: the result lists the problems, and the facts that are readable.
///
/// # Errors
/// NotFound if the path does not exist, or contains no file of a database. Errors of the file system.
pub fn load(env: &Env, dir: &Path, budget: &Budget) -> Result<Database> {
    load_after(env, dir, budget, None)
}

/// Reads a directory as [`load`] does. If `before` has the properties of an SST file, they are taken from `before`,
/// because an SST file never changes.
///
/// # Errors
/// The errors of [`load`].
pub fn load_after(env: &Env, dir: &Path, budget: &Budget, before: Option<&Database>) -> Result<Database> {
    let mut attempts = 1;
    loop {
        let db = load_once(env, dir, budget, before)?;
        let is_damaged = db.problems.iter().any(|problem| problem.weight == Weight::Damage);
        if !is_damaged || attempts == ATTEMPTS_MAX || !is_changing(env, dir, &db) {
            return Ok(db);
        }
        attempts += 1;
    }
}

/// A running writer can delete files during the read. The read is then repeated. This is the largest number of reads.
const ATTEMPTS_MAX: u32 = 5;

/// Returns true if a writer has changed the MANIFEST since the read.
fn is_changing(env: &Env, dir: &Path, db: &Database) -> bool {
    let Some(manifest) = &db.manifest else { return false };
    let current = read_current(env, dir).map_or(manifest.number, |number| number.get());
    let path = dir.join(names::manifest(base::FileNumber::new(manifest.number)));
    let size = env.fs.file_size(&path).unwrap_or(0);
    current != manifest.number || size > manifest.size
}

fn load_once(env: &Env, dir: &Path, budget: &Budget, before: Option<&Database>) -> Result<Database> {
    let name = dir.file_name().map_or_else(|| ".".to_string(), |name| name.to_string_lossy().into_owned());
    let now = env.clock.now_micros() / 1_000_000;
    if !env.fs.exists(dir)? {
        return Err(Error::not_found("the path does not exist").file(dir));
    }
    if !env.fs.is_dir(dir)? {
        let mut db = Database::empty(Source::InfoLog, name, now);
        info_log::load(env, &[dir.to_path_buf()], budget.log_bytes_max, &mut db)?;
        if db.log.first_micros == 0 {
            return Err(Error::invalid_argument("the file has no line of an info log").file(dir));
        }
        return Ok(db);
    }
    let mut db = Database::empty(Source::Directory, name, now);
    list(env, dir, &mut db)?;
    if db.files.iter().all(|file| file.kind == FileKind::Other) {
        return Err(Error::not_found("the directory has no file of a database").file(dir));
    }
    let recovered = manifest(env, dir, &mut db);
    options_file(env, dir, &mut db);
    places::add_others(env, dir, &mut db);
    if let Some(recovered) = recovered {
        families(&recovered, &mut db);
        presence(env, dir, &mut db);
        wals(env, dir, &recovered, &mut db);
        lost_edits(env, dir, &recovered, &mut db);
        statistics(env, (dir, &recovered), budget, before, &mut db);
    }
    let mut logs: Vec<&DiskFile> = db.files.iter().filter(|f| f.kind == FileKind::InfoLog).collect();
    logs.sort_by_key(|file| file.number);
    let logs: Vec<_> = logs.into_iter().map(|file| db.dir_of(file, dir).join(&file.name)).collect();
    info_log::load(env, &logs, budget.log_bytes_max, &mut db)?;
    db.problems.truncate(PROBLEMS_MAX);
    Ok(db)
}

fn list(env: &Env, dir: &Path, db: &mut Database) -> Result<()> {
    let mut listed = env.fs.list(dir)?;
    listed.sort();
    if listed.len() > FILES_MAX {
        let text = format!("the directory has {} files; {FILES_MAX} files are read", listed.len());
        problem(db, Weight::Warning, "", None, text);
        listed.truncate(FILES_MAX);
    }
    for name in listed {
        db.files.extend(places::disk_file(env, dir, &name, names::INFO_LOG));
    }
    Ok(())
}

/// Reads the MANIFEST that CURRENT names. If CURRENT is unreadable, reads the newest MANIFEST.
fn manifest(env: &Env, dir: &Path, db: &mut Database) -> Option<Recovered> {
    let newest = db.files.iter().filter(|f| f.kind == FileKind::Manifest).map(|f| f.number).max();
    let number = match read_current(env, dir) {
        Ok(number) => number,
        Err(error) => {
            let exists = env.fs.exists(&dir.join(names::CURRENT)).unwrap_or(true);
            let text = match (exists, newest) {
                (false, Some(number)) => {
                    let name = names::manifest(base::FileNumber::new(number));
                    format!("the file is missing; the facts are those of the newest MANIFEST, {name}")
                }
                (false, None) => {
                    "the file is missing, and the directory has no MANIFEST: it is an export of a column family, or a part of a \
                     database"
                        .to_string()
                }
                _ => plain(&error),
            };
            problem(db, Weight::Damage, names::CURRENT, None, text);
            base::FileNumber::new(newest?)
        }
    };
    let name = names::manifest(number);
    let recovered = match recover(env, dir, number) {
        Ok(recovered) => recovered,
        Err(error) => {
            let lenient = recover_leniently(env, &dir.join(&name), number).ok();
            let faults = lenient.iter().flat_map(|lenient| &lenient.faults).take(MANIFEST_FAULTS_MAX);
            let faults: Vec<_> = faults.collect();
            if faults.iter().all(|fault| error.offset() != Some(fault.offset)) {
                problem(db, Weight::Damage, &name, error.offset(), plain(&error));
            }
            for fault in faults {
                let text = match fault.lost_bytes {
                    0 => format!("{}; a repair corrects it without loss", fault.what),
                    1 => format!("{}; 1 byte is unreadable", fault.what),
                    lost => format!("{}; {lost} bytes are unreadable", fault.what),
                };
                problem(db, Weight::Damage, &name, Some(fault.offset), text);
            }
            lenient?.recovered
        }
    };
    if let Some(lost) = recovered.end.lost() {
        problem(
            db,
            Weight::Damage,
            &name,
            None,
            format!("{} bytes are lost: {}", lost.bytes, plain(&lost.error)),
        );
    }
    if recovered.end.without_loss().is_in_doubt() {
        let text = "the last record is cut, as after a crash during the write";
        problem(db, Weight::Note, &name, Some(recovered.size), text.to_string());
    }
    db.manifest = Some(Manifest {
        number: number.get(),
        size: recovered.size,
        edits: recovered.edits,
        next_file_number: recovered.next_file_number.get(),
        last_sequence: recovered.last_sequence.get(),
        min_log_number_to_keep: recovered.min_log_number_to_keep.get(),
        db_id: recovered.db_id.clone(),
    });
    Some(recovered)
}

fn options_file(env: &Env, dir: &Path, db: &mut Database) {
    let newest = db.files.iter().filter(|f| f.kind == FileKind::Options).max_by_key(|f| f.number);
    let Some(name) = newest.map(|file| file.name.clone()) else { return };
    match option_rows::load(env, &dir.join(&name), &name) {
        Ok(options) => db.options = Some(options),
        Err(error) => problem(db, Weight::Damage, &name, error.offset(), plain(&error)),
    }
}

fn families(recovered: &Recovered, db: &mut Database) {
    for record in recovered.families.values() {
        let comparator = record.comparator.clone().unwrap_or_else(|| Order::Bytewise.name().to_string());
        let order = Order::by_name(&comparator).unwrap_or(Order::Bytewise);
        let mut family = Family {
            id: record.id.get(),
            name: record.name.clone(),
            comparator,
            wal_number: record.wal_number.get(),
            ..Family::default()
        };
        fill(record, &order, &mut family);
        db.families.push(family);
    }
}

fn fill(record: &FamilyRecord, order: &Order, family: &mut Family) {
    let user = |key: &[u8]| base::key::user_key(key).to_vec();
    let mut bounds: Vec<Vec<u8>> =
        record.files.values().flat_map(|f| [user(&f.smallest), user(&f.largest)]).collect();
    bounds.sort_by(|a, b| order.compare(a, b));
    bounds.dedup();
    let rank = |key: &[u8]| bounds.partition_point(|bound| order.compare(bound, key).is_lt()) as u32;
    for file in record.files.values() {
        let (smallest, largest) = (user(&file.smallest), user(&file.largest));
        family.files.push(SstFile {
            number: file.number.get(),
            level: file.level,
            size: file.file_size,
            span: (rank(&smallest), rank(&largest)),
            smallest: Some(shown(&smallest)),
            largest: Some(shown(&largest)),
            smallest_seq: file.smallest_seqno.get(),
            largest_seq: file.largest_seqno.get(),
            created: file.times.creation,
            oldest: file.times.oldest_ancester,
            epoch: file.epoch_number.get(),
            marked: file.marked_for_compaction,
            temperature: file.temperature,
            path_id: file.path_id,
            present: false,
            elsewhere: false,
            unreadable: false,
            stats: None,
        });
    }
    family.files.sort_by(|a, b| {
        let newest_first = (b.epoch, b.largest_seq, b.number).cmp(&(a.epoch, a.largest_seq, a.number));
        let in_level = if a.level == Level::ZERO { newest_first } else { a.span.cmp(&b.span) };
        a.level.cmp(&b.level).then(in_level)
    });
    spread(&mut family.files, bounds.len());
    let linked = record.files.values().filter_map(|f| f.oldest_blob_file_number).min();
    for blob in record.blobs.values() {
        let garbage = record.blob_garbage.get(&blob.blob_file_number).copied().unwrap_or((0, 0));
        let (garbage_blobs, garbage_bytes) = garbage;
        let is_live = linked.is_some_and(|oldest| blob.blob_file_number >= oldest)
            && garbage_blobs < blob.total_blob_count;
        if is_live {
            family.blobs.push(BlobFile {
                number: blob.blob_file_number.get(),
                blobs: blob.total_blob_count,
                bytes: blob.total_blob_bytes,
                garbage_bytes,
            });
        }
    }
}

/// Replaces the ranks of key bounds by positions on the key axis. The data of a file is spread evenly over the
/// intervals between the bounds that the file covers.
fn spread(files: &mut [SstFile], bounds: usize) {
    let mut change = vec![0.0; bounds + 1];
    for file in files.iter() {
        let (first, last) = file.span;
        let intervals = f64::from(last.saturating_sub(first).max(1));
        change[first as usize] += file.size as f64 / intervals;
        change[(last.max(first + 1) as usize).min(bounds)] -= file.size as f64 / intervals;
    }
    let (mut density, mut place) = (0.0, 0.0);
    let mut places = Vec::with_capacity(bounds + 1);
    for step in change {
        places.push(place);
        density += step;
        place += density.max(0.0);
    }
    let whole = places.last().copied().unwrap_or(1.0_f64).max(1.0);
    let of = |rank: u32| {
        let place = places.get(rank as usize).copied().unwrap_or(whole);
        (place / whole * f64::from(AXIS)) as u32
    };
    for file in files {
        let (first, last) = file.span;
        file.span = (of(first), of(last));
    }
}

fn shown(key: &[u8]) -> String {
    let mut text = table::dump::hex(&key[..key.len().min(KEY_SHOWN_MAX)]);
    if key.len() > KEY_SHOWN_MAX {
        text.push_str(&format!("... ({} bytes)", key.len()));
    }
    text
}

/// Compares the MANIFEST with the files on disk.
fn presence(env: &Env, dir: &Path, db: &mut Database) {
    let of_kind = |db: &Database, kind| -> HashMap<u64, u64> {
        db.files.iter().filter(|f| f.kind == kind).map(|f| (f.number, f.size)).collect()
    };
    let (tables, blobs) = (of_kind(db, FileKind::Table), of_kind(db, FileKind::Blob));
    let paths = first_paths(db, &tables, dir);
    let mut found = Vec::new();
    let mut live = base::map::HashSet::default();
    for (family, first) in db.families.iter_mut().zip(paths) {
        for file in &mut family.files {
            live.insert(file.number);
            let name = names::table(base::FileNumber::new(file.number));
            // A running writer creates and extends files between the list of files and the read of the MANIFEST.
            let size = match tables.get(&file.number) {
                Some(size) if *size == file.size => Some(*size),
                _ => env.fs.file_size(&dir.join(&name)).ok(),
            };
            match size {
                Some(size) if size == file.size => file.present = true,
                Some(size) => {
                    let text = format!("the MANIFEST says {} bytes; the file has {size} bytes", file.size);
                    found.push((Weight::Damage, name, text));
                }
                None if file.path_id > 0 || first != FirstPath::Here => file.elsewhere = true,
                None => {
                    let text = "the MANIFEST names the file; the file is missing".to_string();
                    found.push((Weight::Damage, name, text));
                }
            }
        }
        for blob in &family.blobs {
            live.insert(blob.number);
            let name = names::blob(base::FileNumber::new(blob.number));
            if first != FirstPath::Here {
                continue;
            }
            let least = format::blob::HEADER_LEN as u64 + blob.bytes;
            // A running writer creates and extends files between the list of files and the read of the MANIFEST.
            let size = match blobs.get(&blob.number) {
                Some(size) if *size >= least => continue,
                _ => env.fs.file_size(&dir.join(&name)).ok(),
            };
            let text = match size {
                Some(size) if size >= least => continue,
                Some(size) => format!("the MANIFEST says at least {least} bytes; the file has {size} bytes"),
                None => "the MANIFEST names the blob file; the file is missing".to_string(),
            };
            found.push((Weight::Damage, name, text));
        }
        let count = family.files.iter().filter(|file| file.elsewhere).count() as u64;
        if count > 0 {
            let files = words::of(count, "SST file");
            found.push(match first {
                FirstPath::Unknown => (
                    Weight::Warning,
                    String::new(),
                    format!(
                        "{files} of column family {:?} not in this directory: if cf_paths or db_paths name another directory, the \
                         files are there; otherwise they are lost",
                        family.name
                    ),
                ),
                _ => (
                    Weight::Note,
                    String::new(),
                    format!("{files} of column family {:?} in another directory of cf_paths or db_paths", family.name),
                ),
            });
        }
    }
    for (weight, name, text) in found.into_iter().take(PROBLEMS_MAX) {
        problem(db, weight, &name, None, text);
    }
    for file in &mut db.files {
        if matches!(file.kind, FileKind::Table | FileKind::Blob) {
            file.live = live.contains(&file.number);
        }
    }
}

/// Reports edits that the MANIFEST lost after they were durable. An engine deletes a WAL only after the edit that makes the WAL obsolete
/// is durable. So a missing WAL that the readable edits keep, next to a newer WAL, shows that a newer edit was durable. The edit is lost if
/// the MANIFEST ends inside a record, if a file has a number that the MANIFEST has not used yet, or if the second edit of a flush is
/// missing. A crash during a write of the MANIFEST leaves the same end, but it leaves the WAL too.
fn lost_edits(env: &Env, dir: &Path, recovered: &Recovered, db: &mut Database) {
    let kept = match recovered.min_log_number_to_keep {
        number if number.get() > 0 => number,
        _ => oldest_needed_wal(recovered),
    };
    let is_wal = |file: &&DiskFile| matches!(file.kind, FileKind::Wal | FileKind::ArchivedWal);
    let has_newer = db.files.iter().filter(is_wal).any(|file| file.number > kept.get());
    let wal = names::wal(kept);
    let dirs = [dir.to_path_buf(), db.wal_dir(dir)];
    let exists = dirs.iter().any(|dir| env.fs.exists(&dir.join(&wal)).unwrap_or(true));
    if kept.get() == 0 || exists || !has_newer || recovered.end.lost().is_some() {
        return;
    }
    let next = recovered.next_file_number.get();
    let is_unnamed = |file: &&DiskFile| {
        matches!(file.kind, FileKind::Table | FileKind::Blob) && !file.live && file.number >= next
    };
    let unnamed: Vec<&str> = db.files.iter().filter(is_unnamed).map(|file| file.name.as_str()).collect();
    // A flush writes two edits at once: one moves the column family to a newer WAL, and one allows the deletion of the older WALs. A
    // drop of a column family also moves the oldest needed WAL, without an edit.
    let is_behind = recovered.families.len() == 1
        && recovered.max_family == base::FamilyId::DEFAULT
        && oldest_needed_wal(recovered) > kept;
    let is_torn = recovered.end.is_in_doubt();
    if !is_torn && !is_behind && unnamed.is_empty() {
        return;
    }
    let end = if is_torn { "the last record is cut" } else { "the last records are missing" };
    let files = match unnamed.as_slice() {
        [] => String::new(),
        [first] => format!("; no edit names {first}, which is newer"),
        [first, rest @ ..] => {
            let more = words::of(rest.len() as u64, "more file");
            format!("; no edit names {first} and {more}, which are newer")
        }
    };
    let text = format!(
        "{LOST_EDITS}: {end}, but they were durable, because {wal} is deleted and the readable edits keep this WAL{files}"
    );
    let manifest = names::manifest(base::FileNumber::new(db.manifest.as_ref().map_or(0, |m| m.number)));
    problem(db, Weight::Damage, &manifest, Some(recovered.size), text);
}

/// Returns the number of the oldest WAL that a recovery of these edits reads.
fn oldest_needed_wal(recovered: &Recovered) -> base::WalNumber {
    let oldest = recovered.families.values().map(|family| family.wal_number).min().unwrap_or_default();
    oldest.max(recovered.min_log_number_to_keep)
}

/// Compares the WALs that the MANIFEST tracks with the files on disk. In a copy of a database, the option `wal_dir` can name the
/// directory of the original, so a WAL may be in either directory.
fn wals(env: &Env, dir: &Path, recovered: &Recovered, db: &mut Database) {
    let needed = oldest_needed_wal(recovered);
    let dirs = [dir.to_path_buf(), db.wal_dir(dir)];
    if !env.fs.is_dir(&dirs[1]).unwrap_or(false) {
        return;
    }
    for (number, synced) in recovered.wals.range(needed..) {
        let name = names::wal(*number);
        let size = dirs.iter().filter_map(|dir| env.fs.file_size(&dir.join(&name)).ok()).max();
        let text = match (size, *synced) {
            (_, Some(0)) => continue,
            (None, _) => "the MANIFEST names the WAL; the file is missing".to_string(),
            (Some(size), Some(synced)) if size < synced => {
                format!("the MANIFEST says {synced} synced bytes; the file has {size} bytes")
            }
            _ => continue,
        };
        problem(db, Weight::Damage, &name, None, text);
    }
}

/// The directory of the first path of a column family.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstPath {
    /// The directory of the database.
    Here,
    /// Another directory.
    Elsewhere,
    /// No file of the path is in the directory of the database: the directory is another one, or all files are lost.
    Unknown,
}

/// Returns the first path of each column family. Without `cf_paths` and `db_paths`, the first path is the directory of the database.
/// An OPTIONS file of release 7 or later shows that `db_paths` begins with another directory: only then the file names the directory
/// of the database as `wal_dir`. Nothing shows `cf_paths`, unless a file has a path above 0.
fn first_paths(db: &Database, tables: &HashMap<u64, u64>, dir: &Path) -> Vec<FirstPath> {
    let wal_dir = db.db_option("wal_dir").filter(|path| !path.is_empty());
    let release = db.options.as_ref().map_or(0, super::OptionsText::major_release);
    let names_dir = wal_dir.is_some_and(|path| Path::new(&path).file_name() == dir.file_name());
    let of = |family: &Family| {
        let mut first = family.files.iter().filter(|file| file.path_id == 0).peekable();
        let is_empty = first.peek().is_none();
        match first.any(|file| tables.contains_key(&file.number)) {
            true => FirstPath::Here,
            false if release >= 7 && names_dir || family.files.iter().any(|file| file.path_id > 0) => {
                FirstPath::Elsewhere
            }
            false if is_empty => FirstPath::Here,
            false => FirstPath::Unknown,
        }
    };
    db.families.iter().map(of).collect()
}

/// Reads the properties of SST files, up to the limits. The files of the upper levels come first.
fn statistics(
    env: &Env,
    (dir, recovered): (&Path, &Recovered),
    budget: &Budget,
    before: Option<&Database>,
    db: &mut Database,
) {
    let start = env.clock.now_nanos();
    let (mut read, mut known_count, mut faults) = (0, 0, Vec::new());
    let files = before.iter().flat_map(|db| &db.families).flat_map(|family| &family.files);
    let known: HashMap<(u64, u64, u64), &SstFile> =
        files.map(|file| ((file.number, file.size, file.created), file)).collect();
    'all: for family in &mut db.families {
        let record = recovered.families.get(&base::FamilyId::new(family.id));
        for file in family.files.iter_mut().filter(|file| file.present) {
            let same = known.get(&(file.number, file.size, file.created));
            if let Some(stats) = same.and_then(|file| file.stats.clone()) {
                file.stats = Some(stats);
                known_count += 1;
                continue;
            }
            let elapsed_micros = (env.clock.now_nanos() - start) / 1000;
            if read >= budget.tables_max || elapsed_micros > budget.table_micros_max {
                break 'all;
            }
            read += 1;
            let name = names::table(base::FileNumber::new(file.number));
            let record = record.and_then(|family| family.files.get(&base::FileNumber::new(file.number)));
            match read_stats(env, &dir.join(&name), record, &family.comparator) {
                Ok(stats) => file.stats = Some(stats),
                Err(error) => {
                    file.unreadable = true;
                    faults.push((name, error));
                }
            }
        }
    }
    db.tables_read = read + known_count;
    for (name, error) in faults.into_iter().take(PROBLEMS_MAX) {
        problem(db, Weight::Damage, &name, error.offset(), plain(&error));
    }
}

/// Reads the properties of an SST file. Corruption if the file is another file than the file of the MANIFEST.
fn read_stats(env: &Env, path: &Path, record: Option<&NewFile>, comparator: &str) -> Result<TableStats> {
    let (reader, _) = tables::open_table(env, path)?;
    let properties = reader.properties();
    match record.and_then(|record| identity::difference(record, comparator, properties)) {
        Some(text) => Err(Error::corruption(text).file(path)),
        // A damaged index is no reason to hide the properties. The check of the blocks reports the index.
        None => Ok(TableStats {
            key_blocks: tables::key_blocks(&reader).unwrap_or(0),
            ..tables::stats(properties)
        }),
    }
}
