//! Reads a MANIFEST: the column families, their files, and the counters.
//!
//! Recovery is total and strict. A wrong record gives Corruption with file and offset, wherever the record
//! is. A record that is cut short at the end of the file is the result of a crash, and recovery skips the
//! record, with two exceptions. First, the bytes would be a valid record with one other bit or another
//! length: no lost sector explains this. Second, a proof or a mark of a later edit states that the record
//! was durable. In both cases the record was damaged, not torn.
//!
//! Recovery also skips a last record with a wrong checksum, with the same exceptions, but only in a MANIFEST
//! with marks. There, edits state the durable size before the edit. A crash may leave only some sectors of
//! an append, or bytes of a former file, and only marks can tell these remains from damage. RocksDB writes
//! no marks, so a wrong checksum in a MANIFEST of RocksDB is Corruption.
//!
//! Two more edits are Corruption: an edit for an unknown column family, and an edit that leads to an
//! impossible version. RocksDB 11.8.1 continues in these cases with an empty column family and deletes the
//! files of the column family.

use std::path::Path;

use base::{Error, FileNumber, Result, Subcode};
use env::{Env, RandomRead, ReadHints};
use format::edit::VersionEdit;
use format::names;
use format::proof::Extent;
use format::wal::{Diagnosis, HOLE, Item, Reader, ReaderOptions, Source};

use super::builder::Builder;
use super::recovered::{ManifestEnd, Recovered};
use crate::sync::Arc;

/// Reads MANIFEST `number` in `dir`.
///
/// # Errors
/// Corruption with file and offset. Errors of the file system.
pub fn recover(env: &Env, dir: &Path, number: FileNumber) -> Result<Recovered> {
    recover_file(env, &dir.join(names::manifest(number)), number)
}

/// Reads a MANIFEST at any path, as [`recover`] does. `number` is the number of the MANIFEST, whatever the file name
/// is.
///
/// # Errors
/// The errors of [`recover`].
pub fn recover_file(env: &Env, path: &Path, number: FileNumber) -> Result<Recovered> {
    read_file(env, path, number, None)
}

/// Does the work of [`recover`], and compares the bytes read with a proof: see [`ManifestEnd`].
///
/// # Errors
/// The errors of [`recover`].
pub fn recover_proved(env: &Env, dir: &Path, number: FileNumber, claim: Option<Extent>) -> Result<Recovered> {
    read_file(env, &dir.join(names::manifest(number)), number, claim)
}

fn read_file(env: &Env, path: &Path, number: FileNumber, claim: Option<Extent>) -> Result<Recovered> {
    let mut reader = open_reader(env, path)?;
    let mut state = Builder::new(number);
    let read = read_all(&mut reader, &mut state, claim);
    described(read, state, path)
}

pub(super) fn open_reader(env: &Env, path: &Path) -> Result<Reader<FileSource>> {
    let file = env.fs.open_random(path, &ReadHints::default()).map_err(|e| {
        if e.is_not_found() {
            Error::io_error("CURRENT names a MANIFEST that does not exist")
                .with_subcode(Subcode::PathNotFound)
                .file(path)
        } else {
            e
        }
    })?;
    Ok(Reader::new(FileSource(file), ReaderOptions::default()))
}

/// Returns the state after a read, with the file in each error.
pub(super) fn described(read: Result<()>, state: Builder, path: &Path) -> Result<Recovered> {
    let end = state.out.size;
    let mut out = read
        .and_then(|()| state.finish().map_err(|e| e.at(end)))
        .map_err(|e| e.doing("reading the MANIFEST").file(path))?;
    if let ManifestEnd::Lost(lost) = &mut out.end {
        lost.error = lost.error.clone().doing("reading the MANIFEST").file(path);
    }
    Ok(out)
}

/// Reads a WAL or MANIFEST from a file.
pub struct FileSource(pub Arc<dyn RandomRead>);

impl Source for FileSource {
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let FileSource(file) = self;
        file.read_at(offset, buf)
    }
}

/// Reads from the position of the reader to the end.
pub(super) fn read_all(
    reader: &mut Reader<FileSource>,
    state: &mut Builder,
    claim: Option<Extent>,
) -> Result<()> {
    // An earlier read may have passed the claim.
    let (start, before) = (reader.whole_end(), reader.digest());
    let is_passed = |c: Extent| c.bytes < start || c.bytes == start && c.digest.is_none_or(|d| d == before);
    let mut claim_met = claim.is_none_or(|c| c.bytes == 0 || is_passed(c));
    let torn = read_edits(reader, state, claim, &mut claim_met)?;
    if let Some(torn) = torn
        && let Some(what) = damaged_not_torn(reader)
    {
        return Err(Error::corruption(what).at(torn));
    }
    state.out.digest = reader.running_digest();
    let end = reader.whole_end();
    base::invariant!(end >= start, "a read of the MANIFEST begins at {start} and ends at {end}");
    let at = reader.hole().filter(|hole| *hole < end || torn.is_none()).or(torn).unwrap_or(end);
    if torn.is_none() && claim_met && claim.is_some_and(|c| c.bytes == end) {
        state.out.end = ManifestEnd::Proved;
    }
    if let Some(claim) = claim.filter(|_| !claim_met) {
        let bytes = claim.bytes.saturating_sub(at);
        let error = Error::corruption(format!(
            "the MANIFEST was durable up to byte {}, but its bytes from here on were changed: {bytes} bytes are lost",
            claim.bytes
        ));
        state.out.end.lose(error.at(at), bytes, true);
    }
    if torn.is_some() || reader.hole().is_some() {
        mark_behind(reader, at, &mut state.out)?;
    }
    Ok(())
}

/// Applies the edits up to the end, or up to a record that does not read. Returns the offset of this record. Sets
/// `claim_met` if an edit ends where the claim says.
fn read_edits(
    reader: &mut Reader<FileSource>,
    state: &mut Builder,
    claim: Option<Extent>,
    claim_met: &mut bool,
) -> Result<Option<u64>> {
    let durable = claim.map_or(0, |c| c.bytes);
    loop {
        match reader.next()? {
            Item::Record { bytes, offset, end } => {
                let edit = VersionEdit::decode(bytes).map_err(|e| e.shifted(offset))?;
                apply(reader, state, edit, (offset, end))?;
                *claim_met |=
                    claim.is_some_and(|c| c.bytes == end && c.digest.is_none_or(|d| d == reader.digest()));
            }
            Item::TornTail { offset, .. } => {
                state.out.end = ManifestEnd::Torn;
                return Ok(Some(offset));
            }
            Item::Corruption(damage) => {
                let reason = match damaged_not_torn(reader) {
                    Some(what) => format!("{}: {what}", damage.reason),
                    None if state.has_marks && damage.offset >= durable => {
                        state.out.end = ManifestEnd::Unreadable { at: state.out.size, followed: false };
                        return Ok(Some(damage.offset));
                    }
                    None => damage.reason,
                };
                return Err(Error::corruption(reason).at(damage.offset));
            }
            Item::Hole { offset } if state.has_marks && offset >= durable => {
                state.out.end = ManifestEnd::Unreadable { at: state.out.size, followed: false };
                return Ok(Some(offset));
            }
            Item::Hole { offset } => return Err(Error::corruption(HOLE).at(offset)),
            Item::OldRecord { offset, .. } => {
                return Err(Error::corruption("a MANIFEST with a record of a recycled WAL").at(offset));
            }
            Item::TimestampSizes { offset, .. } | Item::Predecessor { offset, .. } => {
                return Err(
                    Error::corruption("a MANIFEST with a record of a type that only WALs have").at(offset)
                );
            }
            Item::EndOfLog => return Ok(None),
        }
    }
}

/// Applies the edit whose record has this extent, and checks its mark.
fn apply(
    reader: &Reader<FileSource>,
    state: &mut Builder,
    edit: VersionEdit,
    (offset, end): (u64, u64),
) -> Result<()> {
    let mark = edit.mark;
    state.has_marks |= mark.is_some();
    if !edit.is_seal() {
        state.edit(edit).map_err(|e| e.at(offset))?;
    }
    base::invariant!(
        state.out.size <= offset && offset < end,
        "the edit at {offset} ends at {end}, after an edit that ends at {}",
        state.out.size
    );
    state.out.size = end;
    let Some(mark) = mark else { return Ok(()) };
    let own = mark.number.is_none_or(|number| number == state.out.number);
    let first = own && mark.offset <= offset && mark.digest == reader.digest_before();
    if !first && state.marked != Some(mark) {
        let at = reader.hole().unwrap_or(offset);
        let what = "the records before a mark do not match the digest of the mark";
        return Err(Error::corruption(what).at(at));
    }
    state.marked = Some(mark);
    Ok(())
}

/// Searches after the end of the read bytes for an edit whose mark states that the end was durable.
fn mark_behind(reader: &mut Reader<FileSource>, at: u64, out: &mut Recovered) -> Result<()> {
    let (mut more, mut edits, mut durable) = (reader.resync(at)?, 0u64, at);
    let mut followed = false;
    while more {
        match reader.next()? {
            Item::Record { bytes, offset, .. } => {
                let edit = VersionEdit::decode(bytes).ok();
                edits += u64::from(!edit.as_ref().is_some_and(VersionEdit::is_seal));
                followed |= edit.as_ref().is_some_and(stands_alone);
                // Accept only a mark that names this file and an offset at or before the edit. Other marks are
                // remains of a former file.
                let mark = edit.and_then(|edit| edit.mark);
                let mark = mark.filter(|mark| mark.number.is_none_or(|number| number == out.number));
                durable = mark.filter(|m| m.offset <= offset).map_or(durable, |m| durable.max(m.offset));
            }
            Item::TornTail { offset, .. } => more = reader.resync(offset)?,
            Item::Corruption(damage) => more = reader.resync(damage.offset)?,
            Item::EndOfLog => break,
            _ => {}
        }
    }
    base::invariant!(durable >= at, "the MANIFEST was read to {at}, and is durable only to {durable}");
    out.end.follow(followed);
    if durable > at {
        let bytes = durable - at;
        let error = Error::corruption(format!(
            "a record of the MANIFEST is corrupt, not torn: a mark in a later edit proves that the record was durable; {bytes} bytes are lost, and {edits} complete edits after them"
        ));
        out.end.lose(error.at(at), bytes, false);
    }
    Ok(())
}

/// Returns true if an edit without a mark changes a column family and is in no atomic group. RocksDB
/// appends edits without marks, so this edit can be an append by RocksDB. The bytes before such an append
/// were durable.
fn stands_alone(edit: &VersionEdit) -> bool {
    let changes = !edit.new_files.is_empty() || !edit.deleted_files.is_empty();
    let families = edit.family.add.is_some() || edit.family.drop;
    edit.mark.is_none() && edit.remaining_entries.is_none() && (changes || families)
}

/// Returns a description of the damage of the last record, if no crash explains the damage.
fn damaged_not_torn(reader: &Reader<FileSource>) -> Option<String> {
    Some(match reader.damaged_not_torn()? {
        Diagnosis::Bit { byte, bit } => {
            format!(
                "the last record is corrupt, and no crash is the cause: bit {bit} of its byte {byte} is wrong"
            )
        }
        Diagnosis::Length(length) => {
            format!("the last record is corrupt, and no crash is the cause: its length should be {length}")
        }
    })
}
