//! The outside world as a parameter: files, time, chance, threads.
