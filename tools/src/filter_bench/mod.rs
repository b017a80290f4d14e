//! `filter_bench` measures the speed of building and querying filters, and their rate of false positives. It has the
//! flags, the random numbers and the report of RocksDB's program, so the results of both programs can be compared.
//!
//! ```text
//! flags    the command line        keys    the keys, from filter and number        twister  RocksDB's random numbers
//! build    many filters, timed     query   queries in six modes, timed, without the time of a dry run
//! ```
//! The filters lie on a `mem::shelf`, as in a block cache that keeps filters.

mod build;
mod flags;
mod general;
mod keys;
mod query;
mod twister;

use flags::Flags;

/// Runs the program with its arguments, without the program's name. Returns the exit status.
pub fn main(args: impl IntoIterator<Item = String>) -> i32 {
    let mut flags = match Flags::parse(args) {
        Ok(flags) => flags,
        Err(text) => {
            eprintln!("{text}");
            return 1;
        }
    };
    if flags.legend {
        print!("{LEGEND}");
        return 0;
    }
    for _ in 0..flags.runs {
        if let Err(text) = query::run(&flags) {
            eprintln!("{text}");
            return 1;
        }
        flags.seed = flags.seed.wrapping_add(100);
    }
    0
}

const LEGEND: &str = "Legend:
  \"Inside\" - key that was added to filter
  \"Outside\" - key that was not added to filter
  \"FN\" - false negative query (must not happen)
  \"FP\" - false positive query (OK at low rate)
  \"Dry run\" - cost of testing and hashing overhead.
  \"Gross filter\" - cost of filter queries including testing
     and hashing overhead.
  \"net\" - best estimate of time in filter operation, without
     testing and hashing overhead (gross filter - dry run)
  \"ns/op\" - nanoseconds per operation (key query or add)
  \"Single filter\" - essentially minimum cost, assuming filter
     fits easily in L1 CPU cache.
  \"Batched, prepared\" - several queries at once against a
     randomly chosen filter, using multi-query interface.
  \"Batched, unprepared\" - similar, but using serial calls
     to single query interface.
  \"Random filter\" - a filter is chosen at random as target
     of each query.
  \"Skewed X% in Y%\" - like \"Random filter\" except Y% of
      the filters are designated as \"hot\" and receive X%
      of queries.
";

#[cfg(test)]
mod tests;
