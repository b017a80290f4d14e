//! Blob files in a repair: the references of the SST files, the completeness of each blob file, and the records of blob
//! files without a MANIFEST entry.
//!
//! Repair never rewrites a damaged blob file: each record has its own checksum, and reads of the other records still
//! succeed. Lost values are reported by the offset of the first damaged record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use base::{Error, FamilyId, FileNumber, Result, WalNumber};
use env::ReadHints;
use format::batch::Batch;
use format::blob::BlobRef;
use format::edit::{BlobFileAddition, BlobFileGarbage};
use format::names::{self, FileName};
use lsm::blob_flow::references;
use table::blob::{BlobAccess, BlobReader, scan};

use super::found::Survey;
use super::terms::{descriptor_of, problem, table_dirs};
use super::{Scope, Weight};
use crate::manifest::FamilyRecord;

/// Returns the records of the blob files that the column family still needs, with their garbage. Leaves out blob
/// files that no SST file can refer to.
pub(super) fn records_of(
    family: &FamilyRecord,
    linked: &BTreeSet<FileNumber>,
) -> (Vec<BlobFileAddition>, Vec<BlobFileGarbage>) {
    let Some(&oldest) = linked.first() else { return (Vec::new(), Vec::new()) };
    let garbage = |number: FileNumber| family.blob_garbage.get(&number).copied().unwrap_or_default();
    let live = family.blobs.values().filter(|blob| {
        let number = blob.blob_file_number;
        let (garbage_count, _) = garbage(number);
        number >= oldest && (linked.contains(&number) || garbage_count < blob.total_blob_count)
    });
    let additions: Vec<_> = live.cloned().collect();
    let garbages = additions.iter().filter_map(|blob| {
        let (garbage_blob_count, garbage_blob_bytes) = garbage(blob.blob_file_number);
        (garbage_blob_count > 0).then_some(BlobFileGarbage {
            blob_file_number: blob.blob_file_number,
            garbage_blob_count,
            garbage_blob_bytes,
        })
    });
    (additions.clone(), garbages.collect())
}

/// Reads the values of blob files that the records of WALs refer to (`enable_blob_direct_write`).
pub(super) struct ReferredValues<'a> {
    scope: &'a Scope,
    /// The oldest WAL that each column family needs, and the directory of its blob files.
    families: BTreeMap<FamilyId, (WalNumber, PathBuf)>,
    /// The blob files that were opened, with their sizes. Or whether the file is missing, and why the file does not open.
    open: BTreeMap<FileNumber, std::result::Result<(BlobReader, u64), (bool, String)>>,
    /// True if the last value that was read is beyond the end of its file, or the file is missing.
    is_cut_off: bool,
}

impl<'a> ReferredValues<'a> {
    pub(super) fn new(scope: &'a Scope, families: impl Iterator<Item = &'a FamilyRecord>) -> Result<Self> {
        let place = |family: &FamilyRecord| {
            let descriptor = descriptor_of(scope, &family.name, family.comparator.as_deref())?;
            let dir = table_dirs(scope, &descriptor).first().cloned().unwrap_or(scope.paths.db.clone());
            Ok((family.id, (family.wal_number, dir)))
        };
        Ok(ReferredValues {
            scope,
            families: families.map(place).collect::<Result<_>>()?,
            open: BTreeMap::new(),
            is_cut_off: false,
        })
    }

    /// Returns true if a crash can be the reason for the last error of [`ReferredValues::check`]: the blob file was not synced.
    pub(super) fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Checks the values in blob files that the replay of a batch of the WAL `wal` needs: each value can be read.
    ///
    /// # Errors
    /// Corruption that names the blob file.
    pub(super) fn check(&mut self, wal: WalNumber, batch: &Batch<'_>) -> Result<()> {
        for record in batch.records() {
            let record = record?;
            let Some((family, (value_type, key, value))) = record.family().zip(record.entry()) else {
                continue;
            };
            let Some((_, dir)) = self.families.get(&family).filter(|(oldest, _)| wal >= *oldest) else {
                continue;
            };
            let (dir, mut blobs) = (dir.clone(), Vec::new());
            references(value_type as u8, value, &mut |blob| blobs.push(blob))?;
            for blob in blobs {
                self.read(family, &dir, key, &blob)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, family: FamilyId, dir: &Path, key: &[u8], blob: &BlobRef) -> Result<()> {
        let path = dir.join(names::blob(blob.file_number));
        let fs = &self.scope.options.env.fs;
        let opened = self.open.entry(blob.file_number).or_insert_with(|| {
            let file = fs.open_random(&path, &ReadHints::default());
            let reader = file.and_then(|file| {
                let size = file.size()?;
                BlobReader::open_unfinished(file, family, None).map(|reader| (reader, size))
            });
            reader.map_err(|error| (error.is_not_found(), error.message().to_string()))
        });
        let access = BlobAccess { verify_checksums: true, limits: None };
        let (is_cut_off, read) = match opened {
            Ok((reader, size)) => {
                let read = reader.get(key, blob, access).map_err(|error| error.message().to_string());
                (blob.offset.checked_add(blob.size).is_some_and(|end| end > *size), read)
            }
            Err((is_missing, why)) => (*is_missing, Err(why.clone())),
        };
        self.is_cut_off = is_cut_off;
        let lost = |why| format!("a value in blob file {:06} is lost: {why}", blob.file_number);
        read.map(drop).map_err(|why| Error::corruption(lost(why)))
    }
}

impl Survey {
    /// Adds records for the blob files that adopted SST files refer to and no MANIFEST names, then reads all blob files
    /// that the SST files need.
    pub(super) fn blob_files(&mut self, scope: &Scope) -> Result<()> {
        let families: Vec<_> = self.manifest.recovered.families.values().cloned().collect();
        for family in families {
            let descriptor = descriptor_of(scope, &family.name, family.comparator.as_deref())?;
            let dir = table_dirs(scope, &descriptor).first().cloned().unwrap_or(scope.paths.db.clone());
            let wanted = self.blob_references.remove(&family.id).unwrap_or_default();
            for number in wanted.into_iter().filter(|n| !family.blobs.contains_key(n)) {
                let path = dir.join(names::blob(number));
                if let Some(record) = self.unknown_blob_file(scope, family.id, number, path)?
                    && let Some(family) = self.manifest.recovered.families.get_mut(&family.id)
                {
                    family.blobs.insert(number, record);
                }
            }
            let Some(family) = self.manifest.recovered.families.get(&family.id).cloned() else { continue };
            let (additions, _) = records_of(&family, &self.linked(family.id));
            for record in additions {
                self.blob_file(scope, &family, &dir, &record)?;
            }
        }
        Ok(())
    }

    /// Returns the oldest blob file of each SST file of a column family.
    fn linked(&self, family: FamilyId) -> BTreeSet<FileNumber> {
        let own = self.tables.iter().filter(|t| t.family == family);
        own.filter_map(|t| t.record.oldest_blob_file_number).collect()
    }

    /// Makes the record of a blob file that no MANIFEST names, from its header and footer.
    fn unknown_blob_file(
        &mut self,
        scope: &Scope,
        family: FamilyId,
        number: FileNumber,
        path: PathBuf,
    ) -> Result<Option<BlobFileAddition>> {
        self.next_number = self.next_number.max(number.next());
        let opened = scope
            .options
            .env
            .fs
            .open_random(&path, &ReadHints::default())
            .and_then(|file| BlobReader::open(file, family, None));
        match opened {
            Ok(reader) => Ok(Some(BlobFileAddition {
                blob_file_number: number,
                total_blob_count: reader.blob_count(),
                total_blob_bytes: reader.records_bytes(),
                ..BlobFileAddition::default()
            })),
            Err(error) if error.is_not_found() || error.is_corruption() => {
                let what = format!("SST files need this blob file: {}", error.message());
                self.report.problems.push(problem(Weight::Loss, path, error.offset(), &what));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a blob file that SST files need, from start to end.
    fn blob_file(
        &mut self,
        scope: &Scope,
        family: &FamilyRecord,
        dir: &Path,
        record: &BlobFileAddition,
    ) -> Result<()> {
        let path = dir.join(names::blob(record.blob_file_number));
        let checked = scope.options.env.fs.open_random(&path, &ReadHints::default()).and_then(|file| {
            self.report.num_files += 1;
            self.report.num_bytes += file.size()?;
            let found = scan(&file, |_| Ok(()))?;
            if found.footer.is_some() {
                // The header has no checksum: reads of the values may refuse a file whose records are valid.
                BlobReader::open(file, family.id, None)?;
            }
            Ok(found)
        });
        let (what, offset) = match checked {
            Ok(found) if found.footer.is_none() => ("the blob file has no valid footer".to_string(), None),
            Ok(found)
                if (found.blob_count, found.blob_bytes)
                    != (record.total_blob_count, record.total_blob_bytes) =>
            {
                let what = format!(
                    "the blob file has {} blobs of {} bytes; the MANIFEST says {} of {}",
                    found.blob_count, found.blob_bytes, record.total_blob_count, record.total_blob_bytes
                );
                (what, None)
            }
            Ok(_) => return Ok(()),
            Err(error) if error.is_not_found() => ("the blob file is missing".to_string(), None),
            Err(error) if error.is_corruption() => (error.message().to_string(), error.offset()),
            Err(error) => return Err(error),
        };
        let mut found = problem(Weight::Loss, path, offset, &what);
        found.family = Some(family.name.clone());
        // The MANIFEST may name fewer bytes than the file has.
        found.bytes = match offset {
            Some(offset) => record.total_blob_bytes.saturating_sub(offset),
            None => record.total_blob_bytes,
        };
        self.report.problems.push(found);
        Ok(())
    }

    /// Notes the blob files on disk that the new MANIFEST does not name.
    pub(super) fn unneeded_blob_files(&mut self, scope: &Scope) -> Result<()> {
        let mut needed = BTreeSet::new();
        for family in self.manifest.recovered.families.values() {
            let (additions, _) = records_of(family, &self.linked(family.id));
            needed.extend(additions.iter().map(|blob| blob.blob_file_number));
        }
        for name in scope.options.env.fs.list(&scope.paths.db)? {
            if let Some(FileName::Blob(number)) = FileName::parse(&name)
                && !needed.contains(&number)
            {
                let what = "no SST file refers to this blob file";
                let path = scope.paths.db.join(name);
                self.report.problems.push(problem(Weight::Note, path, None, what));
            }
        }
        Ok(())
    }
}
