//! Which WALs the sections of prepared transactions keep.

use base::SequenceNumber;
use base::WalNumber;
use format::wal::WalPosition;

use super::{Numbering, PreparedSections};

/// The section of x is in WAL 5. A resume writes it again to WAL 9, and its commit fails. The next commit of a flush must not release
/// WAL 5: recovery reads WAL 9 only if the MANIFEST needs no older WAL.
#[test]
fn sections_keep_their_older_wal_after_the_commit_of_a_resume_failed() {
    let sections = PreparedSections::default();
    let end = WalPosition { number: WalNumber::new(5), bytes: 100 };
    sections.add(b"x", end, SequenceNumber::new(10), Numbering::PerEntry);
    let before = sections.move_to(WalNumber::new(9));
    assert_eq!(sections.oldest_needed(WalNumber::new(12)), WalNumber::new(9));
    sections.move_back(&before);
    assert_eq!(sections.oldest_needed(WalNumber::new(7)), WalNumber::new(5));
    sections.move_to(WalNumber::new(11));
    assert_eq!(sections.oldest_needed(WalNumber::new(12)), WalNumber::new(11));
}

/// A resume needs the end of the newest section, because an older section of the name can have the same sequence number. A resume
/// syncs the sections that it writes again, so only newer sections can be lost afterwards.
#[test]
fn sections_that_a_resume_wrote_again_have_no_unsynced_end() {
    let sections = PreparedSections::default();
    let newest = |name: &[u8]| sections.outstanding()[name].newest;
    let end = |wal, bytes| WalPosition { number: WalNumber::new(wal), bytes };
    sections.add(b"x", end(5, 100), SequenceNumber::new(10), Numbering::PerEntry);
    sections.add(b"y", end(5, 200), SequenceNumber::new(10), Numbering::PerEntry);
    assert_eq!(newest(b"x"), Some(end(5, 100)));
    sections.rolled_back(b"y");
    sections.add(b"y", end(9, 70), SequenceNumber::new(10), Numbering::PerEntry);
    let before = sections.move_to(WalNumber::new(9));
    assert_eq!((newest(b"x"), newest(b"y")), (None, Some(end(9, 70))));
    sections.rolled_back(b"y");
    sections.add(b"y", end(9, 300), SequenceNumber::new(10), Numbering::PerEntry);
    sections.move_back(&before);
    assert_eq!((newest(b"x"), newest(b"y")), (Some(end(5, 100)), Some(end(9, 300))));
}
