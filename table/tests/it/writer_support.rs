//! The options with which a table was written, from the properties of the table.

use std::sync::Arc;

use base::key::InternalOrder;
use base::order::{BuiltinPrefix, Order, PrefixExtractor};
use base::{FamilyId, FileNumber};
use format::footer::Footer;
use format::properties::{Properties, names};
use ironstone_table::sst::{DataTimes, Identity, TablePlace, WriterOptions};

/// Returns the text of a property.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the options that the properties record: column family, identity, times, order and prefix extractor. All other options
/// have their defaults. Returns `None` if no comparator has the recorded name.
pub fn recorded(footer: &Footer, p: &Properties) -> Option<WriterOptions> {
    let prefix = BuiltinPrefix::parse(&text(&p.prefix_extractor_name));
    Some(WriterOptions {
        place: TablePlace {
            family: FamilyId::new(p.column_family_id as u32),
            family_name: text(&p.column_family_name),
            ..TablePlace::default()
        },
        times: DataTimes {
            oldest_ancestor: p.creation_time,
            oldest_key: p.oldest_key_time,
            newest_key: p.newest_key_time,
        },
        identity: Identity {
            db_id: text(&p.db_id),
            db_session_id: text(&p.db_session_id),
            db_host_id: text(&p.db_host_id),
        },
        order: InternalOrder::new(Order::by_name(&text(&p.comparator_name))?),
        prefix_extractor: prefix.map(|prefix| Arc::new(prefix) as Arc<dyn PrefixExtractor>),
        persist_timestamps: p.user_defined_timestamps_persisted != 0,
        file_creation_time: p.file_creation_time,
        seqno_to_time: p.seqno_to_time_mapping.clone(),
        file_number: FileNumber::new(p.original_file_number),
        context_seed: footer.base_context_checksum,
        external: p.user(names::EXTERNAL_VERSION).is_some(),
        ..WriterOptions::default()
    })
}
