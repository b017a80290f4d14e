//! Tests of the program `ironstone`: pages, attacks, the browser, the doctor, bundles.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "tests")]

mod attacks;
mod browser;
mod bundles;
mod client;
mod contents;
mod diagnosis;
mod info_logs;
mod live;
mod pages;
mod places;
