//! A MANIFEST read for what is left of it: for repairs, never for opening.

use base::map::HashSet;
use std::path::Path;

use base::{FamilyId, FileNumber, Result};
use env::{Env, ReadHints};
use format::edit::VersionEdit;
use format::wal::{ReaderOptions, SalvageFault, mark_end, salvage};

use super::recover::{Builder, FileSource, Recovered};

/// What is left, and what is not.
pub struct Lenient {
    pub recovered: Recovered,
    /// Where it is damaged, ascending.
    pub faults: Vec<SalvageFault>,
    /// Tables that some record took out of the tree.
    pub deleted: HashSet<u64>,
    /// Column families that some record did away with.
    pub dropped: HashSet<FamilyId>,
    /// Where the last whole record ends.
    pub last_end: u64,
    /// Records behind that end are known to be gone.
    pub lost_end: bool,
}

impl Lenient {
    /// Of a MANIFEST that has nothing to say: the default family, and no tables.
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

/// Reads MANIFEST `number` at `path`. Records that are damaged, or that contradict what came before, are passed
/// over and named.
///
/// # Errors
/// Those of the file system.
pub fn recover_leniently(env: &Env, path: &Path, number: FileNumber) -> Result<Lenient> {
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let mut state = Builder::new(number);
    let (mut deleted, mut dropped) = (HashSet::default(), HashSet::default());
    let (mut last_end, mut refused) = (0, Vec::new());
    let mut faults = salvage(&mut FileSource(file), &ReaderOptions::default(), &mut |bytes, offset, end| {
        let edit = match VersionEdit::decode(bytes) {
            Ok(edit) => edit,
            Err(error) => {
                refused.push((offset, end, error));
                return Ok(());
            }
        };
        last_end = end;
        if edit.is_seal() {
            // It may stand between the edits of an atomic group, and is none of them.
            return Ok(());
        }
        deleted.extend(edit.deleted_files.iter().map(|(_, number)| *number));
        dropped.extend(edit.column_family_drop.then_some(edit.column_family));
        for file in &edit.new_files {
            deleted.remove(&file.number);
        }
        if let Err(error) = state.edit(edit) {
            refused.push((offset, end, error));
        }
        Ok(())
    })?;
    faults.extend(refused.into_iter().map(|(offset, end, error)| SalvageFault {
        offset,
        lost_bytes: end - offset,
        what: error.message().to_string(),
        at_end: false,
    }));
    faults.sort_by_key(|f| f.offset);
    mark_end(&mut faults, last_end);
    Ok(Lenient { recovered: state.into_lenient(), faults, deleted, dropped, last_end, lost_end: false })
}
