//! Prints a MANIFEST: `manifest_dump`, `list_column_families`, `file_checksum_dump`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base::{FamilyId, FileNumber, Level, Order};
use engine::manifest::{FileSource, Recovered, read_current, recover, recover_file};
use engine::options::FamilyOptions;
use env::{Env, ReadHints};
use format::edit::{NewFile, VersionEdit};
use format::names::{self, FileName};
use format::wal::{Item, Reader, ReaderOptions};

use super::json::Object;
use super::session::{Session, normal};
use super::tree::{self, Blobs};
use super::{Failure, Io, Outcome, show};

/// The number of levels that is printed for a column family whose options are unknown.
const LEVELS_UNKNOWN: usize = 64;

pub(crate) fn command(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let path = match s.args.path("path") {
        Some(path) if path.as_os_str().is_empty() => return Err(Failure::new("--path: missing pathname")),
        Some(path) => path,
        None => only_manifest(&s.env, &s.dir()?)?,
    };
    let families = match s.args.path("db") {
        Some(_) => s.settings(io)?.families,
        None => Vec::new(),
    };
    let verbose = s.args.flag("verbose")?;
    let shown = normal(&path);
    if verbose {
        writeln!(io.out, "Processing Manifest file {shown}")?;
    }
    let how = How { verbose, hex: s.key_hex, json: s.json };
    let dumped = dump(&s.env, &path, &families, how, io)?;
    if verbose {
        writeln!(io.out, "Processing Manifest file {shown} done")?;
    }
    match dumped {
        Ok(()) => Ok(()),
        Err(error) => unprocessed(io, "file", &shown, &error),
    }
}

/// Opens every SST file that the MANIFEST names, to write the temperatures of the files into the MANIFEST. The file systems of
/// this tool know no temperatures, so the MANIFEST stays as it is.
pub(crate) fn update(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    if !s.args.flag("update_temperatures")? {
        let words = "No action like --update_temperatures specified for update_manifest";
        return Err(Failure::new(words));
    }
    let failed = |e: base::Error| Failure::of("failed to update manifest", e);
    s.args.flag("verbose")?;
    let (settings, dir) = (s.settings(io)?, s.dir()?);
    let recovered = read_current(&s.env, &dir).and_then(|current| recover(&s.env, &dir, current));
    let mut count = 0;
    for family in recovered.map_err(failed)?.families.values() {
        let own = settings.families.iter().find(|(name, _)| *name == family.name).map(|(_, own)| own);
        let paths = [&own.unwrap_or(&settings.family).cf_paths, &settings.db.db_paths];
        let paths = paths.into_iter().find(|paths| !paths.is_empty());
        let mut files: Vec<_> = family.files.values().map(|file| (file.number, file.path_id)).collect();
        files.sort_unstable();
        for (number, path_id) in files {
            let at = paths.and_then(|paths| paths.get(path_id as usize).or(paths.last()));
            let at = at.map_or(&dir, |path| &path.path).join(names::table(number));
            s.env.fs.open_sequential(&at).map_err(failed)?;
            count += 1;
        }
    }
    if s.args.flag("verbose")? {
        writeln!(io.err, "{count} SST files have no temperature that differs from the MANIFEST")?;
    }
    Ok(writeln!(io.err, "Manifest updates successful")?)
}

/// Reports a database or a file that cannot be read, in RocksDB's words and without `Failed: `. The command fails.
/// RocksDB's command succeeds.
fn unprocessed(io: &mut Io<'_>, what: &str, path: &str, error: &base::Error) -> Outcome {
    io.out.flush()?;
    writeln!(io.err, "Error in processing {what} {path} {error}")?;
    Err(Failure::new(""))
}

/// Returns the MANIFEST of the directory. Fails if there is no MANIFEST, or more than one.
fn only_manifest(env: &Env, dir: &Path) -> Result<PathBuf, Failure> {
    let names = env
        .fs
        .list(dir)
        .map_err(|e| Failure::new(format!("{e}: Failed to list the content of {}", dir.display())))?;
    let mut found = names.iter().filter(|name| matches!(FileName::parse(name), Some(FileName::Manifest(_))));
    match (found.next(), found.next()) {
        (Some(name), None) => Ok(dir.join(name)),
        (None, _) => Err(Failure::new(format!("No MANIFEST found in {}", dir.display()))),
        _ => Err(Failure::new("Multiple MANIFEST files found; use --path to select one")),
    }
}

/// The form of the output.
#[derive(Clone, Copy, Default)]
pub(crate) struct How {
    pub verbose: bool,
    pub hex: bool,
    pub json: bool,
}

/// Prints the edits if the command line asks for them, then the tree of every column family, then the counters. The
/// inner error is an error of the file. The caller reports it after the output.
pub(crate) fn dump(
    env: &Env,
    path: &Path,
    families: &[(String, FamilyOptions)],
    how: How,
    io: &mut Io<'_>,
) -> Result<base::Result<()>, Failure> {
    let mut blobs: BTreeMap<FamilyId, Blobs> = BTreeMap::new();
    if let Err(error) = edits(env, path, how, &mut blobs, io)? {
        return Ok(Err(error));
    }
    let number = path.file_name().and_then(|n| n.to_str()).and_then(FileName::parse).and_then(|n| n.number());
    let recovered = match recover_file(env, path, number.unwrap_or(FileNumber::ZERO)) {
        Ok(recovered) => recovered,
        Err(error) => return Ok(Err(error)),
    };
    for (index, record) in recovered.families.values().enumerate() {
        let version = recovered.families.len() + index;
        let options = families.iter().find(|(name, _)| *name == record.name).map(|(_, o)| o);
        writeln!(
            io.out,
            "--------------- Column family \"{}\"  (ID {}) --------------",
            record.name, record.id
        )?;
        writeln!(io.out, "log number: {}", record.wal_number)?;
        let name = record.comparator.as_deref().unwrap_or("leveldb.BytewiseComparator");
        let order = match Order::by_name(name) {
            Some(order) => {
                writeln!(io.out, "comparator: {name}")?;
                order
            }
            None => {
                writeln!(io.out, "comparator: <{name}>, but the comparator object is not available.")?;
                Order::Bytewise
            }
        };
        let num_levels = options.map_or(LEVELS_UNKNOWN, |o| usize::try_from(o.num_levels).unwrap_or(1));
        match tree::levels(record, &order, num_levels, version, how.hex) {
            Ok(text) => io.out.write_all(&text)?,
            Err(Failure(text)) => return Ok(Err(base::Error::corruption(text))),
        }
        if let Some(blobs) = blobs.get(&record.id) {
            io.out.write_all(blobs.lines(record, version).as_bytes())?;
        }
        writeln!(
            io.out,
            "By default, manifest file dump prints LSM trees as if {num_levels} levels were configured, which is \
             not necessarily true for the column family (CF) this manifest is associated with. Please consult \
             other DB files, such as the OPTIONS file, to confirm."
        )?;
    }
    let r = &recovered;
    writeln!(
        io.out,
        "next_file_number {} last_sequence {}  prev_log_number {} max_column_family {} min_log_number_to_keep {}",
        r.next_file_number.next(),
        r.last_sequence,
        r.prev_log_number,
        r.max_family,
        r.min_log_number_to_keep
    )?;
    Ok(Ok(()))
}

/// Reads the records. The inner error is an error of the file.
fn edits(
    env: &Env,
    path: &Path,
    how: How,
    blobs: &mut BTreeMap<FamilyId, Blobs>,
    io: &mut Io<'_>,
) -> Result<base::Result<()>, Failure> {
    let file = match env.fs.open_random(path, &ReadHints::default()) {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    let mut reader = Reader::new(FileSource(file), ReaderOptions::default());
    let mut count = 0;
    loop {
        let edit = match reader.next() {
            Ok(Item::Record { bytes, offset, .. }) => {
                VersionEdit::decode(bytes).map_err(|e| e.shifted(offset).file(path))
            }
            // The recovery that follows reports the error.
            Ok(_) => return Ok(Ok(())),
            Err(error) => Err(error),
        };
        let edit = match edit {
            Ok(edit) => edit,
            Err(error) => return Ok(Err(error)),
        };
        blobs.entry(edit.family.id).or_default().take(&edit);
        if how.json {
            writeln!(io.out, "{}", json(&edit, count, how.hex))?;
        } else if how.verbose {
            io.out.write_all(edit.describe(how.hex).as_bytes())?;
        }
        count += 1;
    }
}

/// Formats one edit as an object with RocksDB's names.
fn json(e: &VersionEdit, count: usize, hex: bool) -> String {
    let mut out = Object::default();
    out.raw("EditNumber", count);
    if let Some(id) = &e.db_id {
        out.text("DB ID", id);
    }
    if let Some(name) = &e.comparator {
        out.text("Comparator", name);
    }
    out.maybe("LogNumber", e.wal_number)
        .maybe("PrevLogNumber", e.prev_log_number)
        .maybe("NextFileNumber", e.next_file_number)
        .maybe("MaxColumnFamily", e.max_column_family)
        .maybe("MinLogNumberToKeep", e.min_log_number_to_keep)
        .maybe("LastSeq", e.last_sequence);
    if !e.deleted_files.is_empty() {
        let deleted = |(level, number): &(Level, FileNumber)| {
            numbers(&[("Level", u64::from(level.get())), ("FileNumber", number.get())])
        };
        out.list("DeletedFiles", e.deleted_files.iter().map(deleted));
    }
    if !e.new_files.is_empty() {
        out.list("AddedFiles", e.new_files.iter().map(|file| added(file, hex)));
    }
    blob_files(&mut out, e);
    if !e.wals.additions.is_empty() {
        out.list(
            "WalAdditions",
            e.wals.additions.iter().map(|w| {
                numbers(&[
                    ("LogNumber", w.number.get()),
                    ("SyncedSizeInBytes", w.synced_size_bytes.unwrap_or(u64::MAX)),
                ])
            }),
        );
    }
    if let Some(number) = e.wals.deletion {
        out.raw("WalDeletion", numbers(&[("LogNumber", number.get())]).finish());
    }
    out.raw("ColumnFamily", e.family.id);
    if let Some(name) = &e.family.add {
        out.text("ColumnFamilyAdd", name);
    }
    if e.family.drop {
        out.text("ColumnFamilyDrop", "");
    }
    out.maybe("AtomicGroup", e.remaining_entries);
    if let Some(low) = &e.full_history_ts_low {
        let low = if hex { table::dump::hex(low) } else { String::from_utf8_lossy(low).into_owned() };
        out.text("FullHistoryTsLow", &low);
    }
    out.maybe("LastCompactedManifestFileSize", e.last_compacted_manifest_file_size);
    out.finish()
}

/// Formats the record of a new SST file.
fn added(f: &NewFile, hex: bool) -> Object {
    let key = |bytes: &[u8]| String::from_utf8_lossy(&tree::internal_key(bytes, hex)).into_owned();
    let mut file = numbers(&[
        ("Level", u64::from(f.level.get())),
        ("FileNumber", f.number.get()),
        ("FileSize", f.file_size),
    ]);
    file.text("SmallestIKey", &key(&f.smallest))
        .text("LargestIKey", &key(&f.largest))
        .raw("OldestAncesterTime", f.times.oldest_ancester)
        .raw("FileCreationTime", f.times.creation)
        .raw("EpochNumber", f.epoch_number.get())
        .text("FileChecksum", &table::dump::hex(&f.checksum.value))
        .text("FileChecksumFuncName", &f.checksum.function);
    if f.temperature != 0 {
        file.text("temperature", &f.temperature.to_string());
    }
    file.maybe("OldestBlobFile", f.oldest_blob_file_number)
        .maybe("Temperature", Some(f.temperature).filter(|&t| t != 0))
        .raw("TailSize", f.tail_size)
        .raw("UserDefinedTimestampsPersisted", u8::from(f.user_defined_timestamps_persisted))
        .maybe("FileOpenMetadataSize", Some(f.file_open_metadata.len()).filter(|&n| n != 0));
    file
}

/// Adds the new blob files of an edit, and the garbage in older blob files.
fn blob_files(out: &mut Object, e: &VersionEdit) {
    if !e.blobs.additions.is_empty() {
        out.list(
            "BlobFileAdditions",
            e.blobs.additions.iter().map(|b| {
                let mut file = numbers(&[
                    ("BlobFileNumber", b.blob_file_number.get()),
                    ("TotalBlobCount", b.total_blob_count),
                    ("TotalBlobBytes", b.total_blob_bytes),
                ]);
                file.text("ChecksumMethod", &String::from_utf8_lossy(&b.checksum_method));
                file.text("ChecksumValue", &table::dump::hex(&b.checksum_value));
                file
            }),
        );
    }
    if !e.blobs.garbages.is_empty() {
        out.list(
            "BlobFileGarbages",
            e.blobs.garbages.iter().map(|g| {
                numbers(&[
                    ("BlobFileNumber", g.blob_file_number.get()),
                    ("GarbageBlobCount", g.garbage_blob_count),
                    ("GarbageBlobBytes", g.garbage_blob_bytes),
                ])
            }),
        );
    }
}

fn numbers(fields: &[(&str, u64)]) -> Object {
    let mut object = Object::default();
    for (name, number) in fields {
        object.raw(name, number);
    }
    object
}

fn current(env: &Env, dir: &Path) -> base::Result<Recovered> {
    recover(env, dir, read_current(env, dir)?)
}

pub(crate) fn list_families(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let dir = s.dir()?;
    let recovered = match current(&s.env, &dir) {
        Ok(recovered) => recovered,
        Err(error) => return unprocessed(io, "db", &dir.display().to_string(), &error),
    };
    let names: Vec<_> = recovered.families.values().map(|f| f.name.as_str()).collect();
    if s.json {
        let names: Vec<_> = names.into_iter().map(super::json::quoted).collect();
        return Ok(writeln!(io.out, "{{\"column_families\": [{}]}}", names.join(", "))?);
    }
    Ok(writeln!(io.out, "Column families in {}: \n{{{}}}", dir.display(), names.join(", "))?)
}

/// Prints the checksums of the live SST files: of the database, or of the MANIFEST of `--path`, which RocksDB ignores.
pub(crate) fn checksums(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let recovered = match s.args.path("path") {
        Some(path) if path.as_os_str().is_empty() => return Err(Failure::new("--path: missing pathname")),
        Some(path) if !s.env.fs.exists(&path)? => {
            return Err(Failure::new(format!("{}: No such file or directory", path.display())));
        }
        Some(path) => {
            let name = path.file_name().and_then(|name| name.to_str()).and_then(FileName::parse);
            let number = name.and_then(|name| name.number()).unwrap_or(FileNumber::ZERO);
            recover_file(&s.env, &path, number)?
        }
        None => current(&s.env, &s.dir()?)?,
    };
    let mut files: Vec<_> = recovered.families.values().flat_map(|f| f.files.values()).collect();
    files.sort_by_key(|f| f.number);
    for file in files {
        write!(io.out, "{}, {}, ", file.number, file.checksum.function)?;
        io.out.write_all(&show::bytes(&file.checksum.value, s.key_hex))?;
        io.out.write_all(b"\n")?;
    }
    Ok(io.out.write_all(b"Print SST file checksum information finished \n")?)
}
