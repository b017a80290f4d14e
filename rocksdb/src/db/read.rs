//! Reads: `get`, `multi_get`, `key_may_exist`.

use ironstone::Pinned;

use super::{DBCommon, DBInner, ThreadMode};
use crate::c_str::CSlice;
use crate::column_family::CfHandle;
use crate::{AsColumnFamilyRef, DBPinnableSlice, Error, ReadOptions};

/// The outcome of a read of several keys, in the order of the keys.
pub(crate) type Answers = Vec<Result<Option<Pinned>, Error>>;

/// Returns the outcome of a read for each key. If the whole call fails, the outcome of each key is the error of the call.
pub(crate) fn answers(count: usize, read: Result<Vec<ironstone::Result<Option<Pinned>>>, Error>) -> Answers {
    match read {
        Ok(answers) => answers.into_iter().map(|answer| Ok(answer?)).collect(),
        Err(error) => (0..count).map(|_| Err(error.clone())).collect(),
    }
}

/// Defines `get`, `get_pinned` and `multi_get`, for the default column family and for a column family, with and without options.
/// The type has the methods `find`, `find_all` and `find_all_cf`. The arguments
/// are sentences for the documentation of `get` and of `multi_get`.
macro_rules! reads {
    ($sight:literal, $sequence:literal) => {
        /// Returns the value of a key. `None` if the key does not exist.
        #[doc = $sight]
        ///
        /// # Errors
        /// IOError or Corruption of an SST file; Corruption if the merge operator fails; InvalidArgument if an option has a value
        /// that the option cannot have; Incomplete if the read needs a file and `read_tier` forbids this.
        pub fn get<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<Vec<u8>>, Error> {
            self.get_opt(key, &ReadOptions::default())
        }

        /// Returns the value of a key, with options.
        ///
        /// # Errors
        /// The errors of [`Self::get`].
        pub fn get_opt<K: AsRef<[u8]>>(
            &self,
            key: K,
            readopts: &ReadOptions,
        ) -> Result<Option<Vec<u8>>, Error> {
            Ok(self.find(None, key.as_ref(), readopts)?.map(ironstone::Pinned::into_vec))
        }

        /// Returns the value of a key of a column family.
        ///
        /// # Errors
        /// The errors of [`Self::get`].
        pub fn get_cf<K: AsRef<[u8]>>(
            &self,
            cf: &impl AsColumnFamilyRef,
            key: K,
        ) -> Result<Option<Vec<u8>>, Error> {
            self.get_cf_opt(cf, key, &ReadOptions::default())
        }

        /// Returns the value of a key of a column family, with options.
        ///
        /// # Errors
        /// The errors of [`Self::get`].
        pub fn get_cf_opt<K: AsRef<[u8]>>(
            &self,
            cf: &impl AsColumnFamilyRef,
            key: K,
            readopts: &ReadOptions,
        ) -> Result<Option<Vec<u8>>, Error> {
            Ok(self.find(Some(cf.inner()), key.as_ref(), readopts)?.map(ironstone::Pinned::into_vec))
        }

        /// Returns the value of a key without a copy.
        ///
        /// # Errors
        /// The errors of [`Self::get`].
        pub fn get_pinned<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<DBPinnableSlice<'_>>, Error> {
            self.get_pinned_opt(key, &ReadOptions::default())
        }

        /// Returns the value of a key without a copy, with options.
        ///
        /// # Errors
        /// The errors of [`Self::get`].
        pub fn get_pinned_opt<K: AsRef<[u8]>>(
            &self,
            key: K,
            readopts: &ReadOptions,
        ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
            Ok(self.find(None, key.as_ref(), readopts)?.map(DBPinnableSlice::new))
        }

        /// Returns the value of a key of a column family without a copy.
        ///
        /// # Errors
        /// The errors of [`Self::get`].
        pub fn get_pinned_cf<K: AsRef<[u8]>>(
            &self,
            cf: &impl AsColumnFamilyRef,
            key: K,
        ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
            self.get_pinned_cf_opt(cf, key, &ReadOptions::default())
        }

        /// Returns the value of a key of a column family without a copy, with options.
        ///
        /// # Errors
        /// The errors of [`Self::get`].
        pub fn get_pinned_cf_opt<K: AsRef<[u8]>>(
            &self,
            cf: &impl AsColumnFamilyRef,
            key: K,
            readopts: &ReadOptions,
        ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
            Ok(self.find(Some(cf.inner()), key.as_ref(), readopts)?.map(DBPinnableSlice::new))
        }

        /// Returns the values of keys, in the order of the keys.
        #[doc = $sequence]
        pub fn multi_get<K, I>(&self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
        where
            K: AsRef<[u8]>,
            I: IntoIterator<Item = K>,
        {
            self.multi_get_opt(keys, &ReadOptions::default())
        }

        /// Returns the values of keys, with options.
        pub fn multi_get_opt<K, I>(
            &self,
            keys: I,
            readopts: &ReadOptions,
        ) -> Vec<Result<Option<Vec<u8>>, Error>>
        where
            K: AsRef<[u8]>,
            I: IntoIterator<Item = K>,
        {
            let keys: Vec<K> = keys.into_iter().collect();
            let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
            $crate::db::copies(self.find_all(None, &keys, readopts))
        }

        /// Returns the values of keys of column families, in the order of the keys.
        #[doc = $sequence]
        pub fn multi_get_cf<'a, 'b: 'a, K, I, W>(&'a self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
        where
            K: AsRef<[u8]>,
            I: IntoIterator<Item = (&'b W, K)>,
            W: 'b + AsColumnFamilyRef,
        {
            self.multi_get_cf_opt(keys, &ReadOptions::default())
        }

        /// Returns the values of keys of column families, with options.
        pub fn multi_get_cf_opt<'a, 'b: 'a, K, I, W>(
            &'a self,
            keys: I,
            readopts: &ReadOptions,
        ) -> Vec<Result<Option<Vec<u8>>, Error>>
        where
            K: AsRef<[u8]>,
            I: IntoIterator<Item = (&'b W, K)>,
            W: 'b + AsColumnFamilyRef,
        {
            let keys: Vec<(&W, K)> = keys.into_iter().collect();
            let keys: Vec<(&CfHandle, &[u8])> =
                keys.iter().map(|(cf, key)| (cf.inner(), key.as_ref())).collect();
            $crate::db::copies(self.find_all_cf(&keys, readopts))
        }
    };
}
pub(crate) use reads;

/// Returns copies of the values.
pub(crate) fn copies(answers: Answers) -> Vec<Result<Option<Vec<u8>>, Error>> {
    answers.into_iter().map(|answer| Ok(answer?.map(Pinned::into_vec))).collect()
}

/// Defines `find`, `find_all` and `find_all_cf` of a database by its `Base`.
macro_rules! reads_of_base {
    () => {
        #[inline]
        fn find(
            &self,
            cf: Option<&CfHandle>,
            key: &[u8],
            readopts: &ReadOptions,
        ) -> Result<Option<ironstone::Pinned>, Error> {
            Ok(self.base().get(cf, key, readopts.get()?)?)
        }

        fn find_all(
            &self,
            cf: Option<&CfHandle>,
            keys: &[&[u8]],
            readopts: &ReadOptions,
        ) -> $crate::db::Answers {
            let read = readopts.get().map(|options| self.base().multi_get(cf, keys, options));
            $crate::db::answers(keys.len(), read)
        }

        fn find_all_cf(&self, keys: &[(&CfHandle, &[u8])], readopts: &ReadOptions) -> $crate::db::Answers {
            let read = readopts.get().map(|options| self.base().multi_get_families(keys, options));
            $crate::db::answers(keys.len(), read)
        }
    };
}
pub(crate) use reads_of_base;

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    reads_of_base!();
    reads!(
        "A later write does not change the returned value.",
        "All values are read at one sequence number."
    );

    /// Returns the values of keys of a column family without copies. `sorted_input` has no effect.
    pub fn batched_multi_get_cf<'a, K, I>(
        &self,
        cf: &impl AsColumnFamilyRef,
        keys: I,
        sorted_input: bool,
    ) -> Vec<Result<Option<DBPinnableSlice<'_>>, Error>>
    where
        K: AsRef<[u8]> + 'a + ?Sized,
        I: IntoIterator<Item = &'a K>,
    {
        self.batched_multi_get_cf_opt(cf, keys, sorted_input, &ReadOptions::default())
    }

    /// Returns the values of keys of a column family without copies, with options. `sorted_input` has no effect.
    pub fn batched_multi_get_cf_opt<'a, K, I>(
        &self,
        cf: &impl AsColumnFamilyRef,
        keys: I,
        sorted_input: bool,
        readopts: &ReadOptions,
    ) -> Vec<Result<Option<DBPinnableSlice<'_>>, Error>>
    where
        K: AsRef<[u8]> + 'a + ?Sized,
        I: IntoIterator<Item = &'a K>,
    {
        let _ = sorted_input;
        let keys: Vec<&[u8]> = keys.into_iter().map(AsRef::as_ref).collect();
        let answers = self.find_all(Some(cf.inner()), &keys, readopts);
        answers.into_iter().map(|answer| Ok(answer?.map(DBPinnableSlice::new))).collect()
    }

    fn may_exist(&self, cf: Option<&CfHandle>, key: &[u8], readopts: &ReadOptions) -> (bool, Option<Pinned>) {
        // If the call fails, report that the key may exist.
        let answer = readopts.get().ok().and_then(|options| self.base().key_may_exist(cf, key, options).ok());
        answer.unwrap_or((true, None))
    }

    /// Returns false if the key does not exist. Returns true if the key may exist. Reads no file.
    pub fn key_may_exist<K: AsRef<[u8]>>(&self, key: K) -> bool {
        self.key_may_exist_opt(key, &ReadOptions::default())
    }

    /// Works like [`Self::key_may_exist`], with options.
    pub fn key_may_exist_opt<K: AsRef<[u8]>>(&self, key: K, readopts: &ReadOptions) -> bool {
        self.may_exist(None, key.as_ref(), readopts).0
    }

    /// Works like [`Self::key_may_exist`], for a column family.
    pub fn key_may_exist_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) -> bool {
        self.key_may_exist_cf_opt(cf, key, &ReadOptions::default())
    }

    /// Works like [`Self::key_may_exist`], for a column family, with options.
    pub fn key_may_exist_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> bool {
        self.may_exist(Some(cf.inner()), key.as_ref(), readopts).0
    }

    /// Works like [`Self::key_may_exist_cf_opt`]. Also returns the value if memtables or cached blocks hold it.
    pub fn key_may_exist_cf_opt_value<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> (bool, Option<CSlice>) {
        let (may_exist, value) = self.may_exist(Some(cf.inner()), key.as_ref(), readopts);
        (may_exist, value.filter(|_| may_exist).map(|value| CSlice { value }))
    }
}
