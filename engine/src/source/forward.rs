//! Forwards the calls of an iterator from an enum to the iterators in its variants.

/// Implements `InternalIterator` for the enum `$type`. The macro `$each` makes a call for each variant:
/// `$each!(self, i => call, none)`, where `none` is the answer of a variant without an iterator.
macro_rules! forward_iterator {
    ($type:ty, $each:ident) => {
        impl base::iter::InternalIterator for $type {
            #[inline]
            fn valid(&self) -> bool {
                $each!(self, i => i.valid(), false)
            }
            fn seek_to_first(&mut self) {
                $each!(self, i => i.seek_to_first(), ())
            }
            fn seek_to_last(&mut self) {
                $each!(self, i => i.seek_to_last(), ())
            }
            fn seek(&mut self, target: &[u8]) {
                $each!(self, i => i.seek(target), ())
            }
            fn seek_for_prev(&mut self, target: &[u8]) {
                $each!(self, i => i.seek_for_prev(target), ())
            }
            fn seek_total(&mut self, target: &[u8]) {
                $each!(self, i => i.seek_total(target), ())
            }
            fn seek_total_for_prev(&mut self, target: &[u8]) {
                $each!(self, i => i.seek_total_for_prev(target), ())
            }
            #[inline]
            fn next(&mut self) {
                $each!(self, i => i.next(), ())
            }
            #[inline]
            fn prev(&mut self) {
                $each!(self, i => i.prev(), ())
            }
            #[inline]
            fn key(&self) -> &[u8] {
                $each!(self, i => i.key(), &[])
            }
            #[inline]
            fn value(&self) -> &[u8] {
                $each!(self, i => i.value(), &[])
            }
            fn status(&self) -> base::Result<()> {
                $each!(self, i => i.status(), Ok(()))
            }
            #[inline]
            fn pin_value(&self) -> base::Pinned {
                $each!(self, i => i.pin_value(), base::Pinned::from_vec(Vec::new()))
            }
            fn pin_key(&self) -> Option<base::Pinned> {
                $each!(self, i => i.pin_key(), None)
            }
            fn value_shown(&mut self) {
                $each!(self, i => i.value_shown(), ())
            }
        }
    };
}
pub(crate) use forward_iterator;
