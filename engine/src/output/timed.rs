//! Timed puts in a flush: the write time of the value becomes a preferred sequence number.
//!
//! A memtable holds the value and the write time, in seconds since 1970. An SST file holds the value and the sequence number that the
//! entry gets when no older entry of the key can be hidden. Source: RocksDB `db/builder.cc`.

use base::key::{TRAILER_LEN, pack, sequence};
use base::{Error, Result, ValueType};
use lsm::seqno_time::SeqnoTimes;

/// Returns the entry that a flush stores for a timed put. Without a useful sequence number, the entry becomes a put. `buffer` holds the
/// new key or the new value.
///
/// # Errors
/// Corruption if the value has no write time.
pub fn flushed<'a>(
    key: &'a [u8],
    value: &'a [u8],
    times: Option<&SeqnoTimes>,
    buffer: &'a mut Vec<u8>,
) -> Result<(&'a [u8], &'a [u8])> {
    let (plain, time) = value
        .split_last_chunk::<8>()
        .ok_or_else(|| Error::corruption("a timed put in a memtable has no write time"))?;
    let preferred = times.map(|times| times.seqno_at(u64::from_le_bytes(*time)));
    buffer.clear();
    match preferred.filter(|preferred| *preferred < sequence(key)) {
        Some(preferred) => {
            buffer.extend_from_slice(plain);
            buffer.extend_from_slice(&preferred.get().to_le_bytes());
            Ok((key, buffer))
        }
        None => {
            buffer.extend_from_slice(&key[..key.len() - TRAILER_LEN]);
            buffer.extend_from_slice(&pack(sequence(key), ValueType::Value as u8).to_le_bytes());
            Ok((buffer, plain))
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use base::SequenceNumber;
    use base::key::seek_key;
    use lsm::seqno_time::Sample;

    use super::*;

    fn timed(time: u64, times: Option<&SeqnoTimes>) -> (u8, Vec<u8>) {
        let mut key = seek_key(b"k", SequenceNumber::new(50));
        let at = key.len() - TRAILER_LEN;
        key[at] = ValueType::ValuePreferredSeqno as u8;
        let value = [&b"v"[..], &time.to_le_bytes()].concat();
        let mut buffer = Vec::new();
        let (key, value) = flushed(&key, &value, times, &mut buffer).unwrap();
        assert_eq!((base::key::user_key(key), sequence(key)), (&b"k"[..], SequenceNumber::new(50)));
        (base::key::trailer(key) as u8, value.to_vec())
    }

    #[test]
    fn a_timed_put_gets_the_sequence_number_of_its_write_time() {
        let mut times = SeqnoTimes::default();
        times.add(
            [(10, 100), (20, 200), (60, 300)]
                .map(|(seq, time)| Sample { seq: SequenceNumber::new(seq), time }),
        );
        let timed_put = ValueType::ValuePreferredSeqno as u8;
        let with = |seq: u64| [&b"v"[..], &seq.to_le_bytes()].concat();
        assert_eq!(timed(250, Some(&times)), (timed_put, with(20)));
        assert_eq!(timed(50, Some(&times)), (timed_put, with(0)), "older than all samples");
        let put = (ValueType::Value as u8, b"v".to_vec());
        assert_eq!(timed(300, Some(&times)), put, "the sequence number would be larger");
        assert_eq!(timed(250, None), put, "no times are kept");
    }
}
