//! The facts about one database, as plain data.
//!
//! ```text
//!  directory ─► load ─┐
//!  bundle    ─► bundle ├─► Database ─► web pages, doctor, JSON, bundle
//!  LOG alone ─► load ─┘
//! ```
//! [`Database`] has no handle and no open file, so a page can be rendered after the directory is gone. The loader
//! never changes a directory. Each list has a limit, so a damaged or a huge directory cannot fill the memory.

mod families;
mod files;
mod identity;
mod info_log;
mod level_number;
pub mod live;
mod load;
mod log_stats;
mod option_rows;
pub(crate) mod places;
mod problems;
mod tables;

use serde::{Deserialize, Serialize};

pub use families::{AXIS, BlobFile, Family, KeyText, LevelSum, SstFile, TableStats};
pub use files::{DiskFile, FileDirectory, FileKind};
pub(crate) use info_log::KEPT_MAX;
pub use info_log::{
    HeldSnapshot, InfoLog, JobEvent, JobKind, LogLine, Older, RunningJob, Stall, StallKind,
    parse as parse_info_log,
};
pub use load::{Budget, load, load_after};
pub use log_stats::{LogStats, LoggedLevel};
pub use option_rows::{OptionRow, OptionSection, OptionsText, Scope, redact};
pub(crate) use problems::LOST_EDITS;
pub use problems::{Problem, Weight};
pub(crate) use tables::open_table;

/// The origin of the facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A directory of a database.
    Directory,
    /// A file that `ironstone bundle` wrote.
    Bundle,
    /// An info log without its directory.
    InfoLog,
}

/// The facts about one database.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Database {
    pub source: Source,
    /// The last component of the path.
    pub name: String,
    /// Seconds since 1970.
    pub taken_at: u64,
    pub manifest: Option<Manifest>,
    /// Sorted by id.
    pub families: Vec<Family>,
    pub options: Option<OptionsText>,
    pub log: InfoLog,
    /// Sorted by name.
    pub files: Vec<DiskFile>,
    pub problems: Vec<Problem>,
    /// The number of SST files whose properties were read.
    pub tables_read: usize,
    /// True after a read of every byte: `ironstone doctor --deep`.
    #[serde(default)]
    pub contents_read: bool,
}

/// The counters of the MANIFEST.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub number: u64,
    /// Bytes.
    pub size: u64,
    pub edits: u64,
    pub next_file_number: u64,
    pub last_sequence: u64,
    pub min_log_number_to_keep: u64,
    pub db_id: Option<String>,
}

/// Limits of the column families and of the files of one level that an info log names.
const LOGGED_FAMILIES_MAX: usize = 1000;
const LOGGED_FILES_MAX: u64 = 10_000;

/// Returns the files of a level of the info log.
fn files_of(level: &LoggedLevel) -> impl Iterator<Item = SstFile> + use<> {
    let count = level.files.clamp(1, LOGGED_FILES_MAX);
    let file = SstFile {
        level: level.level,
        size: level.bytes / count,
        present: true,
        elsewhere: true,
        ..SstFile::default()
    };
    (0..count).map(move |_| file.clone())
}

impl Database {
    /// Returns a value without facts.
    pub fn empty(source: Source, name: String, taken_at: u64) -> Database {
        Database {
            source,
            name,
            taken_at,
            manifest: None,
            families: Vec::new(),
            options: None,
            log: InfoLog::default(),
            files: Vec::new(),
            problems: Vec::new(),
            tables_read: 0,
            contents_read: false,
        }
    }

    /// Returns the facts of an info log without its database, with the levels of its last statistics as column families. The files of
    /// a level have the mean size of the level, and no other facts.
    pub fn with_logged_levels(&self) -> Database {
        let family = |(id, (name, levels)): (usize, (&String, &Vec<LoggedLevel>))| Family {
            id: id as u32,
            name: name.clone(),
            files: levels.iter().flat_map(files_of).collect(),
            ..Family::default()
        };
        let families = self.log.stats.levels.iter().take(LOGGED_FAMILIES_MAX).enumerate().map(family);
        Database { families: families.collect(), ..self.clone() }
    }

    /// Returns the bytes of all live SST files.
    pub fn sst_bytes(&self) -> u64 {
        self.families.iter().map(Family::bytes).sum()
    }

    /// Returns the bytes of all live SST files, of the blob files and of the WALs.
    pub fn data_bytes(&self) -> u64 {
        self.sst_bytes() + self.bytes_of(FileKind::Blob) + self.bytes_of(FileKind::Wal)
    }

    /// Returns the number of live SST files.
    pub fn sst_count(&self) -> usize {
        self.families.iter().map(|family| family.files.len()).sum()
    }

    /// Returns the bytes of all files of one kind.
    pub fn bytes_of(&self, kind: FileKind) -> u64 {
        self.files.iter().filter(|file| file.kind == kind).map(|file| file.size).sum()
    }

    /// Returns the number of files of one kind.
    pub fn count_of(&self, kind: FileKind) -> usize {
        self.files.iter().filter(|file| file.kind == kind).count()
    }

    /// Returns the family with this id.
    pub fn family(&self, id: u32) -> Option<&Family> {
        self.families.iter().find(|family| family.id == id)
    }

    /// Returns the SST file with this number, and its family.
    pub fn file(&self, number: u64) -> Option<(&Family, &SstFile)> {
        let of = |family| move |file| (family, file);
        self.families
            .iter()
            .flat_map(|family: &Family| family.files.iter().map(of(family)))
            .find(|(_, file)| file.number == number)
    }

    /// Returns the value of an option of the database, or the default of RocksDB 11.8.1.
    pub fn db_option(&self, name: &str) -> Option<String> {
        self.option(&Scope::Database, name).or_else(|| options::DbOptions::default().get(name))
    }

    /// Returns the value of an option of a family or of its table, or the default of RocksDB 11.8.1.
    pub fn family_option(&self, family: &str, name: &str) -> Option<String> {
        let written = self
            .option(&Scope::Family(family.to_string()), name)
            .or_else(|| self.option(&Scope::Table(family.to_string()), name));
        written.or_else(|| {
            let default = options::FamilyOptions::default();
            default.get(name).or_else(|| default.table_factory.get(name))
        })
    }

    /// Returns an option, or a field of an option whose name has a dot.
    fn option(&self, scope: &Scope, name: &str) -> Option<String> {
        if let Some((outer, field)) = name.split_once('.') {
            let fields = format::options_ini::parse_map(&self.option(scope, outer)?).ok()?;
            return fields.into_iter().find(|(name, _)| name == field).map(|(_, value)| value);
        }
        let sections = &self.options.as_ref()?.sections;
        let section = sections.iter().find(|section| section.scope == *scope)?;
        section.rows.iter().find(|row| row.name == name).map(|row| row.value.clone())
    }

    /// Returns the first two numbers of the release that wrote the options: of the OPTIONS file, or else of the info log. Returns
    /// `None` if the release is unknown.
    pub fn release(&self) -> Option<(u32, u32)> {
        let of_file =
            self.options.as_ref().map(|options| options.release.as_str()).filter(|text| !text.is_empty());
        let mut numbers = of_file.or(self.log.release.as_deref())?.split('.').map(|text| text.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    }

    /// Returns true if the info log says that Ironstone wrote the directory last.
    pub fn is_ironstone(&self) -> bool {
        self.log.is_ironstone
    }

    /// Returns true if the OPTIONS file or the info log gives values of options.
    pub fn knows_options(&self) -> bool {
        self.options.as_ref().is_some_and(|options| !options.sections.is_empty())
    }
}
