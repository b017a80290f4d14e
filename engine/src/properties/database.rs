//! `dbstats`: writes, WAL and stalls of the whole database, since open and since the last dump.

use std::collections::BTreeMap;

use super::PropertyContext;
use super::human::{gb, mb, micros, number};
use crate::stats::DatabaseCounter as C;

pub(super) fn text(context: &PropertyContext<'_>) -> String {
    let uptime = context.stats.uptime_s();
    let now = context.stats.database.all();
    let (last_uptime, before) = context.stats.database.begin_interval(uptime, now);
    let interval = uptime - last_uptime;
    let total = |c: C| now[c as usize];
    // A reset lowers the counters, and a concurrent dump may have begun an interval after `now` was read.
    let since = |c: C| now[c as usize].saturating_sub(before[c as usize]);
    let (seconds, interval_seconds) = (uptime.max(0.001), interval.max(0.001));
    let mut out = format!("\n** DB Stats **\nUptime(secs): {uptime:.1} total, {interval:.1} interval\n");
    let writes = total(C::WritesByOther) + total(C::WritesBySelf);
    out += &format!(
        "Cumulative writes: {} writes, {} keys, {} commit groups, {:.1} writes per commit group, ingest: {:.2} GB, {:.2} MB/s\n",
        number(writes),
        number(total(C::UserKeys)),
        number(total(C::WritesBySelf)),
        ratio(writes, total(C::WritesBySelf)),
        gb(total(C::UserBytes)),
        mb(total(C::UserBytes)) / seconds
    );
    out += &format!(
        "Cumulative WAL: {} writes, {} syncs, {:.2} writes per sync, written: {:.2} GB, {:.2} MB/s\n",
        number(total(C::WritesWithWal)),
        number(total(C::WalSyncs)),
        ratio(total(C::WritesWithWal), total(C::WalSyncs)),
        gb(total(C::WalBytes)),
        mb(total(C::WalBytes)) / seconds
    );
    out += &stall_line("Cumulative", total(C::StallMicros), seconds);
    let writes = since(C::WritesByOther) + since(C::WritesBySelf);
    out += &format!(
        "Interval writes: {} writes, {} keys, {} commit groups, {:.1} writes per commit group, ingest: {:.2} MB, {:.2} MB/s\n",
        number(writes),
        number(since(C::UserKeys)),
        number(since(C::WritesBySelf)),
        ratio(writes, since(C::WritesBySelf)),
        mb(since(C::UserBytes)),
        mb(since(C::UserBytes)) / interval_seconds
    );
    out += &format!(
        "Interval WAL: {} writes, {} syncs, {:.2} writes per sync, written: {:.2} GB, {:.2} MB/s\n",
        number(since(C::WritesWithWal)),
        number(since(C::WalSyncs)),
        ratio(since(C::WritesWithWal), since(C::WalSyncs)),
        gb(since(C::WalBytes)),
        mb(since(C::WalBytes)) / interval_seconds
    );
    out += &stall_line("Interval", since(C::StallMicros), interval_seconds);
    out + &stall_text(context)
}

fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / (b as f64).max(1.0)
}

fn stall_line(what: &str, stall_us: u64, seconds: f64) -> String {
    format!("{what} stall: {}, {:.1} percent\n", micros(stall_us), stall_us as f64 / 10_000.0 / seconds)
}

pub(super) fn stall_text(context: &PropertyContext<'_>) -> String {
    super::levels::stall_line(&stall_map(context))
}

pub(super) fn stall_map(context: &PropertyContext<'_>) -> BTreeMap<String, String> {
    let stops = context.stats.database.get(C::BufferManagerStops);
    BTreeMap::from([(C::BufferManagerStops.name().to_string(), stops.to_string())])
}

pub(super) fn map(context: &PropertyContext<'_>) -> BTreeMap<String, String> {
    let mut map: BTreeMap<String, String> =
        C::ALL.iter().map(|c| (c.name().to_string(), context.stats.database.get(*c).to_string())).collect();
    map.insert("db.uptime".to_string(), format!("{:.6}", context.stats.uptime_s()));
    map
}
