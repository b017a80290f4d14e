//! The filter of an open table: none, one block, or partitions under an index.

use std::borrow::Cow;
use std::sync::Arc;

use base::key::{user_key, without_timestamp};
use base::order::PrefixExtractor;
use base::{Kind, Order, Result};

use super::block_cache::{CachedBlock, FilterBlock, Other};
use super::block_kind::BlockKind;
use super::fetch::Borrowed;
use super::file_source::Source;
use super::index_reader::IndexReader;
use super::read_ctx::ReadCtx;

/// The location of the filter, and the queries that it can answer.
pub(super) struct FilterReader {
    pub blocks: FilterBlocks,
    /// True if the filter contains whole keys.
    pub whole_keys: bool,
    /// The prefix extractor whose prefixes the filter contains, if it is also the current extractor.
    pub prefixes: Option<Arc<dyn PrefixExtractor>>,
    pub timestamp_size: usize,
}

/// The answer of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    No,
    Maybe,
    /// There is no filter, or the filter cannot answer this query.
    NotAsked,
}

pub(super) enum FilterBlocks {
    None,
    /// One block. It is handled like an index of one block: held by the table, or fetched.
    Full(IndexReader),
    Partitioned(IndexReader),
}

impl FilterReader {
    pub(super) fn is_none(&self) -> bool {
        matches!(self.blocks, FilterBlocks::None)
    }

    /// Returns true if the filter has the prefixes of the extractor `current`, so that seeks can query it.
    /// `None` means the extractor of the table. The extractor may have changed since the table was opened.
    pub(super) fn has_prefixes(&self, current: Option<&Arc<dyn PrefixExtractor>>) -> bool {
        let same = |own: &Arc<dyn PrefixExtractor>, current: &Arc<dyn PrefixExtractor>| {
            std::ptr::addr_eq(Arc::as_ptr(own), Arc::as_ptr(current)) || own.name() == current.name()
        };
        !self.is_none()
            && self.prefixes.as_ref().is_some_and(|own| current.is_none_or(|current| same(own, current)))
    }

    /// Returns the query of a point lookup: the key without timestamp, or its prefix.
    #[inline]
    fn point_question<'k>(&self, user_key: &'k [u8]) -> Option<Cow<'k, [u8]>> {
        base::invariant!(
            user_key.len() >= self.timestamp_size,
            "a key of {} bytes has a timestamp of {}",
            user_key.len(),
            self.timestamp_size
        );
        let key = without_timestamp(user_key, self.timestamp_size);
        if self.whole_keys {
            return Some(Cow::Borrowed(key));
        }
        self.prefixes.as_ref().and_then(|p| p.prefix(key))
    }

    /// Returns whether a lookup of `seek_key` (an internal key) can find an entry.
    #[inline]
    pub(super) fn key_may_match(&self, source: &Source, seek_key: &[u8], ctx: &ReadCtx) -> Result<Answer> {
        if self.is_none() || ctx.for_compaction {
            return Ok(Answer::NotAsked);
        }
        let Some(question) = self.point_question(user_key(seek_key)) else { return Ok(Answer::NotAsked) };
        let answer = self.ask(source, seek_key, &question, ctx)?;
        if answer != Answer::NotAsked {
            source.counts.point_filtered(self.whole_keys, answer == Answer::Maybe);
        }
        Ok(answer)
    }

    /// Returns true if the table may have keys with the prefix of `target` (an internal key). For seeks that
    /// may end with the prefix.
    pub(super) fn prefix_may_match(
        &self,
        source: &Source,
        target: &[u8],
        bound: Option<&[u8]>,
        ctx: &ReadCtx,
    ) -> Result<bool> {
        let Some(extractor) = &self.prefixes else { return Ok(true) };
        let user = user_key(target);
        base::invariant!(
            user.len() >= self.timestamp_size,
            "a key of {} bytes has a timestamp of {}",
            user.len(),
            self.timestamp_size
        );
        let Some(prefix) = extractor.prefix(without_timestamp(user, self.timestamp_size)) else {
            return Ok(true);
        };
        if ctx.auto_prefix_mode && !stays_within(&**extractor, &source.order.user, &prefix, bound) {
            return Ok(true);
        }
        let answer = self.ask(source, target, &prefix, ctx)?;
        if answer != Answer::NotAsked {
            source.counts.seek_filtered(answer == Answer::Maybe);
        }
        Ok(answer != Answer::No)
    }

    /// Does [`Self::key_may_match`] for each key.
    pub(super) fn keys_may_match(
        &self,
        source: &Source,
        seek_keys: &[&[u8]],
        ctx: &ReadCtx,
        answers: &mut [Answer],
    ) -> Result<()> {
        base::invariant!(
            seek_keys.len() == answers.len(),
            "{} answers for {} keys",
            answers.len(),
            seek_keys.len()
        );
        answers.fill(Answer::NotAsked);
        if self.is_none() || ctx.for_compaction {
            return Ok(());
        }
        let FilterBlocks::Full(full) = &self.blocks else {
            for (key, answer) in seek_keys.iter().zip(answers) {
                *answer = self.key_may_match(source, key, ctx)?;
            }
            return Ok(());
        };
        let Some(block) = full_block(full, source, ctx)? else { return Ok(()) };
        let Some(filter) = filter(&block) else { return Err(source.wrong_kind(full.handle, full.kind)) };
        if filter.bits.is_empty() {
            return Ok(());
        }
        const BATCH: usize = 32;
        for (keys, answers) in seek_keys.chunks(BATCH).zip(answers.chunks_mut(BATCH)) {
            let mut hashes = [0; BATCH];
            let mut asked = [false; BATCH];
            let mut matches = [true; BATCH];
            for ((key, hash), asked) in keys.iter().zip(&mut hashes).zip(&mut asked) {
                if let Some(question) = self.point_question(user_key(key)) {
                    *hash = filter.filter.hash(&question);
                    filter.filter.prefetch(&filter.bits, *hash);
                    *asked = true;
                }
            }
            filter.filter.may_match_fetched(&filter.bits, &hashes[..keys.len()], &mut matches[..keys.len()]);
            let (mut may_match, mut ruled_out) = (0, 0);
            for ((answer, matches), _) in
                answers.iter_mut().zip(matches).zip(asked).filter(|(_, asked)| *asked)
            {
                may_match += u64::from(matches);
                ruled_out += u64::from(!matches);
                *answer = if matches { Answer::Maybe } else { Answer::No };
            }
            source.counts.points_filtered(self.whole_keys, may_match, ruled_out);
        }
        Ok(())
    }

    #[inline]
    fn ask(&self, source: &Source, target: &[u8], question: &[u8], ctx: &ReadCtx) -> Result<Answer> {
        let (reader, block) = match &self.blocks {
            FilterBlocks::None => return Ok(Answer::NotAsked),
            FilterBlocks::Full(full) => (full, full_block(full, source, ctx)?),
            FilterBlocks::Partitioned(top) => (top, partition_block(top, source, target, ctx)?),
        };
        let Some(block) = block else { return Ok(Answer::NotAsked) };
        let Some(filter) = filter(&block) else { return Err(source.wrong_kind(reader.handle, reader.kind)) };
        if filter.bits.is_empty() {
            return Ok(Answer::NotAsked);
        }
        Ok(match filter.filter.may_match_key(&filter.bits, question) {
            true => Answer::Maybe,
            false => Answer::No,
        })
    }

    /// Returns the bytes of memory outside of the cache.
    pub(super) fn own_memory_bytes(&self) -> usize {
        match &self.blocks {
            FilterBlocks::None => 0,
            FilterBlocks::Full(reader) | FilterBlocks::Partitioned(reader) => reader.own_memory_bytes(),
        }
    }
}

/// Returns `None` instead of the error Incomplete: a filter that may not be read from the file gives no
/// answer.
fn unless_incomplete<T>(block: Result<T>) -> Result<Option<T>> {
    match block {
        Ok(block) => Ok(Some(block)),
        Err(error) if error.kind() == Kind::Incomplete => Ok(None),
        Err(error) => Err(error),
    }
}

#[inline]
fn full_block<'a>(full: &'a IndexReader, source: &Source, ctx: &ReadCtx) -> Result<Option<Borrowed<'a>>> {
    match &full.held {
        Some(block) => Ok(Some(Borrowed::Held(block))),
        None => unless_incomplete(full.root(source, ctx)),
    }
}

/// Returns the filter partition for keys near `target`: the first partition whose bound is not below
/// `target`, or the last partition.
fn partition_block<'a>(
    top: &'a IndexReader,
    source: &Source,
    target: &[u8],
    ctx: &ReadCtx,
) -> Result<Option<Borrowed<'a>>> {
    let Some(root) = unless_incomplete(top.root(source, ctx))? else { return Ok(None) };
    let index = top.as_index(source, &root)?;
    let Some(last) = index.len().checked_sub(1) else { return Ok(None) };
    let handle = source.handle_in(index, index.seek(&source.order, target).min(last))?;
    if let Some(block) = top.partitions.get(&handle.offset) {
        return Ok(Some(Borrowed::Held(block)));
    }
    unless_incomplete(source.fetch(handle, BlockKind::Filter, ctx, None).map(Borrowed::Fetched))
}

#[inline]
fn filter(block: &CachedBlock) -> Option<&FilterBlock> {
    match block {
        CachedBlock::Other(other) => match &**other {
            Other::Filter(filter) => Some(filter),
            _ => None,
        },
        CachedBlock::Data(_) => None,
    }
}

/// Returns true if every key from a key with `prefix` up to `bound` has the same prefix.
fn stays_within(extractor: &dyn PrefixExtractor, order: &Order, prefix: &[u8], bound: Option<&[u8]>) -> bool {
    let Some(bound) = bound else { return false };
    if extractor.prefix(bound).as_deref() == Some(prefix) {
        return true;
    }
    order.is_bytewise()
        && extractor.full_length() == Some(prefix.len())
        && bound.len() == prefix.len()
        && is_successor(prefix, bound)
}

/// Returns true if `next` is the next string of the same length after `key` in byte order.
fn is_successor(key: &[u8], next: &[u8]) -> bool {
    base::invariant!(
        key.len() == next.len(),
        "a prefix of {} bytes is compared with a bound of {}",
        key.len(),
        next.len()
    );
    let Some(at) = key.iter().rposition(|b| *b != 0xff) else { return false };
    key[..at] == next[..at] && next[at] == key[at] + 1 && next[at + 1..].iter().all(|b| *b == 0)
}
