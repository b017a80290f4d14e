//! Newtypes of numbers. The compiler rejects a number of the wrong kind.

use std::fmt;
use std::num::ParseIntError;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident $repr:ty) => {
        $(#[$doc])*
        ///
        /// The compiler rejects a plain number, and a number of another type, in the place of this number.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name($repr);

        impl $name {
            /// Makes the number from the plain number.
            #[inline]
            pub const fn new(number: $repr) -> $name {
                $name(number)
            }

            /// Returns the plain number, for an interface or a text that holds plain numbers.
            #[inline]
            pub const fn get(self) -> $repr {
                self.0
            }
        }

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
    /// The number in the name of a WAL. WALs share the counter of all files.
    WalNumber u64
);
id!(
    /// The number of a column family; 0 is the default column family. The number of a dropped column family is never
    /// used again.
    FamilyId u32
);
id!(
    /// The number of a background job, as in `[JOB n]` of the info log.
    JobId u64
);

id!(
    /// The order of SST files in level 0: the file with the larger epoch number is newer.
    EpochNumber u64
);

impl EpochNumber {
    /// Unknown: the MANIFEST of an old release has no epoch numbers. No file is written with this number.
    pub const UNKNOWN: EpochNumber = EpochNumber(0);

    /// The first epoch number. Files of level 0 that are older than all other files have this number.
    pub const FIRST: EpochNumber = EpochNumber(1);

    /// Returns true if the file has an epoch number.
    #[inline]
    pub const fn is_known(self) -> bool {
        self.0 != 0
    }

    /// Returns the number that is `count` larger. The largest number is the limit.
    #[inline]
    pub const fn plus(self, count: u64) -> EpochNumber {
        EpochNumber(self.0.saturating_add(count))
    }

    /// Returns the next larger number. The largest number has no next number: it is returned.
    #[inline]
    pub const fn next(self) -> EpochNumber {
        self.plus(1)
    }
}

impl FromStr for EpochNumber {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(EpochNumber)
    }
}

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

impl WalNumber {
    /// The number that no WAL has. Formats write it for "no WAL".
    pub const ZERO: WalNumber = WalNumber(0);

    /// Returns the number of a file that is a WAL.
    #[inline]
    pub const fn of_file(number: FileNumber) -> WalNumber {
        WalNumber(number.0)
    }

    /// Returns the number of the file.
    #[inline]
    pub const fn file(self) -> FileNumber {
        FileNumber(self.0)
    }

    /// Returns the next larger number. The largest number has no next number: it is returned.
    pub fn next(self) -> WalNumber {
        WalNumber(self.0.saturating_add(1))
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
#[repr(transparent)]
pub struct Level(u8);

impl Level {
    /// Level 0.
    pub const ZERO: Level = Level(0);

    /// Makes a level from its number.
    #[inline]
    pub const fn new(number: u8) -> Level {
        Level(number)
    }

    /// Makes a level from an index of an array. An index above 255 becomes 255: only a damaged MANIFEST has such a level.
    #[inline]
    pub const fn from_index(index: usize) -> Level {
        Level(if index > u8::MAX as usize { u8::MAX } else { index as u8 })
    }

    /// Returns the plain number, for an interface or a text that holds plain numbers.
    #[inline]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Returns the level as an index of an array.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the first `count` levels, from level 0 down.
    ///
    /// ```
    /// use ironstone_base::Level;
    /// let levels: Vec<Level> = Level::first(2).collect();
    /// assert_eq!(levels, [Level::ZERO, Level::ZERO.below()]);
    /// ```
    pub fn first(count: usize) -> impl DoubleEndedIterator<Item = Level> + ExactSizeIterator + Clone {
        (0..count.min(usize::from(u8::MAX) + 1)).map(Level::from_index)
    }

    /// Returns the level below this level: the level with the next larger number. The largest level is its own level below.
    #[inline]
    pub const fn below(self) -> Level {
        Level(self.0.saturating_add(1))
    }

    /// Returns the level above this level. Level 0 has none.
    #[inline]
    pub const fn above(self) -> Option<Level> {
        match self.0.checked_sub(1) {
            Some(number) => Some(Level(number)),
            None => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}", self.0)
    }
}

/// A position in the history of a database, with 56 bits. A larger number is newer.
///
/// The difference of two sequence numbers is a count, as the difference of two times is a duration. A count can be
/// added to a sequence number; two sequence numbers cannot be added.
///
/// ```
/// use ironstone_base::SequenceNumber;
/// let first = SequenceNumber::new(7);
/// assert_eq!(first + 3, SequenceNumber::new(10));
/// assert_eq!(first.next() - first, 1);
/// assert_eq!(first.to_string(), "7");
/// assert_eq!(format!("{:?}", [first]), "[7]");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct SequenceNumber(u64);

impl SequenceNumber {
    /// The sequence number before the first write. An entry has this number if no snapshot needs its real number.
    pub const ZERO: SequenceNumber = SequenceNumber(0);

    /// The sequence number of the first entry of a database.
    pub const FIRST: SequenceNumber = SequenceNumber(1);

    /// The largest sequence number, 2^56 - 1. A reader at this number sees every entry.
    pub const MAX: SequenceNumber = SequenceNumber((1 << 56) - 1);

    /// A number that is larger than every sequence number. Formats and minima use this number for "none".
    pub const NONE: SequenceNumber = SequenceNumber(u64::MAX);

    /// Makes a sequence number from its number.
    #[inline]
    pub const fn new(number: u64) -> SequenceNumber {
        SequenceNumber(number)
    }

    /// Returns the number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns true if this is [`SequenceNumber::ZERO`].
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Returns the sequence number of the next entry.
    #[inline]
    pub const fn next(self) -> SequenceNumber {
        SequenceNumber(self.0 + 1)
    }

    /// Returns the sequence number before this one. [`SequenceNumber::ZERO`] has none, and is returned.
    #[inline]
    pub const fn previous(self) -> SequenceNumber {
        SequenceNumber(self.0.saturating_sub(1))
    }

    /// Returns the sequence number `count` entries later, if it has 64 bits.
    #[inline]
    pub fn checked_add(self, count: u64) -> Option<SequenceNumber> {
        self.0.checked_add(count).map(SequenceNumber)
    }

    /// Returns the sequence number `count` entries later. 2^64 - 1 is the limit.
    #[inline]
    pub fn saturating_add(self, count: u64) -> SequenceNumber {
        SequenceNumber(self.0.saturating_add(count))
    }

    /// Returns the sequence number `count` entries earlier, if there is one.
    #[inline]
    pub fn checked_sub(self, count: u64) -> Option<SequenceNumber> {
        self.0.checked_sub(count).map(SequenceNumber)
    }

    /// Returns the count of sequence numbers from `earlier` to this number. 0 if `earlier` is not earlier.
    #[inline]
    pub fn saturating_since(self, earlier: SequenceNumber) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Prints the plain number, so that a list of sequence numbers in the info log is a list of numbers.
impl fmt::Debug for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SequenceNumber {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        text.parse().map(SequenceNumber)
    }
}

impl From<u64> for SequenceNumber {
    #[inline]
    fn from(number: u64) -> Self {
        SequenceNumber(number)
    }
}

impl From<SequenceNumber> for u64 {
    #[inline]
    fn from(seq: SequenceNumber) -> Self {
        seq.0
    }
}

impl Add<u64> for SequenceNumber {
    type Output = SequenceNumber;

    #[inline]
    fn add(self, count: u64) -> SequenceNumber {
        SequenceNumber(self.0 + count)
    }
}

impl AddAssign<u64> for SequenceNumber {
    #[inline]
    fn add_assign(&mut self, count: u64) {
        self.0 += count;
    }
}

impl Sub<u64> for SequenceNumber {
    type Output = SequenceNumber;

    #[inline]
    fn sub(self, count: u64) -> SequenceNumber {
        SequenceNumber(self.0 - count)
    }
}

impl Sub for SequenceNumber {
    type Output = u64;

    #[inline]
    fn sub(self, earlier: SequenceNumber) -> u64 {
        self.0 - earlier.0
    }
}
