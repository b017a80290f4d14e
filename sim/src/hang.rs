//! Reports a run that does not end, with the results so far, and ends the process. No other thread could
//! end the run.

use std::collections::BTreeMap;
use std::sync::OnceLock;

static ARGUMENTS: OnceLock<String> = OnceLock::new();
static LAST_WORDS: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Sets the arguments that the command for repeating a seed needs.
pub fn set_arguments(arguments: String) {
    let _ = ARGUMENTS.set(arguments);
}

/// Returns the text of [`set_arguments`], or an empty text before that call.
pub fn arguments() -> &'static str {
    ARGUMENTS.get().map_or("", |arguments| arguments)
}

/// Sets a function that prints the results so far before the process ends. Only the first call has an effect.
pub fn last_words(say: impl Fn() + Send + Sync + 'static) {
    let _ = LAST_WORDS.set(Box::new(say));
}

/// Prints the failure and the command that repeats it, calls the function of [`last_words`], and ends the process.
pub fn told(words: &str, again: &str) {
    println!("FAILED {words}\nrun it again: {again}");
    if let Some(say) = LAST_WORDS.get() {
        say();
    }
    std::process::exit(3);
}

/// The weight of a turn in which no thread waited for a processor.
pub const FULL_TURN: u64 = 1000;

/// The processor time of one thread, and the time in which the thread could run and waited for a processor. In nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    ran: u64,
    waited: u64,
}

/// Weighs each turn of the thread that looks for hung runs. On a busy machine, a run takes many times longer than its processor time.
/// The weight of a turn is the time that the threads of this process ran, divided by the time that they ran or waited for a processor.
/// If no thread ran or waited, the weight is full:
///
/// ```text
///  ran 1 s, waited 0 s      1000    an endless loop on a free machine
///  ran 0 s, waited 0 s      1000    all threads wait for each other
///  ran 0.1 s, waited 0.9 s   100    other processes have the processors
/// ```
#[derive(Debug, Default)]
pub struct Turns {
    before: BTreeMap<u64, Times>,
}

impl Turns {
    /// Returns the weight of the turn since the last call, at least 1 and at most [`FULL_TURN`]. On a system that does not report the
    /// times, each turn counts fully.
    pub fn value(&mut self) -> u64 {
        self.value_of(threads())
    }

    fn value_of(&mut self, now: BTreeMap<u64, Times>) -> u64 {
        let mut turn = Times::default();
        for (thread, times) in &now {
            let before = self.before.get(thread).copied().unwrap_or_default();
            // The system may give the number of an ended thread to a new thread. The new thread has smaller times.
            turn.ran += times.ran.saturating_sub(before.ran);
            turn.waited += times.waited.saturating_sub(before.waited);
        }
        self.before = now;
        let all = u128::from(turn.ran) + u128::from(turn.waited);
        let value = (u128::from(turn.ran) * u128::from(FULL_TURN)).checked_div(all);
        value.map_or(FULL_TURN, |value| (value as u64).max(1))
    }
}

/// Returns the times of each thread of this process. Empty if the system does not report them.
#[allow(clippy::disallowed_methods, reason = "facts of the process of the rig itself")]
fn threads() -> BTreeMap<u64, Times> {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let times = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let mut numbers = text.split_whitespace().map(str::parse);
        let times = Times { ran: numbers.next()?.ok()?, waited: numbers.next()?.ok()? };
        Some((task.file_name().to_str()?.parse().ok()?, times))
    });
    times.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn times(threads: &[(u64, u64, u64)]) -> BTreeMap<u64, Times> {
        threads.iter().map(|(thread, ran, waited)| (*thread, Times { ran: *ran, waited: *waited })).collect()
    }

    #[test]
    fn a_turn_without_processors_is_no_turn_of_a_hung_run() {
        let mut turns = Turns::default();
        assert_eq!(turns.value_of(times(&[])), FULL_TURN, "the system reports no times");
        assert_eq!(turns.value_of(times(&[(1, SECOND, 0)])), FULL_TURN, "an endless loop");
        assert_eq!(turns.value_of(times(&[(1, SECOND, 0)])), FULL_TURN, "all threads wait for each other");
        assert_eq!(turns.value_of(times(&[(1, SECOND * 11 / 10, SECOND * 9 / 10)])), 100, "a busy machine");
        assert_eq!(turns.value_of(times(&[(1, SECOND * 11 / 10, SECOND * 19 / 10)])), 1, "a stopped process");
        assert_eq!(turns.value_of(times(&[(2, SECOND, 3 * SECOND)])), 250, "a new thread");
        assert_eq!(
            turns.value_of(times(&[(2, SECOND / 2, 0)])),
            FULL_TURN,
            "another thread with the same number"
        );
    }

    #[test]
    fn the_system_reports_the_processor_time_of_this_thread() {
        let mut turns = Turns::default();
        turns.value();
        let before: u64 = turns.before.values().map(|times| times.ran).sum();
        (0..1_000_000u64).for_each(|i| {
            std::hint::black_box(i);
        });
        turns.value();
        let after: u64 = turns.before.values().map(|times| times.ran).sum();
        assert!(after > before || !cfg!(target_os = "linux"), "{before} {after}");
    }
}
