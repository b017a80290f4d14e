//! The kinds of file-system calls that a hook sees.

/// The kinds of calls, with the names in fault plans and reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Op {
    /// Opens a file for reading.
    Open,
    /// Makes a new file.
    Create,
    /// Opens an existing file to append to the file.
    Reopen,
    /// Renames an obsolete file and overwrites the file from its start.
    Reuse,
    /// Reads bytes.
    Read,
    /// Appends bytes.
    Append,
    /// Hands buffered bytes to the operating system.
    Flush,
    /// Makes the bytes of a file durable.
    Sync,
    /// Starts to write a range of a file back.
    RangeSync,
    /// Reserves space for a file.
    Preallocate,
    /// Changes the length of a file.
    Truncate,
    /// Closes a file.
    Close,
    /// Makes the names of a directory durable.
    SyncDir,
    /// Renames a file.
    Rename,
    /// Gives a file a second name.
    Link,
    /// Deletes a file.
    Unlink,
    /// Makes a directory.
    CreateDir,
    /// Deletes an empty directory.
    RemoveDir,
    /// Lists the names of a directory.
    List,
    /// Asks for existence, size, or times.
    Status,
    /// Locks a file against other processes.
    Lock,
}

impl Op {
    /// The number of operations.
    pub const COUNT: usize = 21;

    /// All operations, by number.
    pub const ALL: [Op; Op::COUNT] = [
        Op::Open,
        Op::Create,
        Op::Reopen,
        Op::Reuse,
        Op::Read,
        Op::Append,
        Op::Flush,
        Op::Sync,
        Op::RangeSync,
        Op::Preallocate,
        Op::Truncate,
        Op::Close,
        Op::SyncDir,
        Op::Rename,
        Op::Link,
        Op::Unlink,
        Op::CreateDir,
        Op::RemoveDir,
        Op::List,
        Op::Status,
        Op::Lock,
    ];

    /// Returns the name that scripts use, in lower case.
    pub fn name(self) -> &'static str {
        [
            "open",
            "create",
            "reopen",
            "reuse",
            "read",
            "append",
            "flush",
            "sync",
            "range_sync",
            "preallocate",
            "truncate",
            "close",
            "sync_dir",
            "rename",
            "link",
            "unlink",
            "create_dir",
            "remove_dir",
            "list",
            "status",
            "lock",
        ][self as usize]
    }

    /// Returns the operation with this name, or `None`.
    pub(crate) fn from_name(name: &str) -> Option<Op> {
        Op::ALL.into_iter().find(|op| op.name() == name)
    }

    /// Returns true if the call changes the disk.
    pub fn is_write(self) -> bool {
        !matches!(self, Op::Open | Op::Read | Op::Flush | Op::List | Op::Status | Op::Lock)
    }
}
