//! Reads and replaces the `PROOF` file of a database. `format::proof` describes the content of the file.

use std::path::Path;

use base::{FileNumber, Result};
use env::Env;
use format::proof::{PROOF, PROOF_LEN_MAX, Proof};

use super::current::replace;
use format::names::IDENTITY_TEMP;

/// Returns the proof of MANIFEST `number`. Returns `None` if there is no proof, or if the proof is for
/// another MANIFEST. Returns `Err` with the reason if the proof does not decode; the caller then continues
/// without a proof.
pub fn read_proof(env: &Env, dir: &Path, number: FileNumber) -> Result<Option<Proof>> {
    let path = dir.join(PROOF);
    let read = env.fs.read_all(&path, PROOF_LEN_MAX).and_then(|bytes| Proof::decode(&bytes));
    match read {
        Ok(proof) => Ok(Some(proof).filter(|proof| proof.manifest.number == number)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.doing("reading the proof of the last close").file(path)),
    }
}

/// Replaces the proof. Everything that the proof states must be durable.
pub fn write_proof(env: &Env, dir: &Path, proof: &Proof) -> Result<()> {
    replace(env, dir, IDENTITY_TEMP, PROOF, &proof.encode())
}
