//! Converts the text of an error to RocksDB's text: the text of `Status::ToString`, and the state of the `Status` alone, which
//! becomes the message of Java's `RocksDBException`.
//!
//! An error of the engine names the operation, the fault and its place. RocksDB has other words for some errors, and
//! programs compare these words. So this module replaces the words of the engine by the words of RocksDB:
//!
//! | error | text |
//! |---|---|
//! | error of the file system | the operation, the file, and the text of the operating system |
//! | corruption that an open finds | the fault, and the file that RocksDB names |
//! | wrong call (`InvalidArgument`, `NotSupported`, `NotFound`) | the message alone |
//! | Busy, TimedOut, Expired, MergeInProgress | none |
//! | all other errors | the whole text of the engine |
//!
//! Facts: RocksDB `util/status.cc`, `env/io_posix.cc`, `env/fs_posix.cc`, and the messages of its calls.

use base::{Error, Kind, Subcode};

/// The only texts that RocksDB uses with the codes Busy, TimedOut, Expired and MergeInProgress. Other statuses with these codes
/// have no text in RocksDB, and programs compare the message with the name of the code.
const RARE_TEXTS: [&str; 3] = ["Recovery in progress", "Recovery already in progress", "Deadline exceeded"];

/// Pairs: the start of a message of the engine, and the whole text that RocksDB uses instead.
const TEXTS: [(&str, &str); 22] = [
    ("background work is paused", ""),
    ("no save point is set", ""),
    ("no blocking io", "no blocking io"),
    ("range deletions in a database with optimistic transactions", ""),
    ("the write batch reached max_bytes", ""),
    ("a transaction cannot take this record", "DeleteRangeCF not implemented"),
    ("Backup not found", "Backup not found"),
    ("no backup to verify", ""),
    ("insertion into a full LRU cache", "Insert failed due to LRU cache being full."),
    (
        "insertion into a full clock cache",
        "Insert failed because unable to evict entries to stay within capacity limit.",
    ),
    ("Column family already dropped!", "Column family already dropped!\n"),
    ("Column family already exists", "Column family already exists"),
    ("Comparator name mismatch: ", "Comparator name mismatch"),
    ("the database is closing", ""),
    ("neither files nor memtables are to be counted", "Invalid options"),
    ("Directory exists: a checkpoint", "Directory exists"),
    ("Directory exists: an export", "Specified export_dir exists"),
    ("Invalid column family specified in write batch", "Invalid column family specified in write batch"),
    ("WriteBatch has wrong count", "WriteBatch has wrong count"),
    ("the read's deadline has passed", "Deadline exceeded"),
    ("the values before this one exceed value_size_soft_limit", ""),
    ("merge_operator is not properly initialized", "merge_operator is not properly initialized."),
];

/// The operations of the engine on a file, with the words of RocksDB.
const DOINGS: [(&str, &str); 10] = [
    ("appending", "While appending to file"),
    ("creating a directory", "While mkdir if missing"),
    ("creating a new directory", "While mkdir"),
    ("creating a file", "While open a file for appending"),
    ("listing a directory", "While opendir"),
    ("locking a file", "While lock file"),
    ("opening a file", "While opening a file for sequentially reading"),
    ("removing a file", "while unlink() file"),
    ("syncing", "While fdatasync"),
    ("reading a file's status", "while stat a file for size"),
];

/// Returns RocksDB's text of an error: the texts of code and subcode, then the state. RocksDB: `Status::ToString`.
///
/// ```
/// use ironstone::binding::status_text;
/// use ironstone::{Error, Subcode};
///
/// assert_eq!(status_text(&Error::invalid_argument("no").file("/a")), "Invalid argument: no");
/// let full = Error::io_error("disk").with_subcode(Subcode::NoSpace);
/// assert_eq!(status_text(&full), "IO error: No space left on device: disk");
/// ```
pub fn status_text(error: &Error) -> String {
    let (subcode, state) = (error.subcode().text(), status_state(error));
    let between = if subcode.is_empty() || state.is_empty() { "" } else { ": " };
    format!("{}{subcode}{between}{state}", error.kind().text())
}

/// Returns the state of the `Status` of an error: its text without the texts of code and subcode. An empty text means no state.
///
/// ```
/// use ironstone::Error;
/// use ironstone::binding::status_state;
///
/// assert_eq!(status_state(&Error::invalid_argument("no").doing("reading").file("/a")), "no");
/// ```
pub fn status_state(error: &Error) -> String {
    let message = error.message();
    if let Some((_, text)) = TEXTS.iter().find(|(start, _)| message.starts_with(start)) {
        return (*text).to_string();
    }
    if message == "bad WriteBatch SingleDelete" {
        return "bad WriteBatch Delete".to_string();
    }
    if message.starts_with("bad WriteBatch ") {
        return message.to_string();
    }
    if matches!(
        error.subcode(),
        Subcode::ManualCompactionPaused | Subcode::LockLimit | Subcode::MergeOperatorFailed
    ) {
        return String::new();
    }
    if message.starts_with("unknown WriteBatch tag") || message.starts_with("A RocksDB Option file must have")
    {
        return message.to_string();
    }
    match error.kind() {
        Kind::Busy | Kind::TimedOut | Kind::Expired | Kind::MergeInProgress => {
            if RARE_TEXTS.contains(&message) { message.to_string() } else { String::new() }
        }
        Kind::InvalidArgument | Kind::NotSupported | Kind::NotFound | Kind::TryAgain => call(error),
        Kind::IoError => file(error),
        Kind::ColumnFamilyDropped => String::new(),
        Kind::Corruption => corruption(error).unwrap_or_else(|| whole(error)),
        _ => whole(error),
    }
}

/// Returns the text of a wrong call.
fn call(error: &Error) -> String {
    let message = error.message();
    // The engine also says where the timestamp is, and which column family it belongs to.
    for end in [" that does not enable timestamp", " that enables timestamp"] {
        if let Some((call, _)) = message.split_once(end).filter(|(_, place)| place.starts_with(": ")) {
            return format!("{call}{end}");
        }
    }
    // The faults of timestamps at an open. The engine also names the column family.
    for start in [": Cannot open a column family and ", ": Cannot toggle the persist_user_defined_timestamps"]
    {
        if let Some(at) = message.find(start).filter(|_| message.starts_with("column family ")) {
            return message[at + 2..].to_string();
        }
    }
    if message.contains(" has file ") && message.contains(", but num_levels is ") {
        return "db has more levels than options.num_levels".to_string();
    }
    if message.starts_with("Timestamp sizes mismatch: expect ")
        && let Some((sizes, _)) = message.split_once(" given")
    {
        return format!("{sizes} given");
    }
    if let Some((file, family)) = message
        .strip_prefix("the file was written with the comparator ")
        .and_then(|names| names.split_once(", column family "))
        && let Some((_, own)) = family.split_once(" has ")
    {
        return format!("{own}: does not match existing comparator {file}");
    }
    // RocksDB does not say which kind of options lacks the name.
    let unknown = message.strip_prefix("Could not find option: ").and_then(|name| name.split_once('.'));
    if let Some(("DBOptions" | "ColumnFamilyOptions", name)) = unknown {
        return format!("Extra option not recognized: {name}");
    }
    // The message lacks the name of the option with the wrong value, so take the name from the operation.
    let activity = error.activity().unwrap_or_default();
    // A field of a nested option has its name after the name of the struct.
    let field = activity.strip_prefix("setting field ").and_then(|field| field.split_once('.'));
    match (activity.strip_prefix("setting option "), field) {
        (Some(option), _) => match unknown {
            Some((_, field)) if !option.contains('.') => format!("Unrecognized option: {option}.{field}"),
            _ => wrong_value(option, message),
        },
        (None, Some((_, field))) => match unknown {
            Some((_, inner)) => format!("Unrecognized option: {field}.{inner}"),
            None => wrong_value(field, message),
        },
        (None, None) => option_syntax(message).unwrap_or_else(|| message.to_string()),
    }
}

/// Returns the text of an option value that does not parse. The message says what the value is not, and quotes the value.
fn wrong_value(option: &str, message: &str) -> String {
    if let Some(text) = option_syntax(message) {
        return text;
    }
    if message.starts_with("Cannot modify ") {
        return message.to_string();
    }
    if message.starts_with("no such table option") {
        return format!("Extra option not recognized: {option}");
    }
    let is_not = message.strip_prefix("not a ").and_then(|text| text.split_once(": \""));
    let Some((kind, value)) = is_not else { return format!("Error parsing {option}: {message}") };
    match kind {
        "boolean" => format!("Error parsing {option}:"),
        // A number that is too small or too large for 32 bits is quoted.
        "u32" if value.trim_end_matches('"').parse::<i64>().is_ok() => {
            format!("Error parsing {option}:{}", value.trim_end_matches('"'))
        }
        // The names of the C++ functions that parse numbers.
        "usize" | "u64" | "u32" => format!("Error parsing {option}:stoull"),
        "i32" => format!("Error parsing {option}:stoi"),
        "i64" => format!("Error parsing {option}:stoll"),
        "number" => format!("Error parsing {option}:stod"),
        "WAL recovery mode" | "log level" | "pinning tier" => format!("No mapping for enum : {option}"),
        _ => format!("Error parsing:: {option}"),
    }
}

/// Returns the text of an option text with wrong syntax. The engine also says where the fault is.
fn option_syntax(message: &str) -> Option<String> {
    const FAULTS: [(&str, &str); 5] = [
        ("mismatched key value pair, '=' expected, at ", "Mismatched key value pair, '=' expected"),
        ("empty key found, at ", "Empty key found"),
        ("mismatched curly braces for nested options, at ", "Mismatched curly braces for nested options"),
        ("unexpected chars after nested options, at ", "Unexpected chars after nested options"),
        ("unexpected character in key, at ", "Unexpected char in key"),
    ];
    FAULTS.iter().find(|(ours, _)| message.starts_with(ours)).map(|(_, theirs)| (*theirs).to_string())
}

/// Returns the text of an error of the file system.
fn file(error: &Error) -> String {
    let message = error.message();
    if let (Some(path), "CURRENT names a MANIFEST that does not exist") = (error.path(), message) {
        let path = path.display();
        return format!("While opening a file for sequentially reading: {path}: No such file or directory");
    }
    let Some(doing) = error.activity() else { return whole(error) };
    if message.starts_with("lock hold by current process") {
        return message.to_string();
    }
    let (Some(path), Some((text, _))) = (error.path(), message.split_once(" (os error ")) else {
        return whole(error);
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // RocksDB has no call that only looks for CURRENT: it opens the file.
    let opens_current =
        name == "CURRENT" && matches!(doing, "looking for a file" | "reading a file's status");
    // RocksDB first looks at the directory.
    if let (true, Some(dir)) = (opens_current && text == "Not a directory", path.parent()) {
        return format!("`{}' exists but is not a directory", dir.display());
    }
    let doing = if opens_current { "opening a file" } else { doing };
    if doing == "opening a file" && (name.ends_with(".sst") || name.ends_with(".blob")) {
        return format!("While open a file for random read: {}: {text}", path.display());
    }
    let path = path.display();
    match DOINGS.iter().find(|(ours, _)| *ours == doing) {
        Some((_, theirs)) => format!("{theirs}: {path}: {text}"),
        None => format!("While {doing}: {path}: {text}"),
    }
}

/// Returns the text of a corruption for which RocksDB has its own words. Returns `None` for another corruption.
fn corruption(error: &Error) -> Option<String> {
    let named = error.message().strip_suffix(" names this SST file").and_then(|text| text.rsplit_once("; "));
    let Some((fault, manifest)) = named else { return corruption_of(error, error.message()) };
    Some(format!("{}  The file {manifest} may be corrupted.", corruption_of(error, fault)?))
}

fn corruption_of(error: &Error, message: &str) -> Option<String> {
    let file = error.path()?;
    let path = file.display();
    if message.starts_with("block checksum mismatch: ") {
        return wrong_block(error, message);
    }
    if message == "CURRENT file does not end with newline" {
        return Some(message.to_string());
    }
    if message.starts_with("CURRENT file names no MANIFEST") {
        return Some("CURRENT file corrupted".to_string());
    }
    if message.starts_with("While creating a new Db, wal_dir contains existing log file") {
        let name = file.file_name()?.to_string_lossy();
        return Some(format!("While creating a new Db, wal_dir contains existing log file: : {name}"));
    }
    if let Some(manifest) = message.strip_suffix(" names an SST file that does not exist") {
        return Some(format!(
            "Corruption: IO error: No such file or directory: While open a file for random read: {path}: No such file or \
             directory  The file {manifest} may be corrupted."
        ));
    }
    if let Some(sizes) = message.strip_prefix("the table is ") {
        let (found, expected) = sizes.split_once(" bytes long, the MANIFEST says ")?;
        return Some(format!(
            "Sst file size mismatch between expected {expected} and file system {found} sstable: {path}"
        ));
    }
    match error.activity() {
        Some("reading the MANIFEST") => {
            let fault = match message.starts_with("no log-file number entry") {
                true => "no log_file_number, next_file_number, last_sequence entry in MANIFEST",
                false => message,
            };
            return Some(format!("{fault}  The file {path} may be corrupted."));
        }
        Some("replaying a WAL") if message == "checksum mismatch" => return Some(message.to_string()),
        _ => {}
    }
    if message.ends_with("to be an sstable") {
        return Some(format!("{message}: {path}"));
    }
    let numbers = message.strip_prefix("bad table magic number: expected 0x")?;
    let (expected, found) = numbers.split_once(", found 0x")?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let (expected, found) = (number(expected)?, number(found)?);
    Some(format!("Bad table magic number: expected {expected}, found {found} in {path}"))
}

/// Returns the text of a block whose checksum is wrong. The engine also searches for one wrong bit.
fn wrong_block(error: &Error, message: &str) -> Option<String> {
    const BLOCKS: [(&str, &str); 8] = [
        ("data", "Data"),
        ("index", "Index"),
        ("filter index", "FilterPartitionIndex"),
        ("filter", "Filter"),
        ("properties", "Properties"),
        ("meta index", "MetaIndex"),
        ("range tombstone", "RangeDeletion"),
        ("dictionary", "CompressionDictionary"),
    ];
    let (sums, size) = message.split(';').next()?.split_once(", size ")?;
    let (block, _) = error.activity()?.strip_prefix("reading ")?.split_once(" block ")?;
    let (_, block) = BLOCKS.iter().find(|(ours, _)| *ours == block)?;
    let (path, offset) = (error.path()?.display(), error.offset()?);
    Some(format!("{sums}  in {path} offset {offset} size {size}, block_type = {block}"))
}

/// Returns the whole text of the engine, without the texts of code and subcode.
fn whole(error: &Error) -> String {
    let text = error.to_string();
    let text = text.strip_prefix(error.kind().text()).unwrap_or(&text);
    match error.subcode() {
        Subcode::None => text.to_string(),
        subcode => {
            let text = text.strip_prefix(subcode.text()).unwrap_or(text);
            text.strip_prefix(": ").unwrap_or(text).to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::*;

    fn missing(doing: &str) -> Error {
        Error::io(doing, Path::new("/a/CURRENT"), io::Error::from_raw_os_error(2))
    }

    #[test]
    fn an_error_of_the_file_system_has_rocksdbs_words() {
        let text = status_state(&missing("opening a file"));
        assert_eq!(
            text,
            "While opening a file for sequentially reading: /a/CURRENT: No such file or directory"
        );
        let text = status_state(&missing("looking"));
        assert_eq!(text, "While looking: /a/CURRENT: No such file or directory");
        let no_directory =
            Error::io("looking for a file", Path::new("/a/CURRENT"), io::Error::from_raw_os_error(20));
        assert_eq!(status_state(&no_directory), "`/a' exists but is not a directory");
        assert_eq!(status_text(&Error::new(Kind::ColumnFamilyDropped, "one")), "Column family dropped: ");
    }

    #[test]
    fn wrong_option_texts_have_rocksdbs_words() {
        for (options, words) in [
            ("write_buffer_size=abc", "Error parsing write_buffer_size:stoull"),
            ("max_open_files=99999999999", "Error parsing max_open_files:stoi"),
            ("memtable_prefix_bloom_size_ratio=x", "Error parsing memtable_prefix_bloom_size_ratio:stod"),
            ("memtable_max_range_deletions=-1", "Error parsing memtable_max_range_deletions:-1"),
            ("create_if_missing=maybe", "Error parsing create_if_missing:"),
            ("compression=snappy", "Error parsing:: compression"),
            ("wal_recovery_mode=3", "No mapping for enum : wal_recovery_mode"),
            (
                "block_based_table_factory={no_such=1}",
                "Extra option not recognized: block_based_table_factory",
            ),
            ("write_buffer_size", "Mismatched key value pair, '=' expected"),
            ("=5", "Empty key found"),
            ("a{b=c", "Unexpected char in key"),
            ("compression_opts={level=1", "Mismatched curly braces for nested options"),
            ("compression_opts={level=1}}", "Unexpected chars after nested options"),
            ("compression_opts={level=x}", "Error parsing level:stoi"),
            ("compression_opts={enabled=maybe}", "Error parsing enabled:"),
            ("compression_opts={nope=1}", "Unrecognized option: compression_opts.nope"),
            ("compaction_options_universal={stop_style=x}", "Error parsing:: stop_style"),
            (
                "compaction_options_fifo={file_temperature_age_thresholds={{age=x;temperature=kWarm}}}",
                "Error parsing age:stoull",
            ),
            (
                "memtable_factory={id=HashSkipListRepFactory;bucket_count=x}",
                "Error parsing bucket_count:stoull",
            ),
            (
                "block_based_table_factory={metadata_cache_options={partition_pinning=x}}",
                "No mapping for enum : partition_pinning",
            ),
            ("block_based_table_factory={block_cache={capacity=x}}", "Error parsing capacity:stoull"),
            (
                "compaction_options_fifo={file_temperature_age_thresholds={{nope=1}}}",
                "Unrecognized option: file_temperature_age_thresholds.nope",
            ),
            ("memtable_factory={id=SkipListFactory;lookahead=x}", "Error parsing lookahead:stoull"),
            (
                "sst_partitioner_factory={id=SstPartitionerFixedPrefixFactory;length=x}",
                "Error parsing length:stoull",
            ),
            ("table_factory={id=CuckooTable;hash_table_ratio=x}", "Error parsing hash_table_ratio:stod"),
            (
                "block_based_table_factory={metadata_cache_options.nope=1}",
                "Unrecognized option: metadata_cache_options.nope",
            ),
            ("compaction_options_universal=5", "Mismatched key value pair, '=' expected"),
        ] {
            let error = crate::Options::default().update(options).unwrap_err();
            assert_eq!(status_state(&error), words, "{options}");
        }
    }

    #[test]
    fn the_faults_of_an_open_have_rocksdbs_words() {
        let damaged = |doing: &str, message: &str, file: &str| {
            status_state(&Error::corruption(message).doing(doing).file(file).at(7))
        };
        let current = "CURRENT file does not end with newline";
        assert_eq!(damaged("reading CURRENT", current, "/a/CURRENT"), current);
        assert_eq!(
            damaged("reading the MANIFEST", "checksum mismatch", "/a/MANIFEST-000005"),
            "checksum mismatch  The file /a/MANIFEST-000005 may be corrupted."
        );
        assert_eq!(
            damaged("opening a table", "the table is 10 bytes long, the MANIFEST says 1430", "/a/000009.sst"),
            "Sst file size mismatch between expected 1430 and file system 10 sstable: /a/000009.sst"
        );
        let no_manifest =
            Error::io_error("CURRENT names a MANIFEST that does not exist").file("/a/MANIFEST-000005");
        assert_eq!(
            status_state(&no_manifest),
            "While opening a file for sequentially reading: /a/MANIFEST-000005: No such file or directory"
        );
        assert_eq!(damaged("replaying a WAL", "checksum mismatch", "/a/000010.log"), "checksum mismatch");
        let missing =
            Error::io("opening a file", Path::new("/a/000009.sst"), io::Error::from_raw_os_error(2));
        assert_eq!(
            status_state(&missing),
            "While open a file for random read: /a/000009.sst: No such file or directory"
        );
    }

    #[test]
    fn a_wrong_call_has_the_message_alone() {
        let error = Error::invalid_argument("no").doing("reading").file("/a").at(5);
        assert_eq!(status_state(&error), "no");
        let error = Error::invalid_argument("Cannot modify PlainTable as block_based_table_factory");
        let error = error.doing("setting option block_based_table_factory");
        assert_eq!(status_state(&error), "Cannot modify PlainTable as block_based_table_factory");
        let error = Error::invalid_argument("not a u64: \"x\"").doing("setting option ttl");
        assert_eq!(status_state(&error), "Error parsing ttl:stoull");
    }

    #[test]
    fn timestamps_and_comparators_have_rocksdbs_words() {
        let text = |message: &str| status_state(&Error::invalid_argument(message));
        let family = "cannot call this method on column family f that enables timestamp";
        assert_eq!(text(&format!("{family}: the write has no timestamp")), family);
        assert_eq!(
            text("Timestamp sizes mismatch: expect 8, 3 given for column family f"),
            "Timestamp sizes mismatch: expect 8, 3 given"
        );
        assert_eq!(
            text(
                "the file was written with the comparator rev, column family f has leveldb.BytewiseComparator"
            ),
            "leveldb.BytewiseComparator: does not match existing comparator rev"
        );
        let fault = "Cannot open a column family and enable user-defined timestamps feature";
        assert_eq!(text(&format!("column family f: {fault}")), fault);
        assert_eq!(
            text("column family f has file 000008 on L6, but num_levels is 2"),
            "db has more levels than options.num_levels"
        );
        let merge = Error::corruption("merge operator mm: failed").with_subcode(Subcode::MergeOperatorFailed);
        assert_eq!(status_text(&merge), "Corruption: Merge operator failed");
    }

    #[test]
    fn an_unknown_option_has_rocksdbs_words() {
        let error = Error::invalid_argument("Could not find option: ColumnFamilyOptions.nope");
        assert_eq!(status_state(&error.doing("setting option nope")), "Extra option not recognized: nope");
    }

    #[test]
    fn a_lock_of_another_process_has_rocksdbs_words() {
        let cause = io::Error::new(io::ErrorKind::WouldBlock, "busy (os error 11); process 5 holds the lock");
        let error = Error::io("locking a file", Path::new("/a/LOCK"), cause);
        assert_eq!(status_text(&error), "IO error: While lock file: /a/LOCK: busy");
    }

    #[test]
    fn a_corruption_keeps_file_and_offset() {
        let error = Error::corruption("bad block").doing("reading").file("/a").at(5);
        assert_eq!(status_state(&error), "while reading: bad block in file /a at offset 5");
    }

    #[test]
    fn a_damaged_block_has_rocksdbs_words() {
        let sums = "block checksum mismatch: stored(context removed) = 7, computed = 8, type = 4";
        let error = |more: &str| {
            let error = Error::corruption(format!("{sums}, size 26{more}"));
            error.doing("reading properties block 50+26").file("/a/000012.sst").at(50)
        };
        let text = format!("{sums}  in /a/000012.sst offset 50 size 26, block_type = Properties");
        assert_eq!(status_state(&error("")), text);
        assert_eq!(status_state(&error("; one bit is wrong, bit 3 of byte 52")), text);
        let at_open = error("; /a/MANIFEST-000004 names this SST file");
        assert_eq!(status_state(&at_open), format!("{text}  The file /a/MANIFEST-000004 may be corrupted."));
    }

    #[test]
    fn a_file_that_is_no_table_has_rocksdbs_words() {
        let error = Error::corruption("bad table magic number: expected 0x10, found 0x2").file("/a").at(8);
        assert_eq!(status_state(&error), "Bad table magic number: expected 16, found 2 in /a");
    }

    #[test]
    fn the_subcode_is_no_part_of_the_text() {
        let error = Error::incomplete("stopped").with_subcode(Subcode::NoSpace);
        assert_eq!(status_state(&error), "stopped");
        let error = Error::incomplete("stopped").with_subcode(Subcode::ManualCompactionPaused);
        assert_eq!(status_state(&error), "", "RocksDB gives a canceled compaction no text");
    }

    #[test]
    fn conflicts_have_no_text() {
        assert_eq!(status_state(&Error::busy("key 5 is locked")), "");
        assert_eq!(status_state(&Error::busy(RARE_TEXTS[0])), RARE_TEXTS[0]);
    }
}
