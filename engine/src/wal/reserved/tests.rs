use std::path::Path;
use std::sync::Arc;

use base::Result;
use env::Append;
use env::fs::Syncer;

use super::Reserved;

/// A file that records the requests for space.
#[derive(Debug, Default)]
struct File {
    requests: Vec<(u64, u64)>,
}

impl Append for File {
    fn append(&mut self, _data: &[u8]) -> Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn fsync(&mut self) -> Result<()> {
        Ok(())
    }

    fn size(&self) -> u64 {
        0
    }

    fn path(&self) -> &Path {
        Path::new("000004.log")
    }

    fn preallocate(&mut self, offset: u64, length: u64) -> Result<()> {
        self.requests.push((offset, length));
        Ok(())
    }

    fn truncate(&mut self, _size: u64) -> Result<()> {
        Ok(())
    }

    fn syncer(&self) -> Arc<dyn Syncer> {
        #[derive(Debug)]
        struct Nothing;
        impl Syncer for Nothing {
            fn sync(&self) -> Result<()> {
                Ok(())
            }
        }
        Arc::new(Nothing)
    }

    fn close(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn each_piece_begins_at_a_page_and_holds_the_next_record() {
    let mut file = File::default();
    let mut reserved = Reserved::nothing(100_000);
    for size in [4106, 20_000, 108_191, 108_192, 208_999, 209_000] {
        assert!(reserved.before_sync(&mut file, size));
    }
    assert_eq!(file.requests, [(8192, 100_000), (110_592, 100_000)]);
}

#[test]
fn a_wal_without_pieces_reserves_nothing() {
    let mut file = File::default();
    assert!(Reserved::nothing(0).before_sync(&mut file, 5000));
    assert_eq!(file.requests, []);
}
