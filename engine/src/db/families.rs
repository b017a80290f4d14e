//! Creates, drops and lists column families.

use std::path::Path;

use base::map::HashSet;
use base::{Error, FamilyId, Result};
use env::Env;
use env::fs::refuse_empty_path;
use format::edit::{FamilyEdit, VersionEdit};
use format::proof::Proof;

use super::Db;
use crate::commit::{Committer, of_new_family};
use crate::components::FamilyDescriptor;
use crate::event::{ErrorReason, Event};
use crate::family::Family;
use crate::files::refuse_foreign;
use crate::manifest::{read_current, read_proof, recover_proved};
use crate::opening::{FamilyUse, Writing, check_new_name, family_dirs, log_family, make_dir, request_of};
use crate::output::named;
use crate::recovery::{RequestedFamily, new_family};
use crate::sync::Arc;

/// Returns the names of the column families of the database at `path`. Does not open the database.
///
/// # Errors
/// Corruption of the MANIFEST. Corruption if durable edits of the MANIFEST are lost, because an edit may have created a column family.
pub fn list_families(env: &Env, path: &Path) -> Result<Vec<String>> {
    refuse_empty_path(path)?;
    let number = read_current(env, path)?;
    let proof = read_proof(env, path, number).ok().flatten();
    let recovered = recover_proved(env, path, number, proof.as_ref().map(|proof| proof.manifest))?;
    // A proof with a different database id belongs to another database. An old MANIFEST has no database id.
    let is_of = |proof: &Proof| recovered.db_id.as_ref().is_none_or(|id| *id == proof.db_id);
    if let Some(lost) = recovered.end.lost()
        && proof.as_ref().is_some_and(is_of)
    {
        return Err(lost.error.clone());
    }
    Ok(recovered.families.into_values().map(|f| f.name).collect())
}

/// Changes of the column families and of the options of a database: see [`Db::admin`].
#[derive(Clone, Copy)]
pub struct Admin<'a> {
    pub(super) db: &'a Db,
}

impl Admin<'_> {
    /// Creates a column family.
    ///
    /// # Errors
    /// InvalidArgument if the name is taken; NotSupported for options that ask for a missing feature.
    pub fn create_family(&self, descriptor: FamilyDescriptor) -> Result<Arc<Family>> {
        let mut made = self.create_families(vec![descriptor])?;
        made.pop().ok_or_else(|| Error::aborted("no column family was created"))
    }

    /// Creates several column families in order, with one append to the MANIFEST and one OPTIONS file.
    ///
    /// # Errors
    /// The error of [`Admin::create_family`] for the first column family that cannot be created; the column families
    /// before it are created. After an error of the MANIFEST, this open has none of them.
    pub fn create_families(&self, descriptors: Vec<FamilyDescriptor>) -> Result<Vec<Arc<Family>>> {
        self.db.inner.writing()?;
        let changes = self.db.inner.changes.lock();
        let (requests, outcome) = self.request_families(&descriptors);
        if requests.is_empty() {
            return outcome.map(|()| Vec::new());
        }
        let made = self.add_families(&requests)?;
        drop(changes);
        for family in &made {
            self.db.inner.tools.events.info(format_args!(
                "Created column family [{}] (ID {})",
                family.name(),
                family.id()
            ));
        }
        self.families_changed(made.len())?;
        outcome.map(|()| made)
    }

    /// Checks new column families, and creates their directories. Stops at the first column family that cannot be created,
    /// and returns the column families before it with the error of [`Admin::create_family`].
    pub(super) fn request_families(
        &self,
        descriptors: &[FamilyDescriptor],
    ) -> (Vec<RequestedFamily>, Result<()>) {
        let mut requests = Vec::with_capacity(descriptors.len());
        let mut names = HashSet::default();
        for descriptor in descriptors {
            let request = match names.insert(descriptor.name.as_str()) {
                true => self.request_family(descriptor, requests.len()),
                false => Err(exists_already(&descriptor.name)),
            };
            match request {
                Ok(request) => requests.push(request),
                Err(error) => return (requests, Err(error)),
            }
        }
        (requests, Ok(()))
    }

    /// Checks one new column family, and creates its directories. `before` is the number of column families that the
    /// same call creates before this one.
    pub(super) fn request_family(
        &self,
        descriptor: &FamilyDescriptor,
        before: usize,
    ) -> Result<RequestedFamily> {
        check_new_name(&descriptor.name)?;
        let inner = &self.db.inner;
        if inner.families.by_name(&descriptor.name).is_some() {
            return Err(exists_already(&descriptor.name));
        }
        let db = inner.tools.options.load_full();
        let request = request_of(
            descriptor,
            &db,
            &inner.tools.paths.db,
            &inner.caches,
            &inner.tools.events,
            FamilyUse::Create,
        )?;
        log_family(&inner.tools.events, &request, inner.families.len() + before);
        let dirs = family_dirs(std::slice::from_ref(descriptor));
        refuse_foreign(&*inner.tools.env.fs, &inner.tools.paths, &dirs)?;
        for dir in dirs {
            make_dir(&inner.tools.env, &dir)?;
        }
        Ok(request)
    }

    /// Adds column families with one append to the MANIFEST. The caller holds `changes`. After a crash during the append,
    /// the first column families of the list may exist without the others.
    ///
    /// # Errors
    /// NotSupported if no column family numbers are left. Errors of the MANIFEST.
    pub(super) fn add_families(&self, requests: &[RequestedFamily]) -> Result<Vec<Arc<Family>>> {
        let (inner, writing) = (&self.db.inner, self.db.inner.writing()?);
        let used = inner.families.max_id();
        let ids: Vec<_> = std::iter::successors(used.next(), |id| id.next()).take(requests.len()).collect();
        // Never assign the largest id: each assigned id must have a next id.
        if ids.len() < requests.len() || ids.last().is_some_and(|last| last.next().is_none()) {
            return Err(Error::not_supported("more column families: all their numbers are used up"));
        }
        let numbered = || requests.iter().zip(ids.iter().copied());
        // Run as the leader. No write may run between the read of the active WAL number and the creation of the first
        // memtables.
        let made = writing.writer.alone(|leader_state| {
            let wal = inner.wals.active_number();
            let edits = numbered().map(|(r, id)| of_new_family(id, &r.name, &r.parts, wal)).collect();
            let made: Vec<_> = numbered()
                .map(|(r, id)| new_family(id, r, wal, leader_state.last_seq, &inner.release_notifier))
                .collect();
            commit_families(&inner.committer, writing, edits, || inner.families.add(&made)).map(|()| made)
        })??;
        base::invariant!(
            made.len() == requests.len(),
            "{} column families are asked for, and {} are created",
            requests.len(),
            made.len()
        );
        writing.jobs.purge.remove_old_manifests();
        made.iter().for_each(|family| writing.jobs.failures.family_added(family));
        writing.upkeep.family_options_changed();
        Ok(made)
    }

    /// Drops a column family. Reads through existing handles still return its entries. Its files are deleted after
    /// the last handle is dropped.
    ///
    /// # Errors
    /// InvalidArgument for the default column family, and for a column family that is dropped already.
    pub fn drop_family(&self, family: &Arc<Family>) -> Result<()> {
        self.db.inner.own(family)?;
        if family.id() == FamilyId::DEFAULT {
            return Err(Error::invalid_argument("Can't drop default column family"));
        }
        let writing = self.db.inner.writing()?;
        let inner = &self.db.inner;
        let changes = inner.changes.lock();
        if family.is_dropped() {
            return Err(Error::invalid_argument("Column family already dropped!"));
        }
        let edit = VersionEdit {
            family: FamilyEdit { id: family.id(), drop: true, ..FamilyEdit::default() },
            max_column_family: Some(inner.families.max_id()),
            ..VersionEdit::default()
        };
        writing.writer.alone(|_| {
            commit_families(&inner.committer, writing, vec![edit], || {
                inner.families.remove(family.id());
            })
        })??;
        drop(changes);
        let version = family.pin().version.clone();
        let parts = family.parts();
        let tables = version.files().map(|(_, file)| parts.retired_table(file));
        let blobs = version.blobs().values().map(|blob| parts.retired_blob(blob));
        inner.obsolete.retire(tables.chain(blobs));
        let unflushed = inner.tools.direct.dropped(family.id(), &version.blobs().keys().copied().collect());
        inner.obsolete.retire(unflushed.iter().map(|blob| parts.retired_blob(blob)));
        writing.jobs.purge.remove_old_manifests();
        writing.jobs.failures.family_dropped(family);
        inner.tools.events.emit(&Event::FamilyDropped(named(family)));
        inner.tools.events.info(format_args!("Dropped column family with id {}", family.id()));
        self.families_changed(1)
    }
}

/// Writes records that create or drop column families to the MANIFEST, then calls `then`. The caller is the leader.
///
/// A failed write can leave the records in the MANIFEST, and the next open would apply them. Without the background
/// error, writes to a column family whose drop failed would be acknowledged, and the next open would drop them. The
/// resume starts a new MANIFEST without the records.
///
/// # Errors
/// Errors of the MANIFEST. They stop writes until a resume.
pub(super) fn commit_families(
    committer: &Committer,
    writing: &Writing,
    edits: Vec<VersionEdit>,
    then: impl FnOnce(),
) -> Result<()> {
    match committer.commit_records(edits, then) {
        Ok(_) => Ok(()),
        Err(error) => {
            writing.jobs.failures.failed(error.clone(), ErrorReason::ManifestWrite);
            Err(error)
        }
    }
}

fn exists_already(name: &str) -> Error {
    Error::invalid_argument(format!("Column family already exists: {name}"))
}
