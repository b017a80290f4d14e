//! Reads: `get`, `multi_get`, `key_may_exist`.

use ironstone::Pinned;

use super::{DBCommon, DBInner, ThreadMode};
use crate::base::Base;
use crate::c_str::CSlice;
use crate::column_family::CfHandle;
use crate::{AsColumnFamilyRef, DBPinnableSlice, Error, ReadOptions};

pub(crate) type Values = Vec<Result<Option<Vec<u8>>, Error>>;

#[inline]
pub(crate) fn get<'a>(
    base: &Base,
    cf: Option<&CfHandle>,
    key: &[u8],
    readopts: &ReadOptions,
) -> Result<Option<DBPinnableSlice<'a>>, Error> {
    let value = base.get(cf, key, readopts.get()?)?;
    Ok(value.map(DBPinnableSlice::new))
}

pub(crate) fn copied(value: Option<DBPinnableSlice<'_>>) -> Option<Vec<u8>> {
    value.map(|value| value.to_vec())
}

pub(crate) fn copies(answers: Vec<ironstone::Result<Option<Pinned>>>) -> Values {
    answers.into_iter().map(|answer| Ok(answer?.map(Pinned::into_vec))).collect()
}

pub(crate) fn failed<R>(count: usize, error: &Error) -> Vec<Result<R, Error>> {
    (0..count).map(|_| Err(error.clone())).collect()
}

pub(crate) fn multi_get<K: AsRef<[u8]>>(
    base: &Base,
    keys: impl IntoIterator<Item = K>,
    readopts: &ReadOptions,
) -> Values {
    let keys: Vec<K> = keys.into_iter().collect();
    let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
    match readopts.get() {
        Ok(options) => copies(base.multi_get(None, &keys, options)),
        Err(error) => failed(keys.len(), &error),
    }
}

pub(crate) fn multi_get_cf<'b, K: AsRef<[u8]>, W: AsColumnFamilyRef + 'b>(
    base: &Base,
    keys: impl IntoIterator<Item = (&'b W, K)>,
    readopts: &ReadOptions,
) -> Values {
    let keys: Vec<(&W, K)> = keys.into_iter().collect();
    let keys: Vec<(&CfHandle, &[u8])> = keys.iter().map(|(cf, key)| (cf.inner(), key.as_ref())).collect();
    match readopts.get() {
        Ok(options) => copies(base.multi_get_families(&keys, options)),
        Err(error) => failed(keys.len(), &error),
    }
}

impl<T: ThreadMode, D: DBInner> DBCommon<T, D> {
    /// Returns the value of a key, with options.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_opt<K: AsRef<[u8]>>(&self, key: K, readopts: &ReadOptions) -> Result<Option<Vec<u8>>, Error> {
        get(self.base(), None, key.as_ref(), readopts).map(copied)
    }

    /// Returns the value of a key. `None` if the key does not exist.
    ///
    /// # Errors
    /// IOError or Corruption of an SST file; Corruption if the merge operator fails; InvalidArgument if an option has a value
    /// that the option cannot have; Incomplete if the read needs a file and `read_tier` forbids this.
    pub fn get<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<Vec<u8>>, Error> {
        self.get_opt(key, &ReadOptions::default())
    }

    /// Returns the value of a key of a column family, with options.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<Vec<u8>>, Error> {
        get(self.base(), Some(cf.inner()), key.as_ref(), readopts).map(copied)
    }

    /// Returns the value of a key of a column family.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.get_cf_opt(cf, key, &ReadOptions::default())
    }

    /// Returns the value of a key without a copy, with options.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_pinned_opt<K: AsRef<[u8]>>(
        &self,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        get(self.base(), None, key.as_ref(), readopts)
    }

    /// Returns the value of a key without a copy.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_pinned<K: AsRef<[u8]>>(&self, key: K) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_opt(key, &ReadOptions::default())
    }

    /// Returns the value of a key of a column family without a copy, with options.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_pinned_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        get(self.base(), Some(cf.inner()), key.as_ref(), readopts)
    }

    /// Returns the value of a key of a column family without a copy.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn get_pinned_cf<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
    ) -> Result<Option<DBPinnableSlice<'_>>, Error> {
        self.get_pinned_cf_opt(cf, key, &ReadOptions::default())
    }

    /// Returns the values of keys, in the order of the keys. All values are read at one sequence number.
    pub fn multi_get<K, I>(&self, keys: I) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        self.multi_get_opt(keys, &ReadOptions::default())
    }

    /// Returns the values of keys, with options.
    pub fn multi_get_opt<K, I>(&self, keys: I, readopts: &ReadOptions) -> Vec<Result<Option<Vec<u8>>, Error>>
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = K>,
    {
        multi_get(self.base(), keys, readopts)
    }

    /// Returns the values of keys of column families. All values are read at one sequence number.
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
        multi_get_cf(self.base(), keys, readopts)
    }

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
        match readopts.get() {
            Ok(options) => {
                let answers = self.base().multi_get(Some(cf.inner()), &keys, options);
                answers.into_iter().map(|answer| Ok(answer?.map(DBPinnableSlice::new))).collect()
            }
            Err(error) => failed(keys.len(), &error),
        }
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

    /// As [`Self::key_may_exist`], with options.
    pub fn key_may_exist_opt<K: AsRef<[u8]>>(&self, key: K, readopts: &ReadOptions) -> bool {
        self.may_exist(None, key.as_ref(), readopts).0
    }

    /// As [`Self::key_may_exist`], for a column family.
    pub fn key_may_exist_cf<K: AsRef<[u8]>>(&self, cf: &impl AsColumnFamilyRef, key: K) -> bool {
        self.key_may_exist_cf_opt(cf, key, &ReadOptions::default())
    }

    /// As [`Self::key_may_exist`], for a column family, with options.
    pub fn key_may_exist_cf_opt<K: AsRef<[u8]>>(
        &self,
        cf: &impl AsColumnFamilyRef,
        key: K,
        readopts: &ReadOptions,
    ) -> bool {
        self.may_exist(Some(cf.inner()), key.as_ref(), readopts).0
    }

    /// As [`Self::key_may_exist_cf_opt`]. Also returns the value if memtables or cached blocks hold it.
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
