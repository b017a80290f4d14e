//! Which WALs the sections of prepared transactions keep.

use base::FileNumber;
use base::SequenceNumber;

use super::{Numbering, PreparedSections};

/// The section of x is in WAL 5. A resume writes it again to WAL 9, and its commit fails. The next commit of a flush must not release
/// WAL 5: recovery reads WAL 9 only if the MANIFEST needs no older WAL.
#[test]
fn sections_keep_their_older_wal_after_the_commit_of_a_resume_failed() {
    let sections = PreparedSections::default();
    sections.add(b"x", FileNumber(5), SequenceNumber::new(10), Numbering::PerEntry);
    let before = sections.move_to(FileNumber(9));
    assert_eq!(sections.oldest_needed(FileNumber(12)), FileNumber(9));
    sections.move_back(&before);
    assert_eq!(sections.oldest_needed(FileNumber(7)), FileNumber(5));
    sections.move_to(FileNumber(11));
    assert_eq!(sections.oldest_needed(FileNumber(12)), FileNumber(11));
}
