//! [`Base`]: the open database inside each database handle. It is a plain database, a secondary instance, or a database
//! whose values have a time to live.
//!
//! A call takes the handle of a column family. `None` means the default column family. A call rejects a handle of another
//! open database. A secondary instance replaces its view at each catch-up, so each call looks up its column family by name
//! in the newest view.

use std::sync::Arc;

use ironstone::ttl::TtlDb;
use ironstone::{
    Db, Error, Family, FamilyDescriptor, Pinned, ReadOptions, Result, Secondary, Snapshot, WriteBatch,
    WriteOptions,
};

use crate::column_family::CfHandle;
use crate::raw_iter::{Again, RawIter};

enum Kind {
    Plain(Db),
    Secondary(Arc<Secondary>),
    Ttl(TtlDb),
}

/// An open database.
pub struct Base {
    kind: Kind,
    owner: Arc<str>,
}

type Answers = Vec<Result<Option<Pinned>>>;

impl Base {
    pub(crate) fn of_db(db: Db) -> Base {
        let owner = Arc::from(db.session_id());
        Base { kind: Kind::Plain(db), owner }
    }

    pub(crate) fn of_secondary(secondary: Secondary) -> Base {
        let owner = Arc::from(secondary.view().session_id());
        Base { kind: Kind::Secondary(Arc::new(secondary)), owner }
    }

    pub(crate) fn of_ttl(db: TtlDb) -> Base {
        let owner = Arc::from(db.plain().session_id());
        Base { kind: Kind::Ttl(db), owner }
    }

    /// Returns the database, or the newest view of a secondary instance.
    pub(crate) fn plain(&self) -> Db {
        match &self.kind {
            Kind::Plain(db) => db.clone(),
            Kind::Secondary(secondary) => secondary.view(),
            Kind::Ttl(db) => db.plain().clone(),
        }
    }

    pub(crate) fn owner(&self) -> &Arc<str> {
        &self.owner
    }

    pub(crate) fn close(&self) -> Result<()> {
        self.plain().close()
    }

    /// # Errors
    /// NotFound if the column family does not exist.
    pub(crate) fn handle(&self, name: &str) -> Result<CfHandle> {
        let ttl = match &self.kind {
            Kind::Ttl(db) => Some(db.family(name)?),
            _ => None,
        };
        Ok(CfHandle { family: self.plain().family(name)?, ttl, owner: self.owner.clone() })
    }

    /// # Errors
    /// The errors of `ironstone::Db::create_family`.
    pub(crate) fn create_family(&self, descriptor: FamilyDescriptor) -> Result<CfHandle> {
        let name = descriptor.name.clone();
        match &self.kind {
            Kind::Ttl(db) => db.create_family(descriptor, 0).map(drop)?, // RocksDB: values do not expire
            _ => self.plain().create_family(descriptor).map(drop)?,
        }
        self.handle(&name)
    }

    /// # Errors
    /// InvalidArgument if the handle belongs to another open database.
    #[inline]
    pub(crate) fn check<'c>(&self, cf: &'c CfHandle) -> Result<&'c CfHandle> {
        if Arc::ptr_eq(&self.owner, &cf.owner) { Ok(cf) } else { Err(foreign(cf)) }
    }

    /// Calls a function with the column family. In a database with a time to live, the function reads and writes stored
    /// values: each value ends with the 4 bytes of its write time.
    pub(crate) fn with_family<R>(
        &self,
        cf: Option<&CfHandle>,
        call: impl FnOnce(&Family) -> Result<R>,
    ) -> Result<R> {
        match (&self.kind, cf) {
            (Kind::Plain(db), None) => call(db),
            (Kind::Ttl(db), None) => call(db.plain()),
            (Kind::Plain(_) | Kind::Ttl(_), Some(cf)) => call(&self.check(cf)?.family),
            (Kind::Secondary(secondary), None) => call(&secondary.view()),
            (Kind::Secondary(secondary), Some(cf)) => {
                call(&secondary.view().family(self.check(cf)?.family.name())?)
            }
        }
    }

    /// Returns the column family as a family with a time to live. Returns `None` if the database has no time to live.
    fn ttl<'a>(&'a self, cf: Option<&'a CfHandle>) -> Option<&'a ironstone::ttl::TtlFamily> {
        match (&self.kind, cf) {
            (Kind::Ttl(db), None) => Some(db),
            (Kind::Ttl(_), Some(cf)) => cf.ttl.as_ref(),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn get(
        &self,
        cf: Option<&CfHandle>,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Pinned>> {
        match (&self.kind, cf) {
            (Kind::Plain(db), None) => db.get_with(key, options),
            (Kind::Plain(_), Some(cf)) => self.check(cf)?.family.get_with(key, options),
            _ => self.get_elsewhere(cf, key, options),
        }
    }

    #[cold]
    fn get_elsewhere(
        &self,
        cf: Option<&CfHandle>,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<Option<Pinned>> {
        cf.map(|cf| self.check(cf)).transpose()?;
        match self.ttl(cf) {
            Some(family) => family.get_with(key, options),
            None => self.with_family(cf, |family| family.get_with(key, options)),
        }
    }

    /// Reads keys of one column family. If the whole call fails, the result of each key is the error of the call.
    pub(crate) fn multi_get(&self, cf: Option<&CfHandle>, keys: &[&[u8]], options: &ReadOptions) -> Answers {
        let read = || {
            cf.map(|cf| self.check(cf)).transpose()?;
            match self.ttl(cf) {
                Some(family) => Ok(family.multi_get_with(keys, options)),
                None => self.with_family(cf, |family| Ok(family.multi_get_with(keys, options))),
            }
        };
        read().unwrap_or_else(|error: Error| keys.iter().map(|_| Err(error.clone())).collect())
    }

    /// Reads keys of several column families at one sequence number.
    pub(crate) fn multi_get_families(&self, keys: &[(&CfHandle, &[u8])], options: &ReadOptions) -> Answers {
        let read = || {
            for (cf, _) in keys {
                self.check(cf)?;
            }
            let view = self.plain();
            match &self.kind {
                Kind::Plain(db) => {
                    let keys: Vec<_> = keys.iter().map(|(cf, key)| (&cf.family, *key)).collect();
                    Ok(db.multi_get_families(&keys, options))
                }
                Kind::Secondary(_) => {
                    let families = keys
                        .iter()
                        .map(|(cf, _)| view.family(cf.family.name()))
                        .collect::<Result<Vec<_>>>()?;
                    let keys: Vec<_> =
                        families.iter().zip(keys).map(|(family, (_, key))| (family, *key)).collect();
                    Ok(view.multi_get_families(&keys, options))
                }
                Kind::Ttl(_) => {
                    let mut options = options.clone();
                    let snapshot = view.snapshot();
                    if options.snapshot.is_none() {
                        options.snapshot = (&snapshot).into();
                    }
                    Ok(keys.iter().map(|(cf, key)| self.get(Some(cf), key, &options)).collect())
                }
            }
        };
        read().unwrap_or_else(|error: Error| keys.iter().map(|_| Err(error.clone())).collect())
    }

    /// Returns false if the key does not exist. Also returns the value if memtables or cached blocks hold it.
    pub(crate) fn key_may_exist(
        &self,
        cf: Option<&CfHandle>,
        key: &[u8],
        options: &ReadOptions,
    ) -> Result<(bool, Option<Pinned>)> {
        let has_times = self.ttl(cf).is_some();
        self.with_family(cf, |family| {
            let (exists, value) = family.key_may_exist_with(key, options);
            let without_time = |value: Pinned| {
                let len = value.len().saturating_sub(4);
                value.slice(0..len)
            };
            Ok((exists, if has_times { value.map(without_time) } else { value }))
        })
    }

    pub(crate) fn iter(&self, cf: Option<&CfHandle>, options: ReadOptions) -> RawIter {
        let make = || {
            let cf = cf.map(|cf| self.check(cf)).transpose()?;
            if let Kind::Secondary(secondary) = &self.kind {
                let family = cf.map(|cf| cf.family.name().to_string());
                return RawIter::of_secondary(Again { secondary: secondary.clone(), family, options });
            }
            match self.ttl(cf) {
                Some(family) => family.iter_with(options).map(RawIter::of_ttl),
                None => self.with_family(cf, |family| family.iter_with(options).map(RawIter::of_db)),
            }
        };
        make().unwrap_or_else(|error: Error| RawIter::failed(error))
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.plain().snapshot()
    }

    #[inline]
    pub(crate) fn put(
        &self,
        cf: Option<&CfHandle>,
        key: &[u8],
        value: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        match (&self.kind, cf) {
            (Kind::Plain(db), None) => db.put_with(key, value, options),
            (Kind::Plain(_), Some(cf)) => self.check(cf)?.family.put_with(key, value, options),
            _ => {
                cf.map(|cf| self.check(cf)).transpose()?;
                match self.ttl(cf) {
                    Some(family) => family.put_with(key, value, options),
                    None => self.with_family(cf, |family| family.put_with(key, value, options)),
                }
            }
        }
    }

    pub(crate) fn merge(
        &self,
        cf: Option<&CfHandle>,
        key: &[u8],
        operand: &[u8],
        options: &WriteOptions,
    ) -> Result<()> {
        cf.map(|cf| self.check(cf)).transpose()?;
        match self.ttl(cf) {
            Some(family) => family.merge_with(key, operand, options),
            None => self.with_family(cf, |family| family.merge_with(key, operand, options)),
        }
    }

    #[inline]
    pub(crate) fn write(&self, batch: &mut WriteBatch, options: &WriteOptions) -> Result<()> {
        match &self.kind {
            Kind::Plain(db) => db.write_with(batch, options),
            Kind::Ttl(db) => db.write_with(batch, options),
            Kind::Secondary(secondary) => secondary.view().write_with(batch, options),
        }
    }

    /// # Errors
    /// NotSupported if the database is not a secondary instance.
    pub(crate) fn try_catch_up_with_primary(&self) -> Result<()> {
        match &self.kind {
            Kind::Secondary(secondary) => secondary.try_catch_up_with_primary(),
            _ => Err(Error::not_supported("Supported only by secondary instance")),
        }
    }
}

#[cold]
pub(crate) fn foreign(cf: &CfHandle) -> Error {
    Error::invalid_argument(format!(
        "column family {} belongs to another database than the database of the call",
        cf.family.name()
    ))
}
