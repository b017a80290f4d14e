//! A compaction as plain data: its inputs, its output and its reason.

use std::fmt;
use std::sync::Arc;

use base::key::{InternalOrder, SequenceNumber, user_key};
use base::{EpochNumber, Level};

use crate::table_file::TableFile;
use crate::version::{KeyRange, Version};

/// The reason of a compaction, with the numbers and words of RocksDB's `CompactionReason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Reason {
    /// No reason is known.
    Unknown = 0,
    /// Level 0 has too many SST files.
    LevelL0FilesNum = 1,
    /// A level exceeds its target size.
    LevelMaxLevelSize = 2,
    /// Universal compaction: the space amplification is too high.
    UniversalSizeAmplification = 3,
    /// Universal compaction: sorted runs have similar sizes.
    UniversalSizeRatio = 4,
    /// Universal compaction: there are too many sorted runs.
    UniversalSortedRunNum = 5,
    /// FIFO: the SST files exceed their size limit.
    FifoMaxSize = 6,
    /// FIFO: small SST files are merged.
    FifoReduceNumFiles = 7,
    /// FIFO: SST files are older than `ttl`.
    FifoTtl = 8,
    /// The user asked for the compaction.
    ManualCompaction = 9,
    /// SST files are marked for compaction.
    FilesMarkedForCompaction = 10,
    /// Files of the last level hold entries that no snapshot needs.
    BottommostFiles = 11,
    /// SST files are older than `ttl`.
    Ttl = 12,
    /// A flush. No compaction has this reason.
    Flush = 13,
    /// The ingestion of SST files.
    ExternalSstIngestion = 14,
    /// SST files are due for periodic compaction.
    PeriodicCompaction = 15,
    /// SST files get another temperature.
    ChangeTemperature = 16,
    /// Blob files have too much garbage.
    ForcedBlobGc = 17,
    /// Round-robin priority: SST files are older than `ttl`.
    RoundRobinTtl = 18,
    /// The files of a level move to another level.
    RefitLevel = 19,
    /// Reads of the SST file found nothing too often.
    ReadTriggered = 20,
}

impl Reason {
    /// Returns the word for the info log and for events.
    pub fn word(self) -> &'static str {
        match self {
            Reason::Unknown => "Unknown",
            Reason::LevelL0FilesNum => "LevelL0FilesNum",
            Reason::LevelMaxLevelSize => "LevelMaxLevelSize",
            Reason::UniversalSizeAmplification => "UniversalSizeAmplification",
            Reason::UniversalSizeRatio => "UniversalSizeRatio",
            Reason::UniversalSortedRunNum => "UniversalSortedRunNum",
            Reason::FifoMaxSize => "FIFOMaxSize",
            Reason::FifoReduceNumFiles => "FIFOReduceNumFiles",
            Reason::FifoTtl => "FIFOTtl",
            Reason::ManualCompaction => "ManualCompaction",
            Reason::FilesMarkedForCompaction => "FilesMarkedForCompaction",
            Reason::BottommostFiles => "BottommostFiles",
            Reason::Ttl => "Ttl",
            Reason::Flush => "Flush",
            Reason::ExternalSstIngestion => "ExternalSstIngestion",
            Reason::PeriodicCompaction => "PeriodicCompaction",
            Reason::ChangeTemperature => "ChangeTemperature",
            Reason::ForcedBlobGc => "ForcedBlobGC",
            Reason::RoundRobinTtl => "RoundRobinTtl",
            Reason::RefitLevel => "RefitLevel",
            Reason::ReadTriggered => "ReadTriggered",
        }
    }
}

/// The input files from one level, in the order of the level.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// The level of the files.
    pub level: Level,
    /// The files, in the order of the level.
    pub files: Vec<Arc<TableFile>>,
}

impl Inputs {
    /// Returns the bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.size).sum()
    }
}

/// One compaction.
#[derive(Clone, Debug)]
pub struct Task {
    /// The reason that the info log shows.
    pub reason: Reason,
    /// The inputs by level, ascending. Levels between the first level and the output level may be missing.
    /// The first level has files.
    pub inputs: Vec<Inputs>,
    /// The level, the directory, the sizes and the compression of the output.
    pub output: TaskOutput,
    /// Limit for the overlap of one output file with the grandparents, in bytes.
    pub max_compaction_bytes: u64,
    /// The files of the next level with data that overlap the outputs.
    pub grandparents: Vec<Arc<TableFile>>,
    /// The largest number of subcompactions. 0: the option of the column family.
    pub max_subcompactions: u32,
    /// True if no level below the output level overlaps the inputs.
    pub bottommost: bool,
    /// True if all files of the version are inputs.
    pub full: bool,
    /// True if the user asked for the compaction.
    pub manual: bool,
    /// True if the task only deletes its input files and reads nothing (FIFO).
    pub deletion: bool,
    /// True if the files are moved to the output level unchanged.
    pub trivial_move: bool,
    /// True if the compaction copies its input file byte by byte, to change the temperature (FIFO).
    pub trivial_copy: bool,
    /// True if input and output are in level 0.
    pub intra_l0: bool,
    /// The score of the start level.
    pub score: f64,
    /// The new round-robin cursor of the start level after the task: an internal key.
    pub next_cursor: Option<Vec<u8>>,
    /// Decides if the compaction relocates values of old blob files.
    pub blob_gc: BlobGc,
    /// Drops all entries with a timestamp that is newer than this timestamp. `None`, the default, drops none.
    pub trim_timestamp: Option<Vec<u8>>,
    /// Where entries go that are too young for the last level. `None`: all entries go to the output level.
    pub proximal: Option<Proximal>,
}

/// The output of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskOutput {
    /// The level of the output.
    pub level: Level,
    /// The index in `db_paths` of the directory for the output.
    pub path_id: u32,
    /// Maximum size of an output file in bytes.
    pub max_file_size: u64,
    /// Target size of an output file in bytes. `cut` ends a file near this size at a good boundary.
    pub target_file_size: u64,
    /// The compression type, as RocksDB's number on disk.
    pub compression: u8,
    /// True if `bottommost_compression_opts` apply instead of `compression_opts`.
    pub uses_bottommost_compression_opts: bool,
    /// The temperature of the output.
    pub temperature: u8,
    /// Round-robin: an output file ends before this internal key, the cursor of the output level.
    pub split_key: Option<Vec<u8>>,
}

/// The second output of a compaction into the last level: entries that are too young for the last level. RocksDB: the proximal level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proximal {
    /// The level of the second output: one above the last level.
    pub level: Level,
    /// Entries up to this sequence number go to the last level, whatever their age. They may be in the last level already, and must not go
    /// up: files of the second output would overlap files that are no input.
    pub keep_through: SequenceNumber,
    /// The range of user keys that the second output may have.
    pub range: KeyRange,
}

/// Decides if a compaction relocates the values of old blob files. Automatic compactions have `Options`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum BlobGc {
    /// The options of the column family decide.
    #[default]
    Options,
    /// The options decide, but with another age cutoff: a share of the blob files, oldest first.
    Cutoff(f64),
    /// Relocates values even if the options disable this. `Some` replaces the age cutoff.
    Force(Option<f64>),
    /// Relocates no value.
    Disable,
}

impl Task {
    /// Returns the first level of the input, or 0 if there is no input.
    pub fn start_level(&self) -> Level {
        self.inputs.first().map_or(Level::ZERO, |i| i.level)
    }

    /// Returns the number of input files of all levels.
    pub fn num_input_files(&self) -> usize {
        self.inputs.iter().map(|i| i.files.len()).sum()
    }

    /// Returns the bytes of the input files of all levels.
    pub fn input_bytes(&self) -> u64 {
        self.inputs.iter().map(Inputs::bytes).sum()
    }

    /// Returns the input files of `level`.
    pub fn files_of(&self, level: Level) -> &[Arc<TableFile>] {
        self.inputs.iter().find(|i| i.level == level).map_or(&[], |i| &i.files)
    }

    /// Returns all input files with their levels.
    pub fn files(&self) -> impl Iterator<Item = (Level, &Arc<TableFile>)> {
        self.inputs.iter().flat_map(|i| i.files.iter().map(move |f| (i.level, f)))
    }

    /// Checks the guarantees of every picker about a task on `version`. Active only with the feature
    /// `invariants`.
    pub(crate) fn check(&self, version: &Version) {
        base::invariant!(self.num_input_files() > 0, "a compaction has no input: {self}");
        base::invariant!(
            self.output.level <= version.last_level(),
            "the output level does not exist: {self}"
        );
        base::invariant!(self.start_level() <= self.output.level, "a compaction goes up: {self}");
        base::invariant!(
            self.inputs.is_sorted_by(|a, b| a.level < b.level),
            "the input levels are not in ascending order: {self}"
        );
        base::invariant!(
            self.inputs.iter().all(|input| input.level <= self.output.level),
            "an input is below the output level: {self}"
        );
        base::invariant!(
            self.files().all(|(level, file)| version.level(level).position(file.number).is_some()),
            "an input is not in its level: {self}"
        );
        base::invariant!(
            self.files().all(|(_, file)| !file.being_compacted() || file.is_quarantined()),
            "an input is reserved by another compaction: {self}"
        );
        base::invariant!(
            !(self.deletion && (self.trivial_move || self.trivial_copy)),
            "a compaction deletes and keeps its inputs: {self}"
        );
        base::invariant!(
            !self.intra_l0 || self.output.level == Level::ZERO && self.start_level() == Level::ZERO,
            "a compaction within level 0 leaves level 0: {self}"
        );
        base::invariant!(
            self.grandparents.is_empty() || self.output.level > Level::ZERO,
            "an output of level 0 has grandparents: {self}"
        );
        base::invariant!(
            self.proximal.as_ref().is_none_or(|proximal| {
                proximal.level > Level::ZERO
                    && proximal.level.below() == self.output.level
                    && !self.trivial_move
            }),
            "the second output is not one level above the last level: {self}"
        );
        base::invariant!(
            self.output.target_file_size <= self.output.max_file_size,
            "the target of an output file exceeds its limit: {self}"
        );
    }

    /// Marks the inputs as reserved. The caller holds the lock that pickers use.
    pub fn reserve(&self) {
        base::invariant!(
            self.files().all(|(_, file)| !file.being_compacted()),
            "an input of a compaction is reserved by another compaction"
        );
        self.files().for_each(|(_, f)| f.set_being_compacted(true));
    }

    /// Releases the inputs.
    pub fn release(&self) {
        base::invariant!(
            self.files().all(|(_, file)| file.being_compacted()),
            "an input of a compaction is released twice"
        );
        self.files().for_each(|(_, f)| f.set_being_compacted(false));
    }

    /// Returns the smallest and the largest user key of all inputs.
    pub fn range(&self, version: &Version) -> KeyRange {
        KeyRange::of(version.order(), self.files().map(|(_, f)| &**f))
    }

    /// Returns the facts that later picks need while this task runs.
    pub fn running(&self, version: &Version) -> Running {
        Running {
            start_level: self.start_level(),
            output_level: self.output.level,
            range: self.range(version),
            manual: self.manual,
            intra_l0: self.intra_l0,
            proximal: self.proximal.as_ref().map(|proximal| proximal.range.clone()),
        }
    }

    /// Returns the epoch number of the outputs: the smallest epoch number of the inputs.
    pub fn output_epoch(&self) -> EpochNumber {
        self.files().map(|(_, f)| f.epoch_number).min().unwrap_or_default()
    }

    /// Returns the oldest ancestor time of the outputs: the oldest of the inputs. `None` if it is unknown.
    pub fn oldest_ancester_time(&self) -> Option<u64> {
        self.files().filter_map(|(_, f)| f.oldest_time()).min()
    }
}

/// A compaction that runs or waits to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The first level of the input.
    pub start_level: Level,
    /// The level of the output.
    pub output_level: Level,
    /// The range of user keys.
    pub range: KeyRange,
    /// True if the user asked for the compaction.
    pub manual: bool,
    /// True if input and output are in level 0.
    pub intra_l0: bool,
    /// The range of user keys that the compaction may write one level above its output level. `None`: it writes none.
    pub proximal: Option<KeyRange>,
}

impl Running {
    /// Returns true if the compaction may write keys to `level`.
    pub fn writes_to(&self, level: Level) -> bool {
        self.output_level == level || self.proximal.is_some() && self.output_level == level.below()
    }

    /// Returns true if the compaction may write keys of `range` to `level`.
    pub fn writes(&self, order: &InternalOrder, range: &KeyRange, level: Level) -> bool {
        let above = |own: &KeyRange| self.output_level == level.below() && own.meets(order, range);
        self.output_level == level && self.range.meets(order, range)
            || self.proximal.as_ref().is_some_and(above)
    }
}

/// Displays a task as `LevelMaxLevelSize L1 [12[a#1,SET-b#2,SET]] + L2 [...] -> L2`.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reason.word())?;
        for (i, input) in self.inputs.iter().filter(|i| !i.files.is_empty()).enumerate() {
            f.write_str(if i == 0 { " " } else { " + " })?;
            write!(f, "{} [", input.level)?;
            for (j, file) in input.files.iter().enumerate() {
                let sep = if j == 0 { "" } else { " " };
                let (a, b) = (user_key(&file.smallest), user_key(&file.largest));
                write!(f, "{sep}{}:{}-{}", file.number, a.escape_ascii(), b.escape_ascii())?;
            }
            f.write_str("]")?;
        }
        write!(f, " -> {}", self.output.level)?;
        for (flag, word) in [
            (self.trivial_move, "move"),
            (self.deletion, "delete"),
            (self.trivial_copy, "copy"),
            (self.bottommost, "bottommost"),
        ] {
            if flag {
                write!(f, " {word}")?;
            }
        }
        Ok(())
    }
}
