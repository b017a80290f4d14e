//! The words every room uses: keys, sequence numbers, errors, comparators, the iterator trait.

#![forbid(unsafe_code)]
