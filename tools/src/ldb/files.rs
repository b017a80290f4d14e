//! Commands about files: the live files, their range tombstones, and the content of a file as text.

use base::Level;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::db::Db;
use engine::options::DbPath;
use format::annotate;
use format::names::{self, FileName};
use lsm::table_file::TableFile;
use lsm::version::BlobFile;
use mem::range_del::{FragmentedTombstones, Tombstone};
use table::dump::hex;

use super::json::Object;
use super::session::{Session, normal};
use super::{Failure, Io, Outcome, blob, manifest, wal};
use crate::sst;

/// The size of the largest file that `--annotate` prints.
const ANNOTATED_BYTES_MAX: u64 = 256 << 20;

/// Returns the path of an SST file of an open database.
pub(crate) fn table_path(db: &Db, paths: &[DbPath], file: &TableFile) -> PathBuf {
    let dir = paths.get(file.path_id as usize).or(paths.last()).map_or(db.path(), |p| p.path.as_path());
    dir.join(names::table(file.number))
}

/// A live file of a column family.
enum Live {
    Table { level: Level, file: Arc<TableFile> },
    Blob(Arc<BlobFile>),
}

struct LiveFile {
    path: String,
    family: String,
    live: Live,
}

/// Returns the live files of all column families: for each column family the SST files by level, then the blob files.
fn live_files(db: &Db, paths: &[DbPath]) -> Vec<LiveFile> {
    let mut all = Vec::new();
    for family in db.families() {
        let pinned = family.pin_owned();
        let tables = pinned.version.files().map(|(level, file)| {
            (normal(&table_path(db, paths, file)), Live::Table { level, file: file.clone() })
        });
        let blobs = pinned
            .version
            .blobs()
            .values()
            .map(|blob| (normal(&pinned.parts.blob_path(blob.number)), Live::Blob(blob.clone())));
        let file = |(path, live)| LiveFile { path, family: family.name().to_string(), live };
        all.extend(tables.chain(blobs).map(file));
    }
    all
}

pub(crate) fn list_live(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let settings = s.settings(io)?;
    let paths = settings.db.db_paths.clone();
    let db = s.open_with(settings)?;
    let mut all = live_files(&db, &paths);
    let sorted = s.args.flag("sort_by_filename")?;
    if sorted {
        all.sort_by(|a, b| a.path.cmp(&b.path));
    }
    if s.json {
        return Ok(all.iter().try_for_each(|file| writeln!(io.out, "{}", file.object().finish()))?);
    }
    if sorted {
        writeln!(io.out, "Live SST and Blob Files:")?;
        for LiveFile { path, family, live } in &all {
            match live {
                Live::Table { level, .. } => {
                    writeln!(io.out, "{path} : level {}, column family '{family}'", level.get())?
                }
                Live::Blob(_) => writeln!(io.out, "{path}, column family '{family}'")?,
            }
        }
    } else {
        for family in db.families() {
            writeln!(io.out, "===== Column Family: {} =====\nLive SST Files:", family.name())?;
            let pinned = family.pin_owned();
            for level in pinned.version.levels() {
                writeln!(io.out, "---------- level {} ----------", level.get())?;
                for file in pinned.version.level(level) {
                    writeln!(io.out, "{}", normal(&table_path(&db, &paths, file)))?;
                }
            }
            writeln!(io.out, "Live Blob Files:")?;
            for blob in pinned.version.blobs().values() {
                writeln!(io.out, "{}", normal(&pinned.parts.blob_path(blob.number)))?;
            }
        }
    }
    Ok(writeln!(io.out, "------------------------------")?)
}

impl LiveFile {
    fn object(&self) -> Object {
        let mut row = Object::default();
        row.text("file", &self.path);
        match &self.live {
            Live::Table { level, file } => {
                row.raw("level", level.get()).text("column_family", &self.family).raw("bytes", file.size);
                row.bytes("smallest", file.smallest_user_key(), true);
                row.bytes("largest", file.largest_user_key(), true);
                row.raw("smallest_seqno", file.smallest_seq).raw("largest_seqno", file.largest_seq);
            }
            Live::Blob(blob) => {
                row.text("column_family", &self.family).raw("bytes", blob.file_size());
                row.raw("blobs", blob.total_count).raw("blob_bytes", blob.total_bytes);
                row.raw("garbage_blobs", blob.garbage_count).raw("garbage_bytes", blob.garbage_bytes);
            }
        }
        row
    }
}

/// The limit of the printed range tombstones, unless `--max_keys` sets another limit.
const TOMBSTONES_MAX: u64 = 1000;

pub(crate) fn range_deletes(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let max = s.args.number::<i32>("max_keys")?.map_or(TOMBSTONES_MAX, |n| u64::try_from(n).unwrap_or(0));
    let settings = s.settings(io)?;
    let paths = settings.db.db_paths.clone();
    let db = s.open_with(settings)?;
    let family = s.family_of(&db)?;
    let version = family.pin_owned().version.clone();
    let mut left = max;
    for (level, file) in version.files() {
        if left == 0 {
            break;
        }
        writeln!(io.out, "=== file : {} ===", normal(&table_path(&db, &paths, file)))?;
        let reader = db.files().table(&family, level, file)?;
        let size = family.order().user.timestamp_size();
        let tombstones = reader.range_tombstones().iter().map(|(key, end)| Tombstone::decode(key, end, size));
        let fragments =
            FragmentedTombstones::new(tombstones.collect::<Result<_, _>>()?, family.order().clone());
        for fragment in fragments.iter() {
            for seq in fragment.seqs {
                if left == 0 {
                    break;
                }
                left -= 1;
                writeln!(io.out, "start: {} end: {} seq: {seq}", hex(fragment.start), hex(fragment.end))?;
            }
        }
    }
    if left == 0 && max > 0 {
        writeln!(io.out, "(results may not be complete)")?;
    }
    Ok(writeln!(io.out)?)
}

/// Prints the MANIFEST, every live SST file, and every WAL.
pub(crate) fn dump_live(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    const RULE: &str = "==============================";
    let settings = s.settings(io)?;
    let paths = settings.db.db_paths.clone();
    let wal_dir = settings.db.wal_dir.clone();
    let families = settings.families.clone();
    let db = s.open_with(settings)?;
    let number = engine::manifest::read_current(&s.env, db.path())?;
    let path = db.path().join(names::manifest(number));
    writeln!(io.out, "Manifest File\n{RULE}\n{}", normal(&path))?;
    manifest::dump(&s.env, &path, &families, manifest::How::default(), io)??;
    writeln!(io.out)?;
    for family in db.families() {
        writeln!(io.out, "Column family name: {}\n{RULE}\n\nSST Files\n{RULE}", family.name())?;
        let pinned = family.pin_owned();
        for (level, file) in pinned.version.files() {
            let path = table_path(&db, &paths, file);
            writeln!(io.out, "{} level:{level}\n------------------------------", normal(&path))?;
            sst::dump_file(&s.env, &path, table_how(s, false), io)?;
            writeln!(io.out)?;
        }
        writeln!(io.out, "Blob Files\n{RULE}")?;
        let uncompressed = s.args.flag("dump_uncompressed_blobs")?;
        for blob in pinned.version.blobs().values() {
            let path = pinned.parts.blob_path(blob.number);
            writeln!(io.out, "{}\n------------------------------", normal(&path))?;
            blob::dump(&s.env, &path, blob::How { uncompressed, ..Default::default() }, io)?;
            writeln!(io.out)?;
        }
    }
    writeln!(io.out, "\nWrite Ahead Log Files\n{RULE}")?;
    let dir = if wal_dir.is_empty() { db.path().to_path_buf() } else { PathBuf::from(wal_dir) };
    let how = wal::How { header: true, values: true, gaps_only: false, committed: None };
    let orders = wal::orders(&db);
    // The archived WALs are older, so they come first.
    for dir in [dir.join(names::ARCHIVE_DIR), dir] {
        for path in logs_in(s, &dir)? {
            writeln!(io.out, "{}", normal(&path))?;
            wal::dump(s, &path, how, &orders, io)?;
        }
    }
    Ok(())
}

/// Returns the WALs of a directory that are not empty, by number. Returns no WAL if the directory does not exist.
fn logs_in(s: &Session, dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !s.env.fs.exists(dir)? {
        return Ok(Vec::new());
    }
    let mut logs = Vec::new();
    for name in s.env.fs.list(dir)? {
        if let Some(FileName::Wal(number)) = FileName::parse(&name)
            && s.env.fs.file_size(&dir.join(&name))? > 0
        {
            logs.push((number.get(), dir.join(name)));
        }
    }
    logs.sort();
    Ok(logs.into_iter().map(|(_, path)| path).collect())
}

/// Returns how to print an SST file: keys and values in hexadecimal, and `--decode_blob_index`.
fn table_how(s: &Session, as_hex: bool) -> sst::FileDump {
    sst::FileDump { hex: as_hex, decode_blobs: s.args.has_flag("decode_blob_index"), from: None, to: None }
}

/// Prints one file. Its name gives its type: `dump --path`.
pub(crate) fn dump_by_name(s: &Session, io: &mut Io<'_>, path: &Path) -> Outcome {
    let shown = path.display();
    let Some(kind) = path.file_name().and_then(|n| n.to_str()).and_then(FileName::parse) else {
        return Err(Failure::new(format!("Can't parse file type: {shown}")));
    };
    match kind {
        FileName::Wal(_) | FileName::ArchivedWal(_) => {
            let how = wal::How { header: true, values: true, gaps_only: false, committed: None };
            wal::dump(s, path, how, &Default::default(), io)
        }
        FileName::Table(_) | FileName::LegacyTable(_) => {
            let how = sst::FileDump { from: s.bound("from")?, to: s.bound("to")?, ..table_how(s, s.key_hex) };
            sst::dump_file(&s.env, path, how, io)
        }
        FileName::Manifest(_) => {
            let how = manifest::How { hex: s.key_hex, ..Default::default() };
            Ok(manifest::dump(&s.env, path, &[], how, io)??)
        }
        FileName::Blob(_) => {
            let uncompressed = s.args.has_flag("dump_uncompressed_blobs");
            let how = blob::How { key_hex: s.key_hex, value_hex: s.value_hex, uncompressed };
            blob::dump(&s.env, path, how, io)
        }
        _ => Err(Failure::new(format!("File type not supported: {shown}"))),
    }
}

/// Prints one file: `file_dump FILE`. Without a file, prints the whole database.
pub(crate) fn dump_file(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    use std::os::unix::ffi::OsStrExt;
    let Some(param) = s.args.params.first() else { return dump_live(s, io) };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(param));
    let kind = path.file_name().and_then(|n| n.to_str()).and_then(FileName::parse);
    let annotated = s.args.flag("annotate")?;
    match kind {
        Some(
            FileName::Current
            | FileName::Identity
            | FileName::Options(_)
            | FileName::InfoLog
            | FileName::OldInfoLog(_),
        ) => Ok(io.out.write_all(&s.env.fs.read_all(&path, ANNOTATED_BYTES_MAX)?)?),
        Some(FileName::Wal(_) | FileName::Manifest(_)) if annotated => {
            let bytes = s.env.fs.read_all(&path, ANNOTATED_BYTES_MAX)?;
            let content = match kind {
                Some(FileName::Manifest(_)) => annotate::Content::Edits,
                _ => annotate::Content::Batches,
            };
            Ok(write!(io.out, "{}", annotate::wal(&bytes, content))?)
        }
        Some(FileName::Table(_) | FileName::LegacyTable(_)) if annotated => sst::raw_to(&s.env, &path, io),
        _ if annotated => Err(Failure::new(format!(
            "Not implemented: --annotate of {}: logs, MANIFESTs and tables can be annotated",
            path.display()
        ))),
        _ => dump_by_name(s, io, &path),
    }
}
