//! Measures the check of a handle: the nanoseconds of a call that enters and leaves the slot of an object.
//!
//! Run: `cargo run --release -p ironstone-jni --example handle_cost`. Prints the best of 1,000 rounds. A round takes less than a
//! millisecond: on a loaded machine, longer rounds also measure the time in which other programs have the core.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the example measures time")]

use std::hint::black_box;
use std::time::Instant;

#[allow(dead_code, reason = "the module of the library: the example uses a part")]
#[path = "../src/handle.rs"]
mod handle;
#[allow(dead_code, reason = "the module of the library: the example uses a part")]
#[path = "../src/untouched.rs"]
mod untouched;

use handle::Handle;

const CALLS: u32 = 50_000;
const ROUNDS: u32 = 1000;

/// Returns the nanoseconds of one call, in the best round.
fn best<T>(mut call: impl FnMut() -> T) -> f64 {
    let round = |call: &mut dyn FnMut() -> T| {
        let start = Instant::now();
        (0..CALLS).for_each(|_| {
            black_box(call());
        });
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    (0..ROUNDS).map(|_| round(&mut call)).fold(f64::INFINITY, f64::min)
}

fn main() {
    let handle = Handle::new(7u64);
    let closed = Handle::new(8u64);
    closed.close();
    let pointer = Box::new(7u64);
    println!("a read through a pointer {:6.2} ns", best(|| **black_box(&pointer)));
    println!("shared use of an object  {:6.2} ns", best(|| black_box(handle).shared::<u64>().map(|o| *o)));
    println!("only use of an object    {:6.2} ns", best(|| black_box(handle).exclusive::<u64>().map(|o| *o)));
    println!("a closed handle          {:6.2} ns", best(|| black_box(closed).shared::<u64>().map(|o| *o)));
    handle.close();
    let options = untouched::new();
    println!("untouched read options   {:6.2} ns", best(|| untouched::live(black_box(options))));
    untouched::touch(options, || Handle::new(7u64)).expect("the handle is open");
    let read = || untouched::touch(black_box(options), || Handle::NULL)?.shared::<u64>().map(|o| *o);
    println!("touched read options     {:6.2} ns", best(read));
    untouched::close(options);
}
