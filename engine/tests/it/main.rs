//! The engine from outside: one binary, one module a subject.

mod basic;
mod options;
