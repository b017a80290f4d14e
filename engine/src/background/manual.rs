//! `compact_range`: the range flushed, then taken down level by level, on the caller's thread.

use base::{Error, Result, Subcode};
use lsm::pick::View;
use lsm::pick::manual::{Request, Step, plan};

use super::Background;
use crate::event::FlushReason;
use crate::family::Family;
use crate::options::{BottommostLevelCompaction, CompactRangeOptions};
use crate::sync::{Arc, Ordering};

/// What a manual compaction came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManualResult {
    pub steps: usize,
    pub bytes_written: u64,
}

impl Background {
    /// Compacts the user keys in `[begin, end]`; `None` is unbounded.
    ///
    /// # Errors
    /// NotSupported for options whose feature is missing; Incomplete when given up; those of the jobs.
    pub fn compact_range(
        &self,
        family: &Arc<Family>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<ManualResult> {
        if options.change_level {
            return Err(Error::not_supported("CompactRangeOptions::change_level"));
        }
        if options.full_history_ts_low.is_some() {
            return Err(Error::not_supported("CompactRangeOptions::full_history_ts_low"));
        }
        self.flush_and_wait(std::slice::from_ref(family), FlushReason::ManualCompaction, true)?;
        {
            let mut state = self.state.lock();
            state.manuals_running += 1;
            state.exclusive_manuals += usize::from(options.exclusive_manual_compaction);
        }
        let outcome = self.all_levels(family, begin, end, options);
        {
            let mut state = self.state.lock();
            state.manuals_running -= 1;
            state.exclusive_manuals -= usize::from(options.exclusive_manual_compaction);
            self.schedule(&mut state);
        }
        self.reconsider(family);
        self.changed.tell();
        outcome
    }

    fn all_levels(
        &self,
        family: &Arc<Family>,
        begin: Option<&[u8]>,
        end: Option<&[u8]>,
        options: &CompactRangeOptions,
    ) -> Result<ManualResult> {
        let mut done = ManualResult::default();
        let version = family.pin().version.clone();
        let first = (0..version.num_levels()).find(|l| version.overlaps(*l, begin, end));
        let Some(first) = first else { return Ok(done) };
        let deepest = (0..version.num_levels()).rev().find(|l| version.overlaps(*l, begin, end)).unwrap_or(first);
        let (filter, universal) = {
            let parts = family.parts();
            let filter = parts.compaction_filter.is_some() || parts.compaction_filter_factory.is_some();
            (filter, parts.pick.style == lsm::pick::Style::Universal)
        };
        let num_levels = version.num_levels();
        drop(version);
        let base = |level: usize| Request {
            begin: begin.map(<[u8]>::to_vec),
            end: end.map(<[u8]>::to_vec),
            input_level: level,
            output_path_id: options.target_path_id,
            max_subcompactions: options.max_subcompactions,
            ..Request::default()
        };
        if universal && num_levels > 1 {
            // All files together, to the last level.
            let request = Request { all_levels: true, output_level: Some(num_levels - 1), ..base(first) };
            self.one_level(family, request, options, &mut done)?;
            return Ok(done);
        }
        let made_from = self.tools.numbers.peek();
        let mut level = first;
        loop {
            let bottom = level >= deepest;
            if bottom && level > 0 {
                break;
            }
            let output = self.one_level(family, base(level), options, &mut done)?;
            if level == 0 {
                // Level 0 went to the base level; what was between is empty.
                let version = family.pin().version.clone();
                let next = output.unwrap_or(1).max(1);
                level = next;
                if next >= deepest.max(1) || !(next..version.num_levels()).any(|l| version.overlaps(l, begin, end)) {
                    if deepest == 0 {
                        return Ok(done);
                    }
                    if next > deepest {
                        break;
                    }
                }
                continue;
            }
            level += 1;
        }
        let rewrite = match options.bottommost_level_compaction {
            BottommostLevelCompaction::Skip => false,
            BottommostLevelCompaction::IfHaveCompactionFilter => filter,
            BottommostLevelCompaction::Force | BottommostLevelCompaction::ForceOptimized => true,
        };
        if rewrite && deepest > 0 {
            let mut request = base(deepest);
            request.output_level = Some(deepest);
            if options.bottommost_level_compaction == BottommostLevelCompaction::ForceOptimized
                || options.bottommost_level_compaction == BottommostLevelCompaction::IfHaveCompactionFilter
            {
                request.max_file_number = Some(base::FileNumber(made_from));
            }
            self.one_level(family, request, options, &mut done)?;
        }
        Ok(done)
    }

    /// Takes one level's part of the range down, step by step; the level it went to.
    fn one_level(
        &self,
        family: &Arc<Family>,
        mut request: Request,
        options: &CompactRangeOptions,
        done: &mut ManualResult,
    ) -> Result<Option<usize>> {
        let mut output_level = None;
        loop {
            self.check_canceled(options)?;
            let (job, rest) = match self.wait_until(|| self.step(family, &request, options)) {
                Ok(Some(planned)) => planned,
                Ok(None) => return Ok(output_level),
                Err(error) => return Err(error),
            };
            output_level = Some(job.task.output_level);
            let compacted = self.compact(&job);
            self.release(&job);
            drop(job);
            self.schedule_purge();
            self.changed.tell();
            let compacted = match compacted {
                Ok(compacted) => compacted,
                Err(error) => {
                    self.compaction_failed(error.clone());
                    return Err(error);
                }
            };
            done.steps += 1;
            done.bytes_written += compacted.bytes_written;
            match rest {
                Some(rest) => request.begin = Some(rest),
                None => return Ok(output_level),
            }
        }
    }

    /// The next step, reserved; `None` while something is in its way.
    #[allow(clippy::type_complexity)]
    fn step(
        &self,
        family: &Arc<Family>,
        request: &Request,
        options: &CompactRangeOptions,
    ) -> Option<Result<Option<(crate::compaction::Job, Option<Vec<u8>>)>>> {
        if let Err(error) = self.errors.check().and_then(|()| self.check_canceled(options)) {
            return Some(Err(error));
        }
        if family.is_dropped() {
            return Some(Err(Error::column_family_dropped(family.name())));
        }
        let mut state = self.state.lock();
        if state.closing {
            return Some(Err(Error::shutdown_in_progress("the database is closing")));
        }
        let pin = family.pin_owned();
        let running = state.running_of(family.id());
        let ts_low = family.state().full_history_ts_low.clone();
        let view = View {
            version: &pin.version,
            running: &running,
            oldest_snapshot: self.oldest_snapshot(),
            full_history_ts_low: ts_low.as_deref(),
        };
        match plan(&view, &pin.parts.pick, request, self.tools.env.clock.now_seconds()) {
            Step::Nothing => Some(Ok(None)),
            Step::Conflict => None,
            Step::Do(task, rest) => {
                let job = self.reserve(&mut state, family, *task, options.canceled.clone());
                Some(Ok(Some((job, rest))))
            }
        }
    }

    fn check_canceled(&self, options: &CompactRangeOptions) -> Result<()> {
        match &options.canceled {
            Some(flag) if flag.load(Ordering::Acquire) => {
                Err(Error::incomplete("the compaction was given up").with_subcode(Subcode::ManualCompactionPaused))
            }
            _ => Ok(()),
        }
    }
}
