//! Compares the links between SST files and missing blob files with a plain model.

use base::map::{HashMap, HashSet};
use base::{FamilyId, FileNumber, Level, Result, SequenceNumber};
use format::edit::{BlobEdit, BlobFileAddition, BlobFileGarbage, NewFile, VersionEdit};
use proptest::prelude::*;

use super::super::builder::Builder;
use super::super::recovered::FamilyRecord;
use super::{Best, Present, Whole};

/// The blob files with an odd number and the SST files with a number that 3 divides are missing.
struct Thirds;

impl Present for Thirds {
    fn has_table(&self, _: &FamilyRecord, file: &NewFile) -> Result<bool> {
        Ok(!file.number.get().is_multiple_of(3))
    }

    fn has_blob_file(&self, _: &FamilyRecord, blob: &BlobFileAddition) -> Result<bool> {
        Ok(blob.blob_file_number.get().is_multiple_of(2))
    }
}

fn best() -> Best<'static> {
    Best {
        state: Builder::new(FileNumber::new(1)),
        present: &Thirds,
        families: Default::default(),
        there: HashMap::default(),
        missing_blobs: HashSet::default(),
        units: 0,
        groups: Vec::new(),
    }
}

/// Looks at each SST file for each missing blob file.
fn needed_by_model(whole: &Whole, record: &FamilyRecord) -> Vec<FileNumber> {
    let needs = |blob: FileNumber, unit: u64| {
        let linked: Vec<_> =
            record.files.values().filter(|file| file.oldest_blob_file_number == Some(blob)).collect();
        let total = record.blobs.get(&blob).map_or(0, |blob| blob.total_blob_count);
        let garbage = record.blob_garbage.get(&blob).map_or(0, |(count, _)| *count);
        let is_newest =
            |file: &&NewFile| file.level == Level::ZERO && whole.missing.contains_key(&file.number);
        let is_unused = if linked.is_empty() { garbage >= total } else { linked.iter().all(is_newest) };
        let mut existing = record.files.values().filter(|file| !whole.missing.contains_key(&file.number));
        !is_unused
            && existing.any(|file| {
                file.oldest_blob_file_number.is_some_and(|oldest| oldest <= blob)
                    && whole.added.get(&file.number).is_none_or(|added| *added >= unit)
            })
    };
    whole.missing_blobs.iter().filter(|(blob, unit)| needs(**blob, **unit)).map(|(blob, _)| *blob).collect()
}

/// One step of a history: what to do, and two numbers that choose the files.
fn edit(best: &Best<'_>, number: u64, (what, a, b): (u8, u8, u8)) -> VersionEdit {
    let record = &best.state.families()[&FamilyId::DEFAULT];
    let blobs: Vec<_> = record.blobs.keys().copied().collect();
    let mut files: Vec<_> = record.files.values().collect();
    files.sort_by_key(|file| file.number);
    let link = |at: u8| blobs.get(usize::from(at) % (blobs.len() + 1)).copied();
    let added = |number_of_level: u8| NewFile {
        level: Level::new(number_of_level % 3),
        number: FileNumber::new(number),
        oldest_blob_file_number: link(a),
        smallest_seqno: SequenceNumber::new(number),
        largest_seqno: SequenceNumber::new(number),
        ..NewFile::default()
    };
    let deleted = files.get(usize::from(b) % files.len().max(1)).map(|file| (file.level, file.number));
    let mut edit = VersionEdit::default();
    match what % 4 {
        0 => {
            edit.blobs.additions.push(BlobFileAddition {
                blob_file_number: FileNumber::new(number),
                total_blob_count: 2,
                total_blob_bytes: 2,
                ..BlobFileAddition::default()
            });
        }
        1 => edit.new_files.push(added(b)),
        2 => {
            edit.deleted_files.extend(deleted);
            edit.new_files.push(added(b));
        }
        _ => {
            let full =
                |blob: &FileNumber| record.blob_garbage.get(blob).is_some_and(|(count, _)| *count == 2);
            let more = link(a).filter(|blob| !full(blob)).map(|blob_file_number| BlobFileGarbage {
                blob_file_number,
                garbage_blob_count: 1,
                garbage_blob_bytes: 1,
            });
            edit.blobs.garbages.extend(more);
            edit.deleted_files.extend(deleted.filter(|_| b.is_multiple_of(2)));
        }
    }
    edit
}

proptest! {
    #[test]
    fn the_needed_blob_files_are_those_of_the_model(steps in prop::collection::vec(any::<(u8, u8, u8)>(), 1..60)) {
        let mut best = best();
        for (number, step) in (1..).zip(steps) {
            let edit = edit(&best, number, step);
            best.unit(vec![edit]).unwrap();
            let record = &best.state.families()[&FamilyId::DEFAULT];
            let whole = &best.families[&FamilyId::DEFAULT];
            prop_assert_eq!(whole.needed_blobs(record).collect::<Vec<_>>(), needed_by_model(whole, record));
            let below = |(number, level): (&FileNumber, &Level)| *level > Level::ZERO && record.files.contains_key(number);
            prop_assert_eq!(whole.missing_below, whole.missing.iter().filter(|file| below(*file)).count());
        }
    }
}

/// Each blob file is missing, and each is linked to an SST file that exists. The model would look at a billion pairs.
#[test]
fn a_long_history_with_many_missing_blob_files_is_read_in_one_pass() {
    let mut best = best();
    for number in 1..1_000u64 {
        let (blob, table) = (FileNumber::new(2 * number + 1), FileNumber::new(3 * number + 10_001));
        let added = NewFile {
            level: Level::new(1),
            number: if table.get().is_multiple_of(3) { table.next() } else { table },
            oldest_blob_file_number: Some(blob),
            ..NewFile::default()
        };
        let addition = BlobFileAddition { blob_file_number: blob, total_blob_count: 1, ..Default::default() };
        let edit = VersionEdit {
            blobs: BlobEdit { additions: vec![addition], ..BlobEdit::default() },
            new_files: vec![added],
            ..VersionEdit::default()
        };
        best.unit(vec![edit]).unwrap();
    }
    assert_eq!(best.needed_blobs(FamilyId::DEFAULT).count(), 999);
}
