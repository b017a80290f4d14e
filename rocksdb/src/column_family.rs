//! Column families: descriptors for an open, and the handles in both thread modes.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use ironstone::Family;
use ironstone::ttl::TtlFamily;

use crate::{MultiThreaded, Options};

/// The name of the column family that each database has.
pub const DEFAULT_COLUMN_FAMILY_NAME: &str = "default";

/// A column family to open or to create.
pub struct ColumnFamilyDescriptor {
    pub(crate) name: String,
    pub(crate) options: Options,
    pub(crate) ttl: ColumnFamilyTtl,
}

impl ColumnFamilyDescriptor {
    /// Returns a descriptor. The values of the column family have the time to live of the database.
    pub fn new<S>(name: S, options: Options) -> Self
    where
        S: Into<String>,
    {
        Self::new_with_ttl(name, options, ColumnFamilyTtl::SameAsDb)
    }

    /// Returns a descriptor with a time to live. The time to live has an effect only if the database is opened with
    /// `open_cf_descriptors_with_ttl`.
    pub fn new_with_ttl<S>(name: S, options: Options, ttl: ColumnFamilyTtl) -> Self
    where
        S: Into<String>,
    {
        ColumnFamilyDescriptor { name: name.into(), options, ttl }
    }

    /// Sets the time to live.
    pub fn set_ttl(&mut self, ttl: ColumnFamilyTtl) {
        self.ttl = ttl;
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the time to live.
    pub fn ttl(&self) -> ColumnFamilyTtl {
        self.ttl
    }
}

/// The time to live of the values of a column family.
#[derive(Debug, Clone, Copy, Default)]
pub enum ColumnFamilyTtl {
    /// Values do not expire.
    #[default]
    Disabled,
    /// Values expire after this time. Fractions of a second are ignored.
    Duration(Duration),
    /// The time to live of the database.
    SameAsDb,
}

impl ColumnFamilyTtl {
    /// Returns the time to live in seconds. `same` is the time to live of the database.
    pub(crate) fn seconds(self, same: Duration) -> i32 {
        let time = match self {
            ColumnFamilyTtl::Disabled => return i32::MAX,
            ColumnFamilyTtl::Duration(time) => time,
            ColumnFamilyTtl::SameAsDb => same,
        };
        i32::try_from(time.as_secs()).unwrap_or(i32::MAX)
    }
}

/// A column family of an open database: the content of each column family handle.
pub struct CfHandle {
    pub(crate) family: Family,
    pub(crate) ttl: Option<TtlFamily>,
    /// Identifies the open database that the handle belongs to. `Base::check` compares the addresses of owners.
    pub(crate) owner: Arc<str>,
}

/// A column family handle of a [`crate::SingleThreaded`] database.
pub struct ColumnFamily {
    pub(crate) inner: CfHandle,
}

/// A column family handle of a [`crate::MultiThreaded`] database.
pub struct BoundColumnFamily<'a> {
    pub(crate) inner: CfHandle,
    pub(crate) multi_threaded_cfs: PhantomData<&'a MultiThreaded>,
}

/// The handle that `cf_handle` of [`crate::DB`] returns.
#[cfg(not(feature = "multi-threaded-cf"))]
pub type ColumnFamilyRef<'a> = &'a ColumnFamily;

/// The handle that `cf_handle` of [`crate::DB`] returns.
#[cfg(feature = "multi-threaded-cf")]
pub type ColumnFamilyRef<'a> = Arc<BoundColumnFamily<'a>>;

/// A handle of a column family, in either thread mode.
pub trait AsColumnFamilyRef {
    /// Returns the handle inside.
    fn inner(&self) -> &CfHandle;
}

impl AsColumnFamilyRef for ColumnFamily {
    #[inline]
    fn inner(&self) -> &CfHandle {
        &self.inner
    }
}

impl AsColumnFamilyRef for &'_ ColumnFamily {
    #[inline]
    fn inner(&self) -> &CfHandle {
        &self.inner
    }
}

impl AsColumnFamilyRef for Arc<BoundColumnFamily<'_>> {
    #[inline]
    fn inner(&self) -> &CfHandle {
        &self.inner
    }
}
