//! Column families of an open database: create, drop, find.

use std::sync::Arc;

use super::{DBCommon, DBInner, MultiThreaded, SingleThreaded, ThreadMode};
use crate::column_family::CfHandle;
use crate::{BoundColumnFamily, ColumnFamily, Error, Options};

pub(crate) fn unknown(name: &str) -> Error {
    Error::new(format!("Invalid column family: {name}"))
}

/// Defines `create_cf`, `drop_cf` and `cf_handle` of a database, in both thread modes. The type has the methods `create_family` and
/// `drop_family`.
macro_rules! families {
    (SingleThreaded [$($generics:tt)*] $ty:ty) => {
        impl<$($generics)*> $ty {
            /// Creates a column family.
            ///
            /// # Errors
            /// InvalidArgument if the column family exists.
            pub fn create_cf<N: AsRef<str>>(&mut self, name: N, opts: &Options) -> Result<(), Error> {
                let inner = self.create_family(name.as_ref(), opts)?;
                self.cfs.cfs.insert(name.as_ref().to_string(), ColumnFamily { inner });
                Ok(())
            }

            /// Drops a column family. The database removes its handle of the column family even if the call returns an error.
            ///
            /// # Errors
            /// InvalidArgument for the default column family.
            pub fn drop_cf(&mut self, name: &str) -> Result<(), Error> {
                let cf = self.cfs.cfs.remove(name).ok_or_else(|| $crate::db::unknown(name))?;
                self.drop_family(&cf.inner)
            }

            /// Returns the handle of a column family that was opened or created.
            pub fn cf_handle(&self, name: &str) -> Option<&ColumnFamily> {
                self.cfs.cfs.get(name)
            }
        }
    };
    (MultiThreaded [$($generics:tt)*] $ty:ty) => {
        impl<$($generics)*> $ty {
            /// Creates a column family.
            ///
            /// # Errors
            /// InvalidArgument if the column family exists.
            pub fn create_cf<N: AsRef<str>>(&self, name: N, opts: &Options) -> Result<(), Error> {
                // The lock is held during the creation, so that each name gets only one handle.
                let mut cfs = self.cfs.cfs.write();
                let inner = self.create_family(name.as_ref(), opts)?;
                cfs.insert(name.as_ref().to_string(), $crate::db::bound(inner));
                Ok(())
            }

            /// Drops a column family. Handles that the program still holds can be read. Writes with these handles fail.
            ///
            /// # Errors
            /// InvalidArgument for the default column family.
            pub fn drop_cf(&self, name: &str) -> Result<(), Error> {
                let cf = self.cfs.cfs.write().remove(name).ok_or_else(|| $crate::db::unknown(name))?;
                self.drop_family(&cf.inner)
            }

            /// Returns the handle of a column family that was opened or created.
            pub fn cf_handle(&self, name: &str) -> Option<Arc<BoundColumnFamily<'_>>> {
                self.cfs.cfs.read().get(name).cloned().map(|cf| cf as Arc<BoundColumnFamily<'_>>)
            }
        }
    };
}
pub(crate) use families;

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    fn create_family(&self, name: &str, opts: &Options) -> Result<CfHandle, Error> {
        Ok(self.base().create_family(opts.descriptor(name)?)?)
    }

    fn drop_family(&self, cf: &CfHandle) -> Result<(), Error> {
        Ok(self.base().plain().drop_family(&cf.family)?)
    }
}

families!(SingleThreaded [I: DBInner] DBCommon<SingleThreaded, I>);
families!(MultiThreaded [I: DBInner] DBCommon<MultiThreaded, I>);
