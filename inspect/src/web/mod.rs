//! The pages of `ironstone inspect`, and their server.
//!
//! ```text
//!  server   the connection: limits, head, answer
//!  guard    the decision: host, origin, cookie, target
//!  pages    the HTML of each page
//!  chart    the drawings
//! ```
//! The pages have no script. Keys, values, names and option texts are only text nodes, because the templates escape
//! each text.

mod chart;
pub mod guard;
pub mod pages;
pub mod server;
