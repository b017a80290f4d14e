//! OPTIONS files: writes all options of a database as a text that RocksDB reads, and reads such a text.
//!
//! The open of a database reads no OPTIONS file; tools and `load_latest` do. A file can name an object that only the
//! application can make, for example a merge operator. [`OptionsFile::missing`] lists these objects, and the caller
//! sets them.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use base::option::{Release, Row};
use base::{Arrange, Error, FileNumber, Kind, Result, Subcode};
use env::Env;
use format::names::{self, FileName};
use format::options_ini::{self, Title, Version};
use format::proof::{self, OptionsExtent, Proof};
use table::options::OPTIONS;

use super::check;
use super::component::BLOCK_BASED;
use super::family::TableFactory;
use super::text;
use super::{DbOptions, FamilyOptions};

/// The largest OPTIONS file that is read. A column family takes 6 KB, so 40,000 column families fit.
const FILE_LEN_MAX: u64 = 256 << 20;

/// Settings for reading an OPTIONS file.
#[derive(Clone, Copy, Debug)]
pub struct ReadConfig {
    /// Skips unknown options if a later release wrote the file. In files of other releases, an unknown option is an
    /// error. Default: false, an unknown option is always an error.
    pub ignore_unknown_options: bool,
    /// Lists objects that cannot be made from their names in [`OptionsFile::missing`]. If false, such an object is an
    /// error. Default: true.
    pub ignore_unsupported_options: bool,
    /// [`load_latest`] accepts a file that changed after the last close of the database, for example by hand.
    /// Default: false. An OPTIONS file has no checksum, so a change can be corruption.
    pub accept_changed: bool,
}

impl Default for ReadConfig {
    fn default() -> Self {
        ReadConfig { ignore_unknown_options: false, ignore_unsupported_options: true, accept_changed: false }
    }
}

/// The content of an OPTIONS file.
#[derive(Clone, Default)]
pub struct OptionsFile {
    /// The release of RocksDB that the file names.
    pub rocksdb_version: Version,
    /// The options of the database.
    pub db: DbOptions,
    /// The column families in the order of the file. The first is `default`.
    pub families: Vec<(String, FamilyOptions)>,
    /// The objects that the caller must set before an open.
    pub missing: Vec<Missing>,
    /// The unknown options that were skipped.
    pub ignored: Vec<String>,
}

/// An object that the file names, and that the caller must set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The column family of the option. `None` for an option of the database.
    pub family: Option<String>,
    /// The name of the option.
    pub option: String,
    /// The name of the object in the file.
    pub object: String,
}

impl Missing {
    /// Returns true if the object only receives events. Without such an object, a program reads and writes the same data.
    pub fn only_observes(&self) -> bool {
        self.option == text::LISTENERS
    }
}

impl OptionsFile {
    /// Returns the options of the column family with this name, or `None` if the file does not have it.
    pub fn family(&self, name: &str) -> Option<&FamilyOptions> {
        self.families.iter().find(|(n, _)| n == name).map(|(_, options)| options)
    }
}

/// Returns the text of the file. With the option `compat`, the text holds only what the named release knows, and its
/// `rocksdb_version` is this release.
pub fn write<'a>(db: &DbOptions, families: impl IntoIterator<Item = (&'a str, &'a FamilyOptions)>) -> String {
    let release = db.compat.release();
    let mut out = options_ini::Writer::of_version(db.compat.version());
    out.section(&Title::DbOptions);
    text::write_db(&mut out, db, release);
    out.end_section();
    for (name, options) in families {
        out.section(&Title::CfOptions(name.to_string()));
        text::write_family(&mut out, options, release);
        out.end_section();
        let factory = options.table_factory.name().to_string();
        out.section(&Title::TableOptions { factory, family: name.to_string() });
        match &options.table_factory {
            TableFactory::BlockBased(table) => text::write_table(&mut out, table, release),
            other => other.statements().iter().for_each(|(n, v)| out.statement(n, v)),
        }
        out.end_section();
    }
    out.finish()
}

/// Reads the text of an OPTIONS file.
///
/// # Errors
/// InvalidArgument or Corruption if the text is no OPTIONS file, or has an unknown option or a wrong value.
/// NotSupported for an object that cannot be made, unless `ignore_unsupported_options` is set.
pub fn read(text: &str, config: &ReadConfig) -> Result<OptionsFile> {
    let parsed = options_ini::parse(text)?;
    let unknown_ok = config.ignore_unknown_options && parsed.is_from_future();
    let mut file = OptionsFile { rocksdb_version: parsed.rocksdb_version, ..OptionsFile::default() };
    let mut notes = Notes { config, unknown_ok, missing: Vec::new(), ignored: Vec::new() };
    for (name, value) in parsed.db_options() {
        let result = file.db.set(name, value);
        notes
            .take(None, name, value, DbOptions::is_known, result)
            .map_err(|e| e.at(place(text, name, value)))?;
    }
    for family in parsed.families() {
        let mut options = FamilyOptions::default();
        for (name, value) in parsed.family(family) {
            let result = match (name.as_str(), parsed.table(family)) {
                // The section of the table has the options of the table. This line has the name only.
                ("table_factory", Some(_)) => Ok(()),
                _ => options.set(name, value),
            };
            let taken = notes.take(Some(family), name, value, FamilyOptions::is_known, result);
            taken.map_err(|e| e.at(place(text, name, value)))?;
        }
        if let Some((factory, statements)) = parsed.table(family) {
            options.table_factory = TableFactory::by_name(factory)
                .unwrap_or_else(|_| TableFactory::Other { name: factory.to_string(), options: Vec::new() });
            for (name, value) in statements {
                let result = options.table_factory.set(name, value);
                let known = |name: &str| options.table_factory.is_known(name);
                let taken = notes.take(Some(family), name, value, known, result);
                taken.map_err(|e| e.at(place(text, name, value)))?;
            }
        }
        file.families.push((family.to_string(), options));
    }
    (file.missing, file.ignored) = (notes.missing, notes.ignored);
    Ok(file)
}

/// Returns the offset of the first statement with this name and value in the text, or 0 if there is none.
fn place(text: &str, name: &str, value: &str) -> u64 {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_it =
            line.split_once('=').is_some_and(|(n, v)| n.trim() == name && v.trim().starts_with(value));
        if is_it {
            return at + (line.len() - line.trim_start().len()) as u64;
        }
        at += line.len() as u64;
    }
    0
}

/// Sorts the statements that cannot be set: some are errors, the others are reported to the caller.
struct Notes<'a> {
    config: &'a ReadConfig,
    unknown_ok: bool,
    missing: Vec<Missing>,
    ignored: Vec<String>,
}

impl Notes<'_> {
    fn take(
        &mut self,
        family: Option<&str>,
        name: &str,
        value: &str,
        is_known: impl FnOnce(&str) -> bool,
        result: Result<()>,
    ) -> Result<()> {
        let Err(error) = result else { return Ok(()) };
        let known = is_known(name);
        match Err(error) {
            Err(_) if !known && self.unknown_ok => self.ignored.push(name.to_string()),
            Err(e) if known && e.kind() == Kind::NotSupported && self.config.ignore_unsupported_options => {
                self.missing.push(Missing {
                    family: family.map(str::to_string),
                    option: name.to_string(),
                    object: value.to_string(),
                });
            }
            other => return other,
        }
        Ok(())
    }
}

/// Reads the newest OPTIONS file of a database.
///
/// # Errors
/// NotFound if there is no OPTIONS file or no directory. Errors of [`read`], with the name of the file. Corruption,
/// with file and offset, if the file changed or was deleted after the last close of the database (see
/// [`ReadConfig::accept_changed`]).
pub fn load_latest(env: &Env, db_path: &Path, config: &ReadConfig) -> Result<(FileNumber, OptionsFile)> {
    // Programs take NotFound as "create the database".
    let newest = numbers(&env.fs.list(db_path).or_else(none_if_missing)?).into_iter().max();
    let Some(newest) = newest else {
        if !config.accept_changed {
            unchanged(env, db_path, FileNumber::ZERO, &db_path.join(names::options(FileNumber::ZERO)))?;
        }
        return Err(no_file(db_path));
    };
    let path = db_path.join(names::options(newest));
    if !config.accept_changed {
        unchanged(env, db_path, newest, &path)?;
    }
    Ok((newest, load(env, &path, config)?))
}

/// Returns the error of a directory without an OPTIONS file.
pub fn no_file(dir: &Path) -> Error {
    let text = format!("No options files found in the DB directory.: {}", dir.display());
    Error::not_found(text).with_subcode(Subcode::PathNotFound)
}

/// Returns an empty list of files if the error says that the directory does not exist, as RocksDB's
/// `GetLatestOptionsFileName` does.
///
/// # Errors
/// All other errors.
pub fn none_if_missing(error: Error) -> Result<Vec<String>> {
    if error.subcode() == Subcode::PathNotFound { Ok(Vec::new()) } else { Err(error) }
}

/// Compares the newest OPTIONS file with the record of the file in `PROOF`, which the last close wrote. PROOF is
/// ignored if CURRENT names another MANIFEST, or if IDENTITY names another database.
fn unchanged(env: &Env, db_path: &Path, newest: FileNumber, path: &Path) -> Result<()> {
    let small = |name: &str, limit| env.fs.read_all(&db_path.join(name), limit).ok();
    let proof = small(proof::PROOF, proof::PROOF_LEN_MAX).and_then(|bytes| Proof::decode(&bytes).ok());
    let current = small(names::CURRENT, 4096).and_then(|bytes| names::parse_current(&bytes).ok());
    let Some(proof) = proof.filter(|p| Some(p.manifest.number) == current) else { return Ok(()) };
    let id = small(names::IDENTITY, 4096).and_then(|bytes| names::parse_identity(&bytes).ok());
    if id.is_some_and(|id| id != proof.db_id) {
        return Ok(());
    }
    let Some(written) = &proof.options else { return Ok(()) };
    let hint =
        "to load a file that was edited by hand, set ReadConfig::accept_changed or delete the file PROOF";
    if newest < written.number {
        let gone = db_path.join(names::options(written.number));
        return Err(Error::corruption(format!("the newest OPTIONS file is missing; {hint}"))
            .file(gone)
            .at(0));
    }
    if newest > written.number {
        return Ok(());
    }
    let content = env.fs.read_all(path, FILE_LEN_MAX)?;
    match written.difference(&content) {
        None => Ok(()),
        Some(at) => {
            let line = 1 + content.iter().take(at as usize).filter(|b| **b == b'\n').count();
            let error =
                format!("the OPTIONS file was changed since it was written, first about line {line}; {hint}");
            Err(Error::corruption(error).file(path).at(at))
        }
    }
}

/// Reads one OPTIONS file.
///
/// # Errors
/// Errors of [`read`] and of the file system.
pub fn load(env: &Env, path: &Path, config: &ReadConfig) -> Result<OptionsFile> {
    let bytes = env.fs.read_all(path, FILE_LEN_MAX)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|e| Error::corruption("OPTIONS file is not UTF-8").at(e.valid_up_to() as u64).file(path))?;
    let mut file = read(text, config).map_err(|e| e.file(path))?;
    file.db.env = env.clone();
    Ok(file)
}

/// The checksums of verified texts. A text with a known checksum is not verified again. The lowest bits of a checksum
/// give its place. A newer checksum replaces an older checksum at the same place.
static VERIFIED: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// The number of older OPTIONS files that are kept.
const OLD_FILES_KEPT: usize = 1;

/// Writes the OPTIONS file of a database. The function writes and syncs a temporary file, reads the file back, compares
/// the text, renames the file, and syncs the directory. Then it deletes older OPTIONS files. `temp` and `number` are
/// unused file numbers. Returns the extent of the file for `PROOF`.
///
/// # Errors
/// Errors of the file system and of [`verify`]. After an error, the temporary file is deleted if possible.
pub fn persist<'a>(
    env: &Env,
    dir: &Path,
    (temp, number): (FileNumber, FileNumber),
    db: &DbOptions,
    families: impl IntoIterator<Item = (&'a str, &'a FamilyOptions)> + Clone,
) -> Result<OptionsExtent> {
    let temp = dir.join(names::options_temp(temp));
    let text = write(db, families.clone());
    let written = env.fs.write_all(&temp, text.as_bytes(), true).and_then(|()| {
        let back = env.fs.read_all(&temp, FILE_LEN_MAX)?;
        // The result of the check depends only on the text, so an equal text needs no second check.
        let sum = kernel::checksum::xxh3::hash64(text.as_bytes());
        let verified = &VERIFIED[sum as usize % VERIFIED.len()];
        let is_known =
            || verified.load(Ordering::Relaxed) == sum || check::reads_back(&text, db, families.clone());
        if back == text.as_bytes() && is_known() {
            verified.store(sum, Ordering::Relaxed);
        } else {
            // Bytes that are not UTF-8 become replacement characters. The statement with these characters does not
            // read back.
            verify(&String::from_utf8_lossy(&back), db, families).map_err(|e| e.file(&temp))?;
        }
        env.fs.rename(&temp, &dir.join(names::options(number)))
    });
    if let Err(error) = written {
        let _ = env.fs.unlink(&temp);
        return Err(error.doing("writing the OPTIONS file"));
    }
    env.fs.open_dir(dir)?.sync()?;
    // If a deletion fails, the next call finds the file again and deletes it.
    let mut numbers = numbers(&env.fs.list(dir)?);
    numbers.arrange();
    let old = numbers.iter().rev().filter(|&&n| n != number).skip(OLD_FILES_KEPT);
    for old in old {
        let _ = env.fs.unlink(&dir.join(names::options(*old)));
    }
    Ok(OptionsExtent::of(number, text.as_bytes()))
}

fn numbers(names: &[String]) -> Vec<FileNumber> {
    let number = |name: &String| match FileName::parse(name) {
        Some(FileName::Options(number)) => Some(number),
        _ => None,
    };
    names.iter().filter_map(number).collect()
}

/// Checks that the text reads back as the options. RocksDB makes the same check before it renames the file.
///
/// Options that the release of `compat` does not know are not compared, because the text does not hold them.
///
/// # Errors
/// Corruption that names the first option that differs.
pub fn verify<'a>(
    text: &str,
    db: &DbOptions,
    families: impl IntoIterator<Item = (&'a str, &'a FamilyOptions)>,
) -> Result<()> {
    let file = read(text, &ReadConfig::default())?;
    let release = db.compat.release();
    let differ = |section: &str, name: &str| {
        Error::corruption(format!("failed the verification on {section}::{name} of the OPTIONS file"))
    };
    let absent = |of: Option<&str>, name: &str| {
        file.missing.iter().any(|m| m.family.as_deref() == of && name.ends_with(&m.option))
    };
    let mut names = db.differences(&file.db).into_iter();
    if let Some(name) =
        names.find(|n| !absent(None, n) && says_else(DbOptions::row(n), db, &file.db, release))
    {
        return Err(differ("DBOptions", name));
    }
    let mut read_back = file.families.iter();
    for (name, options) in families {
        let Some((_, same)) = read_back.next().filter(|(n, _)| n == name) else {
            return Err(differ("families", name));
        };
        let tables = (options.table_factory.block_based(), same.table_factory.block_based());
        let is_other = |option: &String| {
            let of_table = option.strip_prefix("table_factory.");
            match (of_table.and_then(|n| OPTIONS.iter().find(|row| row.name == n)), tables) {
                (row @ Some(_), (Some(a), Some(b))) => says_else(row, a, b, release),
                _ => says_else(FamilyOptions::row(option), options, same, release),
            }
        };
        if let Some(option) =
            options.differences(same).into_iter().find(|n| !absent(Some(name), n) && is_other(n))
        {
            return Err(differ(name, &option));
        }
    }
    Ok(())
}

/// Returns true if a file for `release` holds a line of the option and the value that was read differs. RocksDB
/// writes no line for an empty value, so a file cannot tell an empty value from the default.
fn says_else<T>(row: Option<&Row<T>>, written: &T, read: &T, release: Release) -> bool {
    row.is_some_and(|row| {
        let text = (row.print_for)(written, release);
        row.written && row.since <= release && !text.is_empty() && text != (row.print_for)(read, release)
    })
}

impl TableFactory {
    /// Returns true if the section of this factory may name the option.
    fn is_known(&self, name: &str) -> bool {
        match self {
            TableFactory::BlockBased(_) => {
                OPTIONS.iter().any(|row| row.name == name) || table::options::DEPRECATED.contains(&name)
            }
            TableFactory::Plain(_) | TableFactory::Cuckoo(_) | TableFactory::Adaptive(_) => {
                self.statements().iter().any(|(option, _)| option == name)
            }
            TableFactory::Other { .. } => self.name() != BLOCK_BASED,
        }
    }
}
