//! Prefix extractors of the application.

use std::borrow::Cow;
use std::sync::Arc;

use ironstone::{BuiltinPrefix, PrefixExtractor};

use crate::CStrLike;

/// A prefix extractor.
pub struct SliceTransform {
    /// The extractor inside.
    pub inner: Arc<dyn PrefixExtractor>,
}

/// Returns the prefix of a key. The prefix is a part of the key.
pub type TransformFn = for<'a> fn(&'a [u8]) -> &'a [u8];

/// Returns true if a key has a prefix.
pub type InDomainFn = fn(&[u8]) -> bool;

impl SliceTransform {
    /// Returns an extractor that calls functions of the application. Without `in_domain_fn`, each key has a prefix.
    ///
    /// # Panics
    /// The name has NUL inside.
    pub fn create(
        name: impl CStrLike,
        transform_fn: TransformFn,
        in_domain_fn: Option<InDomainFn>,
    ) -> SliceTransform {
        let name = crate::options::name_of(name);
        SliceTransform { inner: Arc::new(Functions { name, transform_fn, in_domain_fn }) }
    }

    /// Returns an extractor of the first `len` bytes. A shorter key has no prefix.
    pub fn create_fixed_prefix(len: usize) -> SliceTransform {
        SliceTransform { inner: Arc::new(BuiltinPrefix::Fixed(len)) }
    }

    /// Returns an extractor of the whole key.
    pub fn create_noop() -> SliceTransform {
        SliceTransform { inner: Arc::new(BuiltinPrefix::Noop) }
    }
}

struct Functions {
    name: String,
    transform_fn: TransformFn,
    in_domain_fn: Option<InDomainFn>,
}

impl PrefixExtractor for Functions {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn prefix<'a>(&self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let has_prefix = self.in_domain_fn.is_none_or(|in_domain| in_domain(key));
        has_prefix.then(|| Cow::Borrowed((self.transform_fn)(key)))
    }
}
