//! Prints WALs batch by batch: `dump_wal`.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use base::{FamilyId, Order, SequenceNumber};
use engine::manifest::FileSource;
use env::ReadHints;
use format::batch::{Batch, HEADER_LEN, Marker, Record};
use format::names::FileName;
use format::wal::{HOLE, Item, Reader, ReaderOptions};
use table::dump::hex;

use super::session::{Session, normal};
use super::show::{self, wal_key};
use super::{Failure, Io, Outcome};

/// The form of the output.
#[derive(Clone, Copy, Default)]
pub(crate) struct How {
    pub header: bool,
    pub values: bool,
    pub gaps_only: bool,
    /// `--write_committed`: true accepts only prepared transactions of the policy WriteCommitted, and false accepts
    /// only prepared transactions of the other policies. `None` accepts all.
    pub committed: Option<bool>,
}

pub(crate) fn command(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let Some(path) = s.args.path("walfile").filter(|path| !path.as_os_str().is_empty()) else {
        return Err(Failure::new("Argument walfile must be specified."));
    };
    let how = How {
        committed: Some(s.args.boolean("write_committed")?.unwrap_or(true)),
        header: s.args.has_flag("header"),
        values: s.args.has_flag("print_value"),
        gaps_only: s.args.has_flag("only_print_seqno_gaps"),
    };
    let orders = match s.args.path("db") {
        Some(_) => orders(&s.open(io)?),
        None => BTreeMap::new(),
    };
    dump(s, &path, how, &orders, io)
}

/// Returns the key order of each column family of an open database.
pub(crate) fn orders(db: &engine::db::Db) -> BTreeMap<FamilyId, Order> {
    db.families().iter().map(|f| (f.id(), f.order().user.clone())).collect()
}

/// Prints one WAL, or all WALs of a directory by number.
pub(crate) fn dump(
    s: &Session,
    path: &Path,
    how: How,
    orders: &BTreeMap<FamilyId, Order>,
    io: &mut Io<'_>,
) -> Outcome {
    let shown = path.display();
    let mut walk = Walk { session: s, how, orders, previous: None };
    if !s.env.fs.exists(path)? {
        return Err(Failure::new(format!("{shown}: No such file or directory")));
    }
    if !s.env.fs.is_dir(path)? {
        if path.extension().is_none_or(|e| e != "log") {
            return Err(Failure::new(format!("{shown}: Invalid log file name")));
        }
        return walk.file(path, io);
    }
    let mut logs: Vec<(u64, PathBuf)> = s
        .env
        .fs
        .list(path)?
        .iter()
        .filter_map(|name| match FileName::parse(name) {
            Some(FileName::Wal(number)) => Some((number.get(), path.join(name))),
            _ => None,
        })
        .collect();
    logs.sort();
    if logs.is_empty() {
        return Err(Failure::new(format!("{shown}: No valid wal logs found")));
    }
    for (_, log) in logs {
        writeln!(io.out, "Checking wal file: {}", normal(&log))?;
        walk.file(&log, io)?;
    }
    Ok(())
}

struct Walk<'a> {
    session: &'a Session,
    how: How,
    orders: &'a BTreeMap<FamilyId, Order>,
    /// The sequence number and the entry count of the previous write batch.
    previous: Option<(SequenceNumber, u32)>,
}

/// The end of a block may be filler if it has fewer bytes than this.
const HEADER_LEN_MAX: u64 = format::wal::RECYCLABLE_HEADER_LEN as u64;

impl Walk<'_> {
    fn file(&mut self, path: &Path, io: &mut Io<'_>) -> Outcome {
        let file = self
            .session
            .env
            .fs
            .open_random(path, &ReadHints::default())
            .map_err(|e| Failure::new(format!("Failed to open WAL file {e}")))?;
        let name = path.file_name().and_then(|n| n.to_str()).and_then(FileName::parse);
        let options = ReaderOptions {
            wal_number: name.and_then(|n| n.number()).map(base::WalNumber::of_file).unwrap_or_default(),
            decompressor: Some(Box::new(engine::wal::compression::decompressor)),
            ..ReaderOptions::default()
        };
        if self.how.header {
            let values = if self.how.values { " : value " } else { "" };
            writeln!(io.out, "Sequence,Count,ByteSize,Physical Offset,Key(s){values}")?;
        }
        let mut reader = Reader::new(FileSource(file), options);
        let mut sizes: BTreeMap<FamilyId, u16> = BTreeMap::new();
        // The column families in the order in which RocksDB names them: the column family that was found last is
        // first.
        let mut met: VecDeque<FamilyId> = VecDeque::new();
        let mut before = 0;
        let mut outcome = Ok(());
        while outcome.is_ok() {
            match reader.next().map_err(|e| e.file(path))? {
                Item::Record { bytes, offset, end } => {
                    // RocksDB's offset is the position where the search for the record began, before the filler of a
                    // block.
                    let filler = offset.saturating_sub(before) < HEADER_LEN_MAX;
                    let offset = if filler { before } else { offset };
                    before = end;
                    if bytes.len() < HEADER_LEN {
                        writeln!(io.err, "Corruption detected in log file Corruption: log record too small")?;
                        continue;
                    }
                    outcome = self.check_sizes(&sizes).and_then(|()| self.batch(bytes, offset, &mut met, io));
                }
                Item::TimestampSizes { sizes: announced, .. } => sizes.extend(announced),
                Item::Corruption(damage) => writeln!(
                    io.err,
                    "Corruption detected in log file Corruption: {} at offset {}; {} bytes dropped",
                    damage.reason, damage.offset, damage.dropped
                )?,
                Item::Hole { offset } => {
                    writeln!(io.err, "Corruption detected in log file Corruption: {HOLE} at offset {offset}")?
                }
                Item::TornTail { .. } | Item::Predecessor { .. } => {}
                Item::OldRecord { .. } | Item::EndOfLog => break,
            }
        }
        let unknown: Vec<_> =
            met.iter().filter(|id| !self.orders.contains_key(id)).map(ToString::to_string).collect();
        if !unknown.is_empty() {
            writeln!(
                io.out,
                "(Column family id: [{}] contained in WAL are not opened in DB. Applied default hex formatting for \
                 user key. Specify --db=<db_path> to open DB for better user key formatting if it contains timestamp.)",
                unknown.join(",")
            )?;
        }
        outcome
    }

    /// Checks that the timestamps in the WAL have the sizes that the comparators of the column families expect.
    fn check_sizes(&self, sizes: &BTreeMap<FamilyId, u16>) -> Outcome {
        let differs = |(id, order): (&FamilyId, &Order)| {
            let recorded = sizes.get(id).copied().unwrap_or(0);
            (usize::from(recorded) != order.timestamp_size()).then(|| {
                format!("(cf_id: {id}, [recorded: {recorded}, comparator: {}])", order.timestamp_size())
            })
        };
        let wrong: Vec<_> = self.orders.iter().filter_map(differs).collect();
        if wrong.is_empty() || sizes.is_empty() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "Format for user keys in WAL file is inconsistent with the comparator used to open the DB. Timestamp size \
             recorded in WAL vs specified by comparator: {{{}}}",
            wrong.join(", ")
        )))
    }

    fn batch(&mut self, bytes: &[u8], offset: u64, met: &mut VecDeque<FamilyId>, io: &mut Io<'_>) -> Outcome {
        let failed = |e: base::Error| Failure::new(format!("Parsing write batch failed: {e}"));
        let batch = Batch::new(bytes).map_err(failed)?;
        let (sequence, count) = (batch.sequence(), batch.count());
        let mut row = String::new();
        let previous = self.previous.replace((sequence, count));
        if self.how.gaps_only {
            match previous {
                Some((before, n)) if before.saturating_add(u64::from(n)) != sequence => {
                    row = format!("Prev batch sequence number: {before}, prev batch count: {n}, ");
                }
                _ => return Ok(()),
            }
        }
        row.push_str(&format!("{sequence},{count},{},{offset},", bytes.len()));
        let mut here: VecDeque<FamilyId> = VecDeque::new();
        let print_failed = |e: base::Error| Failure::new(format!("Print write batch error: {e}"));
        let mut outcome = Ok(());
        for record in batch.records() {
            let record = record.map_err(print_failed)?;
            if let Record::Marker(marker) = &record {
                outcome = outcome.and(check_policy(marker, self.how.committed).map_err(print_failed));
            }
            if let Some(id) = record.family()
                && !here.contains(&id)
            {
                here.push_front(id);
            }
            row.push_str(&self.record(&record));
        }
        for id in here {
            if !met.contains(&id) {
                met.push_front(id);
            }
        }
        outcome?;
        batch.verify().map_err(print_failed)?;
        Ok(writeln!(io.out, "{row}")?)
    }

    fn record(&self, record: &Record<'_>) -> String {
        let key = |id: FamilyId, key: &[u8]| wal_key(key, self.orders.get(&id));
        let pair = |word: &str, id: FamilyId, k: &[u8], value: &[u8]| {
            let value = if self.how.values { format!(" : 0x{}", hex(value)) } else { String::new() };
            format!("{word}({id}) : {}{value} ", key(id, k))
        };
        match *record {
            Record::Put { family, key, value } => pair("PUT", family, key, value),
            Record::Merge { family, key, operand } => pair("MERGE", family, key, operand),
            Record::Delete { family, key: k } => format!("DELETE({family}) : {} ", key(family, k)),
            Record::SingleDelete { family, key: k } => {
                format!("SINGLE_DELETE({family}) : {} ", key(family, k))
            }
            Record::DeleteRange { family, begin, end } => {
                format!("DELETE_RANGE({family}) : {} {} ", key(family, begin), key(family, end))
            }
            Record::PutBlobIndex { family, key, index } => pair("PUT_BLOB_INDEX", family, key, index),
            Record::TimedPut { family, key, stored } => match Record::split_timed(stored) {
                Some((value, time)) => {
                    format!("{}write_unix_time: {time} ", pair("TIMED_PUT", family, key, value))
                }
                None => pair("TIMED_PUT", family, key, stored),
            },
            Record::PutEntity { family, key: k, entity } => {
                let mut text = format!("PUT_ENTITY({family}) : {}", key(family, k));
                if self.how.values {
                    let columns = match format::wide::decode(entity) {
                        Ok(columns) => show::columns(columns.iter().map(|c| (c.name, c.value)), true),
                        Err(error) => format!("({error})").into_bytes(),
                    };
                    text.push_str(&format!(" : {}", String::from_utf8_lossy(&columns)));
                }
                text.push(' ');
                text
            }
            Record::LogData(_) => String::new(),
            Record::Marker(marker) => match marker {
                Marker::Noop => "NOOP ".to_string(),
                Marker::BeginPrepare | Marker::BeginPersistedPrepare => "BEGIN_PREPARE(false) ".to_string(),
                Marker::BeginUnprepare => "BEGIN_PREPARE(true) ".to_string(),
                Marker::EndPrepare(xid) => format!("END_PREPARE(0x{}) ", hex(xid)),
                Marker::Rollback(xid) => format!("ROLLBACK(0x{}) ", hex(xid)),
                Marker::Commit(xid) => format!("COMMIT(0x{}) ", hex(xid)),
                Marker::CommitWithTimestamp { timestamp, xid } => {
                    format!("COMMIT_WITH_TIMESTAMP(0x{}, 0x{}) ", hex(xid), hex(timestamp))
                }
            },
        }
    }
}

/// Checks that a prepared transaction in a WAL has a policy that `--write_committed` accepts.
fn check_policy(marker: &Marker<'_>, committed: Option<bool>) -> base::Result<()> {
    let (found, wanted, other) = match (marker, committed) {
        (Marker::BeginPrepare, Some(false)) => ("WriteCommitted", "WritePrepared/WriteUnprepared", true),
        (Marker::BeginPersistedPrepare, Some(true)) => {
            ("WritePrepared/WriteUnprepared", "WriteCommitted", false)
        }
        (Marker::BeginUnprepare, Some(true)) => ("WriteUnprepared", "WriteCommitted", false),
        _ => return Ok(()),
    };
    Err(base::Error::not_supported(format!(
        "{found} transaction in a WAL that is read in {wanted} mode; --write_committed={other} reads the WAL"
    )))
}
