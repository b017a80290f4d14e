//! The session id of an open, and the host name.

use env::Env;
use table::unique_id::SessionId;

/// Returns a new session id: 20 digits of base 36.
pub(super) fn new_session_id(env: &Env) -> String {
    SessionId::new(env.rng.next_u64(), env.rng.next_u64()).to_string()
}

/// Returns the host name for table properties: `option`, or the name of this host for `__hostname__`.
pub(super) fn host_id(env: &Env, option: &str) -> String {
    if option == "__hostname__" { env.fs.host_name() } else { option.to_string() }
}
