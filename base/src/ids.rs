//! Newtypes of numbers. The compiler rejects a number of the wrong kind.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident $repr:ty) => {
        $(#[$doc])*
        ///
        /// The compiler rejects a plain number, and a number of another type, in the place of this number.
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
    /// The number in the name of a file. All kinds of files of a database share one counter.
    FileNumber u64
);
id!(
    /// The number of a column family; 0 is the default column family. A number is never used again.
    FamilyId u32
);
id!(
    /// The number of a background job, as in `[JOB n]` of the info log.
    JobId u64
);

impl FileNumber {
    /// The number that no file has. Formats write it for "no file".
    pub const ZERO: FileNumber = FileNumber(0);

    /// Returns the part of this number, if file numbers are spread evenly over `parts` parts. `parts` must not be 0.
    #[inline]
    pub fn spread_over(self, parts: usize) -> usize {
        self.0 as usize % parts
    }

    /// Returns the number that is `count` larger. The largest number is the limit.
    pub fn plus(self, count: u64) -> FileNumber {
        FileNumber(self.0.saturating_add(count))
    }

    /// Returns the next larger number. The largest number has no next number: it is returned.
    pub fn next(self) -> FileNumber {
        self.plus(1)
    }
}

impl FamilyId {
    /// The column family `default`. Every database has this column family.
    pub const DEFAULT: FamilyId = FamilyId(0);

    /// Returns the next larger number, if there is one.
    pub fn next(self) -> Option<FamilyId> {
        self.0.checked_add(1).map(FamilyId)
    }

    /// Returns the number as an index of an array.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A level of the SST files, at most 63. Files in level 0 may overlap, and are ordered newest first.
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
