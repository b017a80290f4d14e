//! The facts of earlier times, to compare two times. At most twelve; the first time stays.

use std::sync::Arc;

use crate::model::Database;

/// More moments are thinned.
const MOMENTS_MAX: usize = 12;

/// Moments are at least so many seconds apart.
const GAP_SECONDS: u64 = 5;

/// A database with more SST files is kept at two moments only. No budget counts the memory of the moments.
const FILES_MAX: usize = 20_000;

/// See the module.
#[derive(Default)]
pub(super) struct Moments {
    kept: Vec<Arc<Database>>,
}

impl Moments {
    /// Adds the present facts. Facts of nearly the same time replace the newest moment, except for the first moment.
    pub fn add(&mut self, db: Arc<Database>) {
        let is_near =
            self.kept.last().is_some_and(|last| db.taken_at < last.taken_at.saturating_add(GAP_SECONDS));
        let is_large = db.sst_count() > FILES_MAX;
        if self.kept.len() > 1 && (is_near || is_large) {
            self.kept.pop();
        }
        self.kept.push(db);
        if self.kept.len() > MOMENTS_MAX {
            // The first and the last stay; of the others, every second one goes.
            let last = self.kept.len() - 1;
            let mut at = 0;
            self.kept.retain(|_| {
                at += 1;
                at - 1 == last || (at - 1) % 2 == 0
            });
        }
    }

    /// Returns the moments, oldest first.
    pub fn all(&self) -> Vec<Arc<Database>> {
        self.kept.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Source;

    #[test]
    fn first_and_newest_moment_stay_and_the_number_has_a_limit() {
        let mut moments = Moments::default();
        for seconds in 0..1000 {
            let db = Database::empty(Source::Directory, "db".to_string(), 100 + seconds * 7);
            moments.add(Arc::new(db));
        }
        let times: Vec<u64> = moments.all().iter().map(|db| db.taken_at).collect();
        assert!(times.len() <= MOMENTS_MAX && times.len() > 3, "{times:?}");
        assert_eq!((times[0], times[times.len() - 1]), (100, 100 + 999 * 7));
    }
}
