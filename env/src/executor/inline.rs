//! x
use std::sync::Arc;
use crate::clock::Clock;
/// Runs jobs when helped.
#[derive(Debug)]
pub struct Inline {}
impl Inline {
    pub fn new(_seed: u64, _clock: Arc<dyn Clock>) -> Inline {
        todo!()
    }
}
use super::*;
impl Executor for Inline {
    fn spawn(&self, _: Pool, _: Tag, _: Job) {}
    fn spawn_after(&self, _: u64, _: Pool, _: Tag, _: Job) {}
    fn unschedule(&self, _: Pool, _: Tag) -> usize { 0 }
    fn set_threads(&self, _: Pool, _: usize) {}
    fn grow_threads(&self, _: Pool, _: usize) {}
    fn threads(&self, _: Pool) -> usize { 0 }
    fn queue_len(&self, _: Pool) -> usize { 0 }
    fn help(&self) -> bool { false }
    fn run_all<'a>(&self, _: Vec<Box<dyn FnOnce() + Send + 'a>>) {}
    fn wait_for_all(&self) {}
    fn panics(&self) -> (u64, Option<String>) { (0, None) }
}
