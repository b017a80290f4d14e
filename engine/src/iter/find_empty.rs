//! Finds the empty key range around a deleted key, for a job.

use base::Result;

use super::build::{build, collect_finder};
use super::context::IteratorContext;
use super::tree::Tree;
use super::walk::Walk;
use crate::options::ReadOptions;
use crate::sync::{Arc, Flag};

/// Scans from `key` to the next smaller and to the next larger key that exists, and keeps the key range between them if the scans
/// step over many hidden entries. Ends early if `stop` is set, or if the range cannot be kept. The scans change no statistics of
/// iterators, and add no block to the block cache.
///
/// # Errors
/// The first error of a scan. A range is then not kept.
pub fn find_empty_range(context: &IteratorContext, key: &[u8], stop: Arc<Flag>) -> Result<()> {
    let options = ReadOptions { fill_cache: false, total_order_seek: true, ..ReadOptions::default() };
    let super_version = context.family.pin_owned();
    for is_backward in [true, false] {
        let mut walk: Box<Walk<Tree>> = build(context, &options, &super_version)?;
        if !collect_finder(&mut walk, context, &options, &super_version, stop.clone())? {
            return Ok(());
        }
        if is_backward {
            walk.seek_for_prev(key)
        } else {
            walk.seek(key)
        }
        walk.status()?;
    }
    Ok(())
}
