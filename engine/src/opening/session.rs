//! Who this opening is: its session id and the host's name.

use env::Env;
use table::unique_id::SessionId;

/// A session's id: 20 digits of base 36.
pub(super) fn new_session_id(env: &Env) -> String {
    SessionId::new(env.rng.next_u64(), env.rng.next_u64()).to_string()
}

/// The host's name for table properties.
pub(super) fn host_id(env: &Env, option: &str) -> String {
    if option == "__hostname__" { env.fs.host_name() } else { option.to_string() }
}
