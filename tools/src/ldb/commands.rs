//! The table of commands and of their options. The help text is made from the table.

use super::args::Args;
use super::session::Session;
use super::{Failure, Io, Outcome};
use super::{admin, data, files, idump, load, manifest, query, remote, repair, scan, transfer, wal};

/// One command.
pub(crate) struct Command {
    pub name: &'static str,
    /// The text after the name in the help text.
    usage: &'static str,
    section: Section,
    /// True if the command opens the database for writing.
    pub writes: bool,
    /// True if the command runs without `--db`.
    db_optional: bool,
    /// The source of the bytes that the command reads, if the command shows its progress.
    pub progress: Option<Source>,
    /// The options and flags of this command, without the common ones.
    takes: &'static [&'static str],
    pub run: fn(&mut Session, &mut Io<'_>) -> Outcome,
}

/// The source of the bytes that a long command reads. The progress counts these bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// The files of the database.
    Database,
    /// The files of the database. The command prints one line for each entry.
    Printed,
    /// The directory of `--backup_dir`.
    Backup,
    /// The file of the first parameter.
    File,
    /// Standard input.
    Input,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Data,
    Admin,
}

/// The options of all commands.
const COMMON: &[&str] = &[
    "db",
    "column_family",
    "secondary_path",
    "leader_path",
    "use_txn",
    "txn_write_policy",
    "try_load_options",
    "ignore_unknown_options",
    "disable_consistency_checks",
    "bloom_bits",
    "block_size",
    "uniform_cv_threshold",
    "auto_compaction",
    "compression_type",
    "compression_max_dict_bytes",
    "db_write_buffer_size",
    "write_buffer_size",
    "file_size",
    "fix_prefix_len",
    "enable_blob_files",
    "min_blob_size",
    "blob_file_size",
    "blob_compression_type",
    "enable_blob_garbage_collection",
    "blob_garbage_collection_age_cutoff",
    "blob_garbage_collection_force_threshold",
    "blob_compaction_readahead_size",
    "blob_file_starting_level",
    "prepopulate_blob_cache",
];

/// Options of RocksDB's tool that this release rejects: the option and the feature that is not built.
const REFUSED_OPTIONS: &[(&str, &str)] = &[
    ("env_uri", "environments by URI"),
    ("fs_uri", "file systems by URI"),
    ("backup_env_uri", "environments by URI"),
    ("backup_fs_uri", "file systems by URI"),
    ("get_write_unix_time", "write times of entries"),
];

const HEX: &[&str] = &["hex", "key_hex", "value_hex"];

macro_rules! commands {
    ($($section:ident $access:ident $(of $source:ident)? $name:literal $usage:literal [$($takes:literal)*] $run:path;)*) => {
        &[$(Command {
            name: $name,
            usage: $usage,
            section: Section::$section,
            writes: commands!(@writes $access),
            db_optional: commands!(@optional $access),
            progress: commands!(@progress $($source)?),
            takes: &[$($takes),*],
            run: $run,
        }),*]
    };
    (@writes write) => { true };
    (@writes $other:ident) => { false };
    (@progress) => { None };
    (@progress $source:ident) => { Some(Source::$source) };
    (@optional file) => { true };
    (@optional $other:ident) => { false };
}

const COMMANDS: &[Command] = commands! {
    Data write "put" " <key> <value> [--create_if_missing] [--ttl]" ["create_if_missing" "ttl"] data::put;
    Data write "put_entity" " <key> <column1_name>:<column1_value> <column2_name>:<column2_value> <...> [--create_if_missing] [--ttl]"
        ["create_if_missing" "ttl"] data::put_entity;
    Data read "get" " <key> [--read_timestamp=<uint64_ts>] [--ttl] [--json]" ["read_timestamp" "ttl" "json"] data::get;
    Data read "get_entity" " <key> [--read_timestamp=<uint64_ts>] [--ttl] [--json]" ["read_timestamp" "ttl" "json"] data::get_entity;
    Data read "multi_get" " <key_1> <key_2> <key_3> ... [--read_timestamp=<uint64_ts>] [--json]"
        ["read_timestamp" "json"] data::multi_get;
    Data read "multi_get_entity" " <key_1> <key_2> <key_3> ... [--read_timestamp=<uint64_ts>] [--json]"
        ["read_timestamp" "json"] data::multi_get_entity;
    Data write "batchput" " <key> <value> [<key> <value>] [..] [--create_if_missing] [--ttl]" ["create_if_missing" "ttl"] data::batch_put;
    Data read of Printed "scan" " [--from] [--to]  [--ttl] [--timestamp] [--max_keys=<N>]  [--start_time=<N>:- is inclusive] [--end_time=<N>:- is exclusive] [--no_value] [--read_timestamp=<uint64_ts>]  [--json]"
        ["from" "to" "ttl" "timestamp" "max_keys" "start_time" "end_time" "no_value" "read_timestamp" "json"] scan::scan;
    Data write "delete" " <key>" [] data::delete;
    Data write "singledelete" " <key>" [] data::single_delete;
    Data write "deleterange" " <begin key> <end key>" [] data::delete_range;
    Data write "query" " [--ttl]\n    Starts a REPL shell.  Type help for list of available commands." ["ttl"] query::query;
    Data read "approxsize" " [--from] [--to]  [--json]" ["from" "to" "json"] admin::approx_size;
    Data read "checkconsistency" "" [] admin::check_consistency;
    Data read of Database "fsck" " [--json] : looks through every file and changes nothing." ["json"] repair::fsck;
    Data read "list_file_range_deletes" " [--max_keys=<N>] : print tombstones in SST files." ["max_keys"] files::range_deletes;
    Admin file "dump_wal" " --walfile=<write_ahead_log_file_path_or_directory> [--db=<db_path>] [--header]  [--print_value]  [--only_print_seqno_gaps] (only correct if not using pessimistic transactions) [--write_committed=true|false]"
        ["walfile" "header" "print_value" "only_print_seqno_gaps" "write_committed"] wal::command;
    Admin write of Database "compact" " [--from] [--to] [--ttl] [--json]" ["from" "to" "ttl" "json"] admin::compact;
    Admin write of Database "reduce_levels" " --new_levels=<New number of levels> [--print_old_levels] [--json]"
        ["new_levels" "print_old_levels" "json"] admin::reduce_levels;
    Admin write of Database "change_compaction_style" " --old_compaction_style=<Old compaction style: 0 for level compaction, 1 for universal compaction> --new_compaction_style=<New compaction style: 0 for level compaction, 1 for universal compaction> [--json]"
        ["old_compaction_style" "new_compaction_style" "json"] admin::change_style;
    Admin file of Printed "dump" " [--from] [--to]  [--ttl] [--max_keys=<N>] [--timestamp] [--count_only] [--count_delim=<char>] [--stats] [--bucket=<N>] [--start_time=<N>:- is inclusive] [--end_time=<N>:- is exclusive] [--path=<path_to_a_file>] [--decode_blob_index] [--dump_uncompressed_blobs] [--json]"
        ["from" "to" "ttl" "max_keys" "timestamp" "count_only" "count_delim" "stats" "bucket" "start_time" "end_time" "path" "decode_blob_index" "dump_uncompressed_blobs" "json"]
        scan::dump;
    Admin write of Input "load" " [--create_if_missing] [--disable_wal] [--bulk_load] [--compact] [--json]"
        ["from" "to" "create_if_missing" "disable_wal" "bulk_load" "compact" "json"] load::load;
    Admin file "manifest_dump" " [--verbose] [--json] [--path=<path_to_manifest_file>]" ["verbose" "json" "path"] manifest::command;
    Admin file "compaction_progress_dump" " [--path=<path_to_compaction_progress_file>]" ["path"] remote::progress;
    Admin read "update_manifest" " [--update_temperatures]      MUST NOT be used on a live DB." ["verbose" "update_temperatures"]
        manifest::update;
    Admin read "file_checksum_dump" " [--path=<path_to_manifest_file>]" ["path"] manifest::checksums;
    Admin read "get_property" " <property_name>" [] admin::get_property;
    Admin write of Database "repair" " [--verbose] [--json]" ["verbose" "json"] repair::repair;
    Admin read "list_column_families" " [--json]" ["json"] manifest::list_families;
    Admin write "create_column_family" " --db=<db_path> <new_column_family_name>" [] admin::create_family;
    Admin write "drop_column_family" " --db=<db_path> <column_family_name_to_drop>" [] admin::drop_family;
    Admin read "dump_live_files" " [--decode_blob_index] [--dump_uncompressed_blobs]"
        ["decode_blob_index" "dump_uncompressed_blobs"] files::dump_live;
    Admin file "file_dump" " <file> [--annotate] [--decode_blob_index] [--dump_uncompressed_blobs] : any one file of a database; without one as dump_live_files."
        ["annotate" "decode_blob_index" "dump_uncompressed_blobs"] files::dump_file;
    Admin write of Database "backup" " [--backup_dir]  [--num_threads]  [--stderr_log_level=<int (InfoLogLevel)>] [--json]"
        ["backup_dir" "num_threads" "stderr_log_level" "json"] transfer::backup;
    Admin write of Backup "restore" " [--backup_dir]  [--num_threads]  [--stderr_log_level=<int (InfoLogLevel)>] [--json]"
        ["backup_dir" "num_threads" "stderr_log_level" "json"] transfer::restore;
    Admin write of Database "checkpoint" " [--checkpoint_dir] [--json]" ["checkpoint_dir" "json"] transfer::checkpoint;
    Admin write of Input "write_extern_sst" " <output_sst_path> [--json]" ["create_if_missing" "json"] transfer::write_external;
    Admin write of File "ingest_extern_sst" " <input_sst_path> [--move_files]  [--snapshot_consistency]  [--allow_global_seqno]  [--allow_blocking_flush]  [--ingest_behind]  [--write_global_seqno]  [--json]"
        ["create_if_missing" "move_files" "snapshot_consistency" "allow_global_seqno" "allow_blocking_flush" "ingest_behind" "write_global_seqno" "json"]
        transfer::ingest_external;
    Admin write "unsafe_remove_sst_file" " <SST file number>      MUST NOT be used on a live DB." [] admin::remove_sst_file;
    Admin read of Printed "idump" " [--from] [--to]  [--input_key_hex] [--max_keys=<N>] [--count_only] [--count_delim=<char>] [--stats] [--decode_blob_index] [--json]"
        ["from" "to" "input_key_hex" "max_keys" "count_only" "count_delim" "stats" "decode_blob_index" "json"] idump::idump;
    Admin read "list_live_files_metadata" " [--sort_by_filename] [--json]" ["sort_by_filename" "json"] files::list_live;
    Admin write "remote_compaction_primary" " --db=<db_path> --job_dir=<dir>\n    Compacts a column family. A remote_compaction_worker with the same --db and --job_dir does the work.\n    Writes job_dir/input.bin, and waits for job_dir/result.bin."
        ["job_dir"] remote::primary;
    Admin read "remote_compaction_worker" " --db=<db_path> --job_dir=<dir>\n    Waits for job_dir/input.bin, compacts into job_dir/output, and writes job_dir/result.bin."
        ["job_dir"] remote::worker;
};

/// Returns the command with this name.
pub(crate) fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|c| c.name == name)
}

impl Command {
    /// Checks that the command takes the options of the command line.
    ///
    /// # Errors
    /// An option or flag that the command does not take. The error lists the options that the command takes. An
    /// option whose feature is not built. A missing database.
    pub fn check(&self, args: &Args) -> Outcome {
        let known = |name: &str| COMMON.contains(&name) || HEX.contains(&name) || self.takes.contains(&name);
        let names = args.options.keys().map(|n| ("option", n)).chain(args.flags.iter().map(|n| ("flag", n)));
        for (what, name) in names {
            if let Some((_, feature)) = REFUSED_OPTIONS.iter().find(|(refused, _)| refused == name) {
                return Err(not_built(&format!("--{name}"), feature));
            }
            if !known(name) {
                let all =
                    self.takes.iter().chain(HEX).chain(COMMON).map(|n| format!(" --{n}")).collect::<String>();
                return Err(Failure::new(format!(
                    "Invalid command-line {what} {name}\n{} takes:{all}",
                    self.name
                )));
            }
        }
        if !self.db_optional && !args.options.contains_key("db") {
            return Err(Failure::new("Either db or path must be specified."));
        }
        Ok(())
    }
}

fn not_built(what: &str, feature: &str) -> Failure {
    Failure::new(format!("Failed: Not implemented: {what}: {feature} is not built in this release"))
}

/// Returns the text of `ldb --help`.
pub(crate) fn help() -> String {
    let mut text = String::from(HEAD);
    for (title, section) in [("Data Access Commands:", Section::Data), ("Admin Commands:", Section::Admin)] {
        text.push_str(&format!("\n\n{title}\n"));
        for command in COMMANDS.iter().filter(|c| c.section == section) {
            text.push_str(&format!("  {}{}\n", command.name, command.usage));
        }
    }
    let refused: Vec<_> = REFUSED_OPTIONS.iter().map(|(name, _)| format!("--{name}")).collect();
    text.push_str(&format!("\n\nNot in this release: {}\n", refused.join(", ")));
    text
}

const HEAD: &str = "ldb - Ironstone Tool

commands MUST specify --db=<full_path_to_db_directory> when necessary

The following optional parameters control if keys/values are input/output as hex or as plain strings:
  --key_hex : Keys are input/output as hex
  --value_hex : Values are input/output as hex
  --hex : Both keys and values are input/output as hex

The following optional parameters control the database internals:
  --column_family=<string> : name of the column family to operate on. default: default column family
  --ttl with 'put','get','scan','dump','query','batchput' : DB supports ttl and value is internally timestamp-suffixed
  --use_txn : Open database as TransactionDB. Required for databases created with WritePrepared or WriteUnprepared transactions.
  --txn_write_policy=<0|1|2> : Transaction write policy. 0=WRITE_COMMITTED (default), 1=WRITE_PREPARED, 2=WRITE_UNPREPARED
  --try_load_options : Try to load option file from DB. Default to true if db is specified and not creating a new DB. Can be set to false explicitly.
  --disable_consistency_checks : Set options.force_consistency_checks = false. No effect: the checks always run.
  --ignore_unknown_options : Ignore unknown options when loading option file.
  --bloom_bits=<int,e.g.:14>
  --fix_prefix_len=<int,e.g.:14>
  --compression_type=<no|snappy|zlib|bzip2|lz4|lz4hc|xpress|zstd>
  --compression_max_dict_bytes=<int,e.g.:16384>
  --block_size=<block_size_in_bytes>
  --uniform_cv_threshold=<double,e.g.:0.2>
  --auto_compaction=<true|false>
  --db_write_buffer_size=<int,e.g.:16777216>
  --write_buffer_size=<int,e.g.:4194304>
  --file_size=<int,e.g.:2097152>
  --enable_blob_files : Enable key-value separation using BlobDB
  --min_blob_size=<int,e.g.:2097152>
  --blob_file_size=<int,e.g.:2097152>
  --blob_compression_type=<no|snappy|zlib|bzip2|lz4|lz4hc|xpress|zstd>
  --enable_blob_garbage_collection : Enable blob garbage collection
  --blob_garbage_collection_age_cutoff=<double,e.g.:0.25>
  --blob_garbage_collection_force_threshold=<double,e.g.:0.25>
  --blob_compaction_readahead_size=<int,e.g.:2097152>
  --read_timestamp=<uint64_ts, e.g.:323> : read timestamp, required if column family enables timestamp, otherwise invalid if provided.
  --json : one JSON object a line, for scripts; bytes that are no text stand in hex under a name that ends in _hex.";
