//! Numbers that must not be mistaken for one another.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident $repr:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $repr);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

id!(
    /// The number in a file's name; one counter for all kinds of file in a database.
    FileNumber u64
);
id!(
    /// A column family's number; 0 is the default family. Never reused.
    FamilyId u32
);
id!(
    /// A background job's number, as the LOG's `[JOB n]` shows it.
    JobId u64
);

impl FamilyId {
    /// The column family `default`. Every database has this column family.
    pub const DEFAULT: FamilyId = FamilyId(0);
}

/// A level of the tree; 0 holds overlapping files, newest first. At most 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Level(pub u8);

impl Level {
    /// Level 0.
    pub const ZERO: Level = Level(0);

    /// Returns the level as an index of an array.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.0)
    }
}
