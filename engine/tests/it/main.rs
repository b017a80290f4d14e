//! The engine from outside: one binary, one module a subject.

mod basic;
mod close;
mod features;
mod golden;
mod model;
mod live;
mod options;
mod properties;
mod reads;
mod stalls;
mod stats;
mod styles;
