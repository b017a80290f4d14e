//! Creates a column family from exported files.

use base::{Error, Level, Result};
use format::edit::{FamilyEdit, VersionEdit};
use lsm::table_file::TableFile;
use lsm::version::{Edit, Version};

use super::families::{Admin, commit_families};
use crate::commit::of_new_family;
use crate::components::FamilyDescriptor;
use crate::family::Family;
use crate::ingest::{ImportRequest, Imported, import};
use crate::recovery::RequestedFamily;
use crate::sync::Arc;

impl Admin<'_> {
    /// Creates a column family that holds exported files. The column family and its files appear in one atomic group of
    /// the MANIFEST.
    ///
    /// # Errors
    /// InvalidArgument if the name exists, if an export has another comparator, and for exports that overlap.
    /// Corruption for files that do not open. Errors of the file system and the MANIFEST. After an error there is no
    /// new column family.
    pub fn create_family_with_import(
        &self,
        descriptor: FamilyDescriptor,
        requests: &[ImportRequest],
        move_files: bool,
    ) -> Result<Arc<Family>> {
        self.db.inner.writing()?;
        let inner = &self.db.inner;
        let changes = inner.changes.lock();
        let request = self.request_family(&descriptor, 0)?;
        let mut imported = import(&inner.tools, &request.parts, requests, move_files)?;
        let family = self.commit_import(&descriptor, &request, &mut imported)?;
        drop(changes);
        inner.tools.events.info(format_args!(
            "Created column family [{}] (ID {}) with {} imported files",
            family.name(),
            family.id(),
            imported.files.len()
        ));
        if move_files {
            let originals = requests.iter().flat_map(|request| &request.files);
            for file in originals {
                if let Err(error) = inner.tools.env.fs.unlink(&file.path) {
                    inner.tools.events.warn(format_args!(
                        "the imported file is in the database, but the original could not be removed: {error}"
                    ));
                }
            }
        }
        self.families_changed(1)?;
        Ok(family)
    }

    fn commit_import(
        &self,
        descriptor: &FamilyDescriptor,
        request: &RequestedFamily,
        imported: &mut Imported,
    ) -> Result<Arc<Family>> {
        let (inner, writing) = (&self.db.inner, self.db.inner.writing()?);
        let parts = &request.parts;
        let edit = Edit { added: imported.files.clone(), ..Edit::default() };
        let empty = Version::empty(parts.internal_order(), parts.pick.num_levels);
        let version = Arc::new(empty.apply(&[edit])?);
        parts.charge_files(version.files().map(|(_, file)| file))?;
        let id = inner.families.max_id().next();
        let id = id.ok_or_else(|| Error::not_supported("more column families: all numbers are used"))?;
        base::invariant!(inner.families.get(id).is_none(), "the new column family {id} exists already");
        let family = writing.writer.alone(|leader| {
            let wal = inner.wals.active_number();
            let last_seq = leader.last_seq.max(imported.largest_seq);
            let mem = parts.new_memtable(1, last_seq);
            let family = Family::new(
                id,
                request.name.clone(),
                request.options.clone(),
                parts.clone(),
                version,
                mem,
                wal,
                inner.release_notifier.clone(),
            );
            // If the commit fails, no entry has these sequence numbers, which is harmless.
            leader.last_seq = last_seq;
            inner.tools.sequence.publish(last_seq);
            base::invariant!(
                imported.files.iter().all(|(_, file)| file.largest_seq <= last_seq),
                "an imported file is newer than the database at {last_seq}"
            );
            let added =
                VersionEdit { remaining_entries: Some(1), ..of_new_family(id, &descriptor.name, parts, wal) };
            let timestamp_size = parts.order.timestamp_size();
            let record = |(level, file): &(Level, Arc<TableFile>)| file.to_record(*level, timestamp_size);
            let filled = VersionEdit {
                family: FamilyEdit { id, ..FamilyEdit::default() },
                new_files: imported.files.iter().map(record).collect(),
                remaining_entries: Some(0),
                ..VersionEdit::default()
            };
            // Even after an error, the records may be in the MANIFEST. The next open then needs the files.
            imported.keep_files();
            let edits = vec![added, filled];
            let commit = commit_families(&inner.committer, writing, edits, || {
                inner.families.add(std::slice::from_ref(&family))
            });
            commit.map(|()| family)
        })??;
        writing.jobs.purge.remove_old_manifests();
        writing.jobs.failures.family_added(&family);
        writing.upkeep.family_options_changed();
        Ok(family)
    }
}
