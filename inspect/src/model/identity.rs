//! Decides by the properties of an SST file that the file is not the file of the MANIFEST. No data block is read.

use format::edit::NewFile;
use format::properties::Properties;
use table::unique_id::UniqueId;

/// Returns the difference between an SST file and its record in the MANIFEST, as a sentence. `comparator` is the comparator of the column
/// family. The origin of a file is the database, the open and the file number that wrote the file first; a copy keeps the origin.
pub(super) fn difference(record: &NewFile, comparator: &str, properties: &Properties) -> Option<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().take(80).collect::<String>();
    let session = std::str::from_utf8(&properties.db_session_id).ok()?;
    let number = base::FileNumber::new(properties.original_file_number);
    let origin = UniqueId::new(&properties.db_id, session, number).map(UniqueId::short);
    if record.unique_id != [0; 2] && origin.is_some_and(|origin| origin != record.unique_id) {
        return Some(format!(
            "another SST file has the name of this file: file {number} of session {session} of database {}. The MANIFEST records a file of \
             another origin",
            text(&properties.db_id)
        ));
    }
    let own = text(&properties.comparator_name);
    (!own.is_empty() && own != comparator).then(|| {
        format!("the SST file has the comparator {own}; the MANIFEST has the comparator {comparator}")
    })
}
