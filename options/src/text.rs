//! Options by name: set, get, option strings, live changes, comparison.
//!
//! The names are those of RocksDB, with RocksDB's aliases. A dot selects a field of a struct
//! (`compaction_options_universal.size_ratio`, `table_factory.block_size`). Names of older releases are accepted
//! without effect, as in RocksDB.

use std::sync::{Arc, LazyLock};

use base::{Error, Result};
use env::Env;
use env::rate::{RateLimiter, RateOptions};
use format::options_ini::{Writer, parse_map};
use table::options::{BlockBasedTableOptions, OPTIONS};

use super::family::MemtableFactory;
use super::known::Known;
use super::{DbOptions, FamilyOptions, Release, Row, TableFactory, Value};

pub(super) static DB_KNOWN: LazyLock<Known> = LazyLock::new(|| Known::of(DbOptions::ROWS));
pub(super) static FAMILY_KNOWN: LazyLock<Known> = LazyLock::new(|| Known::of(FamilyOptions::ROWS));
pub(super) static TABLE_KNOWN: LazyLock<Known> = LazyLock::new(|| Known::of(OPTIONS));

/// The event listeners of the database. The application passes listeners to the open. An OPTIONS file only holds the
/// names of the listeners.
pub const LISTENERS: &str = "listeners";

/// Options of the database in older releases: accepted without effect.
pub const DB_DEPRECATED: &[&str] = &[
    "access_hint_on_compaction_start",
    "allow_os_buffer",
    "base_background_compactions",
    "concurrent_prepare",
    "disableDataSync",
    "disable_data_sync",
    "experimental_allow_mempurge",
    "experimental_mempurge_policy",
    "experimental_mempurge_threshold",
    "fail_if_options_file_error",
    "new_table_reader_for_compaction_inputs",
    "preserve_deletes",
    "random_access_max_buffer_size",
    "rate_limiter",
    "seq_per_batch",
    "skip_checking_sst_file_sizes_on_db_open",
    "skip_log_error_on_recovery",
    "use_direct_writes",
];

/// Options of column families in older releases: accepted without effect.
pub const FAMILY_DEPRECATED: &[&str] = &[
    "bottommost_temperature",
    "check_flush_compaction_key_order",
    "compaction_measure_io_stats",
    "expanded_compaction_factor",
    "filter_deletes",
    "hard_rate_limit",
    "ignore_max_compaction_bytes_for_input",
    "level_compaction_dynamic_file_size",
    "max_grandparent_overlap_factor",
    "max_mem_compaction_level",
    "max_write_buffer_number_to_maintain",
    "memtable_prefix_bloom_bits",
    "memtable_prefix_bloom_huge_page_tlb_size",
    "memtable_prefix_bloom_probes",
    "min_partial_merge_operands",
    "purge_redundant_kvs_while_flush",
    "rate_limit_delay_max_milliseconds",
    "snap_refresh_nanos",
    "soft_rate_limit",
    "source_compaction_factor",
    "verify_checksums_in_compaction",
];

/// Options of column families that RocksDB reads and never writes. The components do not exist here, so only the
/// empty text and `nullptr` are accepted.
const FAMILY_ABSENT: &[&str] = &["blob_cache", "blob_direct_write_partition_strategy"];

impl DbOptions {
    /// Returns the row of a database option by its name. Aliases and names with a dot have no row.
    pub fn row(name: &str) -> Option<&'static Row<DbOptions>> {
        DB_KNOWN.places.get(name).map(|at| &Self::ROWS[*at])
    }

    /// Returns true if option text may name this option.
    pub fn is_known(name: &str) -> bool {
        Self::row(name).is_some()
            || matches!(name, "rate_limiter_bytes_per_sec" | LISTENERS | "env")
            || DB_DEPRECATED.contains(&name)
    }

    /// Sets one option from its text.
    ///
    /// # Errors
    /// InvalidArgument if the option does not exist or the value is wrong. NotSupported for an object that cannot be
    /// made from its name. After an error the option is unchanged.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        if let Some(row) = Self::row(name) {
            return (row.set)(self, text).map_err(|e| setting(name, e));
        }
        if name == "rate_limiter_bytes_per_sec" {
            let rate_bytes_per_sec = u64::parse(text).map_err(|e| setting(name, e))?;
            let rate_bytes_per_sec = i64::try_from(rate_bytes_per_sec).unwrap_or(i64::MAX);
            let limiter = RateLimiter::new(RateOptions::new(rate_bytes_per_sec), self.env.clock.clone())?;
            self.rate_limiter = Some(Arc::new(limiter));
            return Ok(());
        }
        match name {
            "env" => self.set_env(text).map_err(|e| setting(name, e)),
            LISTENERS if matches!(text.trim(), "" | "{}" | "nullptr") => Ok(()),
            LISTENERS => Err(setting(name, Error::not_supported(format!("listeners by name: {text}")))),
            _ if DB_DEPRECATED.contains(&name) => Ok(()),
            _ => Err(no_option("DBOptions", name)),
        }
    }

    /// Selects the environment of the machine by one of its names. The empty text keeps the environment.
    fn set_env(&mut self, text: &str) -> Result<()> {
        let id = text.trim().trim_start_matches('{').trim_end_matches(['}', ';']);
        match id.strip_prefix("id=").unwrap_or(id) {
            "" => Ok(()),
            "posix" | "Default" | "DefaultEnv" => {
                self.env = Env::posix();
                Ok(())
            }
            _ => Err(Error::not_supported(format!("environment {text:?}"))),
        }
    }

    /// Returns the text of one option, or `None` if there is no such option.
    pub fn get(&self, name: &str) -> Option<String> {
        Self::row(name).map(|row| (row.print)(self))
    }

    /// Sets the options of an option string: `max_open_files=100;bytes_per_sync=1m`. After an error no option is
    /// changed.
    ///
    /// # Errors
    /// The errors of [`DbOptions::set`]. InvalidArgument for text that is no option string.
    pub fn update(&mut self, text: &str) -> Result<()> {
        let mut changed = self.clone();
        for (name, value) in parse_map(text)? {
            changed.set(&name, &value)?;
        }
        *self = changed;
        Ok(())
    }

    /// Sets options that may change while the database is open. The caller checks and applies the result. After an
    /// error no option is changed.
    ///
    /// # Errors
    /// NotFound if an option does not exist or cannot change after the open. InvalidArgument for a wrong value.
    pub fn set_live<'a>(&mut self, changes: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<()> {
        let mut changed = self.clone();
        for (name, text) in changes {
            if !Self::row(name).is_some_and(Row::is_mutable) {
                return Err(unrecognized(name));
            }
            changed.set(name, text)?;
        }
        *self = changed;
        Ok(())
    }

    /// Returns the names of the options whose texts differ.
    pub fn differences(&self, other: &DbOptions) -> Vec<&'static str> {
        differences(Self::ROWS, self, other)
    }

    /// Returns all options that OPTIONS files hold, as an option string.
    pub fn print(&self) -> String {
        print(Self::ROWS, self)
    }
}

impl FamilyOptions {
    /// Returns the row of an option of column families by its name or alias. Names with a dot have no row.
    pub fn row(name: &str) -> Option<&'static Row<FamilyOptions>> {
        FAMILY_KNOWN.places.get(canonical(name)).map(|at| &Self::ROWS[*at])
    }

    /// Returns true if option text may name this option.
    pub fn is_known(name: &str) -> bool {
        let outer = name.split_once('.').map_or(name, |(outer, _)| outer);
        Self::row(outer).is_some() || FAMILY_DEPRECATED.contains(&name) || FAMILY_ABSENT.contains(&name)
    }

    /// Sets one option from its text.
    ///
    /// # Errors
    /// InvalidArgument if the option does not exist or the value is wrong. NotSupported for an object that cannot be
    /// made from its name. After an error the option is unchanged.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        self.set_unnamed(name, text).map_err(|e| setting(name, e))
    }

    fn set_unnamed(&mut self, name: &str, text: &str) -> Result<()> {
        if let Some((outer, field)) = name.split_once('.') {
            return match canonical(outer) {
                "compression_opts" => self.compression_opts.set(field, text),
                "bottommost_compression_opts" => self.bottommost_compression_opts.set(field, text),
                "blob_compression_opts" => self.blob_compression_opts.set(field, text),
                "compaction_options_universal" => self.compaction_options_universal.set(field, text),
                "compaction_options_fifo" => self.compaction_options_fifo.set(field, text),
                "table_factory" => self.table_factory.set(field, text),
                _ => Err(no_option("ColumnFamilyOptions", name)),
            };
        }
        match name {
            "block_based_table_factory" => self.set_table("BlockBasedTable", name, text),
            "plain_table_factory" => self.set_table("PlainTable", name, text),
            "max_bytes_for_level_multiplier_additional" if text.trim().is_empty() => {
                self.max_bytes_for_level_multiplier_additional.clear();
                Ok(())
            }
            _ => match Self::row(name) {
                Some(row) => (row.set)(self, text),
                None if FAMILY_DEPRECATED.contains(&name) => Ok(()),
                None if FAMILY_ABSENT.contains(&name) && matches!(text, "" | "nullptr") => Ok(()),
                None if FAMILY_ABSENT.contains(&name) => Err(Error::not_supported(format!("option {name}"))),
                None => Err(no_option("ColumnFamilyOptions", name)),
            },
        }
    }

    /// Sets options of a table, as in `block_based_table_factory={block_size=8k}`. The other options of the table keep their
    /// values.
    ///
    /// # Errors
    /// InvalidArgument if the column family has another kind of table.
    fn set_table(&mut self, kind: &str, option: &str, text: &str) -> Result<()> {
        let mut table = self.table_factory.clone();
        if table.name() != kind {
            return Err(Error::invalid_argument(format!("Cannot modify {} as {option}", table.name())));
        }
        for (name, value) in parse_map(text)? {
            table.set(&name, &value)?;
        }
        self.table_factory = table;
        Ok(())
    }

    /// Returns the text of one option, or `None` if there is no such option. The name may have a dot.
    pub fn get(&self, name: &str) -> Option<String> {
        if let Some((outer, field)) = name.split_once('.') {
            return match canonical(outer) {
                "compression_opts" => self.compression_opts.get(field),
                "bottommost_compression_opts" => self.bottommost_compression_opts.get(field),
                "blob_compression_opts" => self.blob_compression_opts.get(field),
                "compaction_options_universal" => self.compaction_options_universal.get(field),
                "compaction_options_fifo" => self.compaction_options_fifo.get(field),
                "table_factory" => self.table_factory.get(field),
                _ => None,
            };
        }
        Self::row(name).map(|row| (row.print)(self))
    }

    /// Sets the options of an option string: `write_buffer_size=8m;compression=kZSTD`. After an error no option is
    /// changed.
    ///
    /// # Errors
    /// The errors of [`FamilyOptions::set`]. InvalidArgument for text that is no option string.
    pub fn update(&mut self, text: &str) -> Result<()> {
        let mut changed = self.clone();
        for (name, value) in parse_map(text)? {
            changed.set(&name, &value)?;
        }
        *self = changed;
        Ok(())
    }

    /// Sets options that may change while the database is open. The caller checks and applies the result. After an
    /// error no option is changed.
    ///
    /// # Errors
    /// The errors of [`FamilyOptions::set`]. InvalidArgument for an option that cannot change after the open.
    pub fn set_live<'a>(&mut self, changes: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<()> {
        let mut changed = self.clone();
        for (name, text) in changes {
            let outer = name.split_once('.').map_or(name, |(outer, _)| outer);
            if Self::row(outer).is_some_and(|row| !row.is_mutable()) {
                return Err(not_changeable(name));
            }
            changed.set(name, text)?;
        }
        let is_fixed = changed.table_factory.block_based().is_none();
        if changed.table_factory.name() != self.table_factory.name()
            || (is_fixed && changed.table_factory != self.table_factory)
        {
            return Err(not_changeable("table_factory"));
        }
        if let TableFactory::BlockBased(table) = &mut changed.table_factory {
            table.sanitize();
        }
        *self = changed;
        Ok(())
    }

    /// Returns the names of the options whose texts differ. Options of the table have names like
    /// `table_factory.block_size`.
    pub fn differences(&self, other: &FamilyOptions) -> Vec<String> {
        let mut names: Vec<String> =
            differences(Self::ROWS, self, other).into_iter().map(str::to_string).collect();
        if let Some(options) = self.table_factory.differences(&other.table_factory) {
            names.extend(options.into_iter().map(|name| format!("table_factory.{name}")));
        } else if self.table_factory != other.table_factory {
            names.push("table_factory".to_string());
        }
        names
    }

    /// Returns all options that OPTIONS files hold, as an option string. The options of the table are inside
    /// `table_factory`.
    pub fn print(&self) -> String {
        let table: String =
            self.table_factory.statements().iter().map(|(n, v)| format!("{n}={v};")).collect();
        let whole = format!("{{id={};{table}}}", self.table_factory.name());
        print(Self::ROWS, self).replace(
            &format!("table_factory={};", self.table_factory.name()),
            &format!("table_factory={whole};"),
        )
    }

    /// Returns true if several threads may insert into such a memtable at the same time.
    pub(super) fn memtable_is_concurrent(&self) -> bool {
        matches!(self.memtable_factory, MemtableFactory::SkipList { .. } | MemtableFactory::Vector { .. })
    }
}

/// Replaces an alias by the name of the option.
fn canonical(name: &str) -> &str {
    match name {
        "memtable" => "memtable_factory",
        "block_based_table_factory" | "plain_table_factory" => "table_factory",
        "memtable_veirfy_per_key_checksum_on_seek" => "memtable_verify_per_key_checksum_on_seek",
        _ => name,
    }
}

/// Returns the statements of an OPTIONS file. A value with an empty text has no statement.
pub(super) fn statements<T>(rows: &[Row<T>], options: &T) -> Vec<(String, String)> {
    let written = rows.iter().filter(|row| row.written);
    let all = written.map(|row| (row.name.to_string(), (row.print)(options)));
    all.filter(|(_, value)| !value.is_empty()).collect()
}

fn print<T>(rows: &[Row<T>], options: &T) -> String {
    let braced = |value: String| match value.contains([';', '=']) && !value.starts_with('{') {
        true => format!("{{{value}}}"),
        false => value,
    };
    statements(rows, options).into_iter().map(|(name, value)| format!("{name}={};", braced(value))).collect()
}

fn differences<T: Default>(rows: &[Row<T>], a: &T, b: &T) -> Vec<&'static str> {
    rows.iter().filter(|row| row.differs(a, b)).map(|row| row.name).collect()
}

/// Writes the section of the database in an OPTIONS file for `release`.
pub(super) fn write_db(out: &mut Writer, options: &DbOptions, release: Release) {
    write_rows(out, DbOptions::ROWS, &DB_KNOWN, options, release);
}

/// Writes the section of a column family.
pub(super) fn write_family(out: &mut Writer, options: &FamilyOptions, release: Release) {
    write_rows(out, FamilyOptions::ROWS, &FAMILY_KNOWN, options, release);
}

/// Writes the section of the block-based table of a column family.
pub(super) fn write_table(out: &mut Writer, options: &BlockBasedTableOptions, release: Release) {
    write_rows(out, OPTIONS, &TABLE_KNOWN, options, release);
}

/// Writes the lines of the options that `release` knows. Most options have their defaults, and the texts of defaults are
/// known.
fn write_rows<T: Default>(out: &mut Writer, rows: &[Row<T>], known: &Known, options: &T, release: Release) {
    let default = T::default();
    let lines = rows.iter().zip(&known.texts).filter(|(row, _)| row.written && row.since <= release);
    for (row, text) in lines {
        match release == Release::NEWEST && (row.is_same)(options, &default) {
            true => out.statement(row.name, text),
            false => out.statement(row.name, &(row.print_for)(options, release)),
        }
    }
}

#[cold]
fn no_option(section: &str, name: &str) -> Error {
    Error::invalid_argument(format!("Could not find option: {section}.{name}"))
}

/// Returns the error for an option that is not mutable. RocksDB searches the names of live changes only among the
/// mutable options (`options/db_options.cc`).
#[cold]
fn unrecognized(name: &str) -> Error {
    Error::not_found(format!("Unrecognized option: {name}"))
}

#[cold]
fn not_changeable(name: &str) -> Error {
    Error::invalid_argument(format!("Option not changeable: {name}"))
}

#[cold]
fn setting(name: &str, error: Error) -> Error {
    error.doing(format!("setting option {name}"))
}

/// Reads `HH:mm-HH:mm`. Returns start and end in seconds since midnight.
pub fn time_range(text: &str) -> Option<(u32, u32)> {
    let time = |text: &str| {
        let (hours, minutes) = text.split_once(':')?;
        let (hours, minutes) = (hours.trim().parse::<u32>().ok()?, minutes.trim().parse::<u32>().ok()?);
        (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)
    };
    let (start, end) = text.split_once('-')?;
    Some((time(start)?, time(end)?))
}
