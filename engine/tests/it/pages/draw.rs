//! Draws WALs and MANIFESTs as text.

use base::WalNumber;
use format::batch::{Batch, Record};
use format::edit::VersionEdit;
use format::wal::{Item, Mark, Reader, ReaderOptions, is_mark, marks_of};

/// Returns the records of a WAL, one line for each: its bytes, the sequence number of its first entry, and its entries.
pub fn wal(number: u64, bytes: &[u8]) -> String {
    let mut reader =
        Reader::new(bytes, ReaderOptions { wal_number: WalNumber::new(number), ..ReaderOptions::default() });
    let mut out = format!("{number:06}.log, {} bytes\n", bytes.len());
    loop {
        let line = match reader.next() {
            Ok(Item::Record { bytes, offset, end }) => format!("{offset}..{end} {}", batch(bytes)),
            Ok(Item::TornTail { offset, dropped, .. }) => format!("{offset} torn, {dropped} bytes"),
            Ok(Item::OldRecord { offset, .. }) => format!("{offset} an old record"),
            Ok(Item::Hole { offset }) => format!("{offset} a hole"),
            Ok(Item::Corruption(damage)) => format!("{} {}", damage.offset, damage.reason),
            Ok(Item::Predecessor { info, offset }) => {
                format!("{offset} after {:06} of {} bytes", info.wal_number, info.size_bytes)
            }
            Ok(Item::TimestampSizes { sizes, offset }) => format!("{offset} timestamps {sizes:?}"),
            Ok(Item::EndOfLog) => return out,
            Err(error) => return format!("{out}  {error}\n"),
        };
        out += &format!("  {line}\n");
    }
}

fn batch(bytes: &[u8]) -> String {
    let Ok(batch) = Batch::new(bytes) else { return "no batch".to_string() };
    let records = batch.records().filter_map(|record| match record {
        Ok(Record::LogData(data)) if is_mark(bytes) && bytes.ends_with(data) => None,
        Ok(record) => Some(shown(&record)),
        Err(error) => Some(error.to_string()),
    });
    let mut parts: Vec<String> = records.collect();
    let marks = marks_of(bytes).unwrap_or_default();
    let mark = |word: &str, mark: &Mark| match mark.file_number {
        base::FileNumber::ZERO => format!("{word} {}", mark.bytes),
        number => format!("{word} {number:06}:{}", mark.bytes),
    };
    parts.extend(marks.durable.iter().map(|durable| mark("durable", durable)));
    parts.extend(marks.written.iter().map(|written| mark("written", written)));
    parts.extend(marks.manifest.iter().map(|manifest| mark("MANIFEST", manifest)));
    format!("#{} {}", batch.sequence(), parts.join("; ")).trim_end().to_string()
}

fn shown(record: &Record<'_>) -> String {
    let text = |bytes: &[u8]| match bytes {
        long if long.len() > 40 => format!("({} bytes)", long.len()),
        bytes => bytes.escape_ascii().to_string(),
    };
    let of = |family: base::FamilyId| match family.get() {
        0 => String::new(),
        id => format!(" in {id}"),
    };
    match record {
        Record::Put { family, key, value } => format!("put {} {}{}", text(key), text(value), of(*family)),
        Record::Delete { family, key } => format!("delete {}{}", text(key), of(*family)),
        Record::SingleDelete { family, key } => format!("single-delete {}{}", text(key), of(*family)),
        Record::Merge { family, key, operand } => {
            format!("merge {} {}{}", text(key), text(operand), of(*family))
        }
        Record::DeleteRange { family, begin, end } => {
            format!("delete-range {} {}{}", text(begin), text(end), of(*family))
        }
        other => format!("{other:?}"),
    }
}

/// Returns the version edits of a MANIFEST, one paragraph for each, without the lines that are random.
pub fn manifest(bytes: &[u8]) -> String {
    let mut reader = Reader::new(bytes, ReaderOptions::default());
    let mut out = String::new();
    while let Ok(item) = reader.next() {
        let Item::Record { bytes, offset, end } = item else { break };
        out += &format!("{offset}..{end}");
        match VersionEdit::decode(bytes) {
            Ok(edit) => {
                let text = edit.describe(false);
                let lines =
                    text.lines().skip(1).filter(|line| !line.contains("DB ID")).map(|line| {
                        match line.find(" unique_id") {
                            Some(at) => &line[..at],
                            None => line,
                        }
                    });
                out += &lines.filter(|line| *line != "}").map(|line| format!("\n{line}")).collect::<String>();
                out.push('\n');
            }
            Err(error) => out += &format!(" {error}\n"),
        }
    }
    out
}
