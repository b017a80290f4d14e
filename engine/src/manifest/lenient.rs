//! Reads what is left of a damaged MANIFEST. For repairs only; an open never uses this module.

use base::map::HashSet;
use std::path::Path;

use base::{Arrange, FamilyId, FileNumber, Kind, Result};
use env::{Env, ReadHints};
use format::edit::VersionEdit;
use format::wal::{ReaderOptions, SalvageFault, mark_end, salvage};

use super::builder::Builder;
use super::recover::FileSource;
use super::recovered::Recovered;

/// The state that the readable records describe, and the damage.
pub struct Lenient {
    pub recovered: Recovered,
    /// The damaged places, in the order of their offsets.
    pub faults: Vec<SalvageFault>,
    /// SST files that a record deleted and no later record added again.
    pub deleted: HashSet<FileNumber>,
    /// Column families that a record dropped.
    pub dropped: HashSet<FamilyId>,
    /// The end of the last whole record, in bytes from the start of the file.
    pub last_end: u64,
    /// True if records after `last_end` are known to be lost.
    pub lost_end: bool,
}

impl Lenient {
    /// Returns the state for a MANIFEST without a readable record: the default column family, without SST files.
    pub fn nothing(number: FileNumber) -> Lenient {
        let recovered = Builder::new(number).into_lenient();
        Lenient {
            recovered,
            faults: Vec::new(),
            deleted: HashSet::default(),
            dropped: HashSet::default(),
            last_end: 0,
            lost_end: true,
        }
    }
}

/// Reads MANIFEST `number` at `path`. Skips each record that is damaged or contradicts the records before it, and
/// reports the record as a fault.
///
/// # Errors
/// Errors of the file system. NotSupported for a record of a feature that this engine does not have.
pub fn recover_leniently(env: &Env, path: &Path, number: FileNumber) -> Result<Lenient> {
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let mut state = Builder::new(number);
    let (mut deleted, mut dropped) = (HashSet::default(), HashSet::default());
    let (mut last_end, mut refused) = (0, Vec::new());
    let salvaged = salvage(&mut FileSource(file), &ReaderOptions::default(), &mut |bytes, offset, end| {
        let edit = match VersionEdit::decode(bytes) {
            Ok(edit) => edit,
            // The checksum of the record is right, so the record is whole: a repair would drop a part of the database.
            Err(error) if error.kind() == Kind::NotSupported => return Err(error.file(path)),
            Err(error) => {
                refused.push((offset, end, error));
                return Ok(());
            }
        };
        last_end = end;
        if edit.is_seal() {
            // A seal may stand between the edits of an atomic group, and is not one of them.
            return Ok(());
        }
        deleted.extend(edit.deleted_files.iter().map(|(_, number)| *number));
        dropped.extend(edit.family.drop.then_some(edit.family.id));
        for file in &edit.new_files {
            deleted.remove(&file.number);
        }
        if let Err(error) = state.edit(edit) {
            refused.push((offset, end, error));
        }
        Ok(())
    })?;
    let mut faults = salvaged.faults;
    faults.extend(refused.into_iter().map(|(offset, end, error)| SalvageFault {
        offset,
        lost_bytes: end - offset,
        what: error.message().to_string(),
        at_end: false,
    }));
    faults.arrange_by_key(|f| f.offset);
    mark_end(&mut faults, last_end);
    base::invariant!(
        faults.is_sorted_by(|a, b| a.offset <= b.offset),
        "{} faults of a MANIFEST are not in the order of their offsets",
        faults.len()
    );
    Ok(Lenient { recovered: state.into_lenient(), faults, deleted, dropped, last_end, lost_end: false })
}
