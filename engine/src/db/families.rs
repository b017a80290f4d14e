//! Column families created, dropped and listed.

use std::path::Path;

use base::{Error, FamilyId, Result};
use env::Env;
use format::edit::VersionEdit;

use super::Db;
use crate::commit::of_new_family;
use crate::components::FamilyDescriptor;
use crate::event::Event;
use crate::family::Family;
use crate::files::refuse_foreign;
use crate::manifest::{read_current, recover};
use crate::opening::{family_dirs, log_family, make_dir, request_of};
use crate::output::named;
use crate::recovery::new_family;
use crate::sync::Arc;

/// The names of the families of the database at `path`, without opening it.
pub fn list_families(env: &Env, path: &Path) -> Result<Vec<String>> {
    let number = read_current(env, path)?;
    let recovered = recover(env, path, number)?;
    Ok(recovered.families.into_values().map(|f| f.name).collect())
}

impl Db {
    /// Creates a column family.
    ///
    /// # Errors
    /// InvalidArgument if the name is taken; NotSupported for options that ask for a missing feature.
    pub fn create_family(&self, descriptor: FamilyDescriptor) -> Result<Arc<Family>> {
        let mut made = self.create_families(vec![descriptor])?;
        made.pop().ok_or_else(|| Error::aborted("no column family was created"))
    }

    /// Creates several column families in order, and writes the OPTIONS file once.
    ///
    /// # Errors
    /// As [`Db::create_family`], for the first column family that cannot be created. Those before it exist.
    pub fn create_families(&self, descriptors: Vec<FamilyDescriptor>) -> Result<Vec<Arc<Family>>> {
        self.writing()?;
        let inner = &self.inner;
        let changes = inner.changes.lock();
        let (mut made, mut outcome) = (Vec::with_capacity(descriptors.len()), Ok(()));
        for descriptor in &descriptors {
            match self.add_family(descriptor) {
                Ok(family) => made.push(family),
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        drop(changes);
        for family in &made {
            inner.tools.events.info(format_args!(
                "Created column family [{}] (ID {})",
                family.name(),
                family.id()
            ));
        }
        if !made.is_empty() {
            self.options_changed()?;
        }
        outcome.map(|()| made)
    }

    pub(super) fn add_family(&self, descriptor: &FamilyDescriptor) -> Result<Arc<Family>> {
        let inner = &self.inner;
        if inner.families.by_name(&descriptor.name).is_some() {
            return Err(Error::invalid_argument(format!(
                "Column family already exists: {}",
                descriptor.name
            )));
        }
        let db = inner.tools.options.load_full();
        let request =
            request_of(descriptor, &db, &inner.tools.paths.db, &inner.caches, &inner.tools.events, false)?;
        log_family(&inner.tools.events, &request, inner.families.len());
        let dirs = family_dirs(std::slice::from_ref(descriptor));
        refuse_foreign(&*inner.tools.env.fs, &inner.tools.paths, &dirs)?;
        for dir in dirs {
            make_dir(&inner.tools.env, &dir)?;
        }
        let id = inner.families.max_id().checked_add(1).map(FamilyId);
        let id =
            id.ok_or_else(|| Error::not_supported("more column families: all their numbers are used up"))?;
        let log = inner.logs.active_number().0;
        let edit = of_new_family(id, &descriptor.name, &request.parts, log);
        let writing = self.writing()?;
        // As the leader: no write may be between the log's number and the family's first memtable.
        let family = writing.writer.alone(|leader_state| {
            let family = new_family(id, &request, log, leader_state.last_seq, &inner.release_notifier);
            inner.committer.commit_records(vec![edit], || inner.families.add(family.clone())).map(|_| family)
        })??;
        writing.jobs.purge.remove_old_manifests();
        writing.jobs.failures.family_added(&family);
        writing.upkeep.family_options_changed();
        Ok(family)
    }

    /// Drops a column family. Handles to it go on reading what was there; its files go with the last.
    ///
    /// # Errors
    /// InvalidArgument for the default family or one that is dropped already.
    pub fn drop_family(&self, family: &Arc<Family>) -> Result<()> {
        self.own(family)?;
        let writing = self.writing()?;
        let inner = &self.inner;
        if family.id() == FamilyId::DEFAULT {
            return Err(Error::invalid_argument("Can't drop default column family"));
        }
        let changes = inner.changes.lock();
        if family.is_dropped() {
            return Err(Error::invalid_argument("Column family already dropped!"));
        }
        let edit = VersionEdit {
            column_family: family.id(),
            column_family_drop: true,
            max_column_family: Some(inner.families.max_id()),
            ..VersionEdit::default()
        };
        writing.writer.alone(|_| {
            inner.committer.commit_records(vec![edit], || {
                inner.families.remove(family.id());
            })
        })??;
        drop(changes);
        let version = family.pin().version.clone();
        let parts = family.parts();
        let tables = version.files().map(|(_, file)| parts.retired_table(file));
        let blobs = version.blobs().values().map(|blob| parts.retired_blob(blob));
        inner.obsolete.retire(tables.chain(blobs));
        writing.jobs.purge.remove_old_manifests();
        writing.jobs.failures.family_dropped(family);
        inner.tools.events.emit(&Event::FamilyDropped(named(family)));
        inner.tools.events.info(format_args!("Dropped column family with id {}", family.id()));
        self.options_changed()
    }
}
