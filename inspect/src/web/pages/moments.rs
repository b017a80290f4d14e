//! Keeps the facts of earlier times, so that two times can be compared. At most twelve times and at most 64 MiB are kept.
//! Above a limit, every second time between the first and the newest is dropped. The first and the newest always stay.

use std::io::Write;
use std::sync::Arc;

use crate::model::Database;

/// The largest number of moments.
const MOMENTS_MAX: usize = 12;

/// The largest sum of the bytes of the moments.
const BYTES_MAX: usize = 64 << 20;

/// The smallest distance between two moments in seconds.
const GAP_SECONDS: u64 = 5;

/// The facts of one time, and their bytes.
struct Moment {
    db: Arc<Database>,
    bytes: usize,
}

/// The kept facts of earlier times.
pub(super) struct Moments {
    kept: Vec<Moment>,
    bytes_max: usize,
}

impl Default for Moments {
    fn default() -> Self {
        Moments { kept: Vec::new(), bytes_max: BYTES_MAX }
    }
}

impl Moments {
    /// Adds the current facts. Facts with a time near the newest moment replace that moment, unless that moment is
    /// the first.
    pub fn add(&mut self, db: Arc<Database>) {
        let is_near = |last: &Moment| db.taken_at < last.db.taken_at.saturating_add(GAP_SECONDS);
        if self.kept.len() > 1 && self.kept.last().is_some_and(is_near) {
            self.kept.pop();
        }
        let bytes = bytes_of(&db);
        self.kept.push(Moment { db, bytes });
        while self.kept.len() > 2 && (self.kept.len() > MOMENTS_MAX || self.bytes() > self.bytes_max) {
            self.thin();
        }
    }

    /// Removes every second moment between the first and the newest.
    fn thin(&mut self) {
        let last = self.kept.len() - 1;
        let mut at = 0;
        self.kept.retain(|_| {
            at += 1;
            at - 1 == last || (at - 1) % 2 == 0
        });
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(|moment| moment.bytes).sum()
    }

    /// Returns the moments, oldest first.
    pub fn all(&self) -> Vec<Arc<Database>> {
        self.kept.iter().map(|moment| Arc::clone(&moment.db)).collect()
    }
}

/// Returns the bytes of the facts as JSON, which is about their size in memory.
fn bytes_of(db: &Database) -> usize {
    let mut counter = Counter(0);
    // The counter takes all bytes. Facts without a JSON form do not exist.
    let _ = serde_json::to_writer(&mut counter, db);
    counter.0
}

/// Counts bytes and discards them.
struct Counter(usize);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Source;

    #[test]
    fn the_first_and_the_newest_sample_stay_and_their_number_has_a_limit() {
        let mut moments = Moments::default();
        for seconds in 0..1000 {
            let db = Database::empty(Source::Directory, "db".to_string(), 100 + seconds * 7);
            moments.add(Arc::new(db));
        }
        let times: Vec<u64> = moments.all().iter().map(|db| db.taken_at).collect();
        assert!(times.len() <= MOMENTS_MAX && times.len() > 3, "{times:?}");
        assert_eq!((times[0], times[times.len() - 1]), (100, 100 + 999 * 7));
    }

    #[test]
    fn the_bytes_of_the_samples_have_a_limit() {
        for (name_bytes, most) in [(1_000, 9), (20_000, 2)] {
            let mut moments = Moments { bytes_max: 10_000, ..Moments::default() };
            for seconds in 0..1000 {
                let db = Database::empty(Source::Directory, "n".repeat(name_bytes), 100 + seconds * 7);
                moments.add(Arc::new(db));
                assert!(moments.bytes() <= 10_000 || moments.kept.len() <= 2);
            }
            let times: Vec<u64> = moments.all().iter().map(|db| db.taken_at).collect();
            assert!(times.len() <= most && times.len() >= 2, "{times:?}");
            assert_eq!((times[0], times[times.len() - 1]), (100, 100 + 999 * 7));
        }
    }
}
