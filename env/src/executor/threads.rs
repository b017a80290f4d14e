//! x
/// Runs jobs on threads.
#[derive(Debug)]
pub struct Threads {}
impl Threads {
    pub fn new() -> Threads {
        todo!()
    }
}
use super::*;
impl Executor for Threads {
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
