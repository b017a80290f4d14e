//! WALs and MANIFEST files: the list of files, the records of a file with a search, one annotated record.

use std::path::PathBuf;

use maud::{Markup, html};

use super::View;
use super::layout::{absent, more, number};
use crate::model::FileKind;
use crate::walk::{self, LogKind};
use crate::words;

/// The number of records of a page.
const PAGE: usize = 200;

/// The largest number of files of one kind in the list.
const FILES_MAX: usize = 1000;

pub(super) fn list(view: &View<'_>) -> (String, Markup) {
    let of = |kind| view.db.files.iter().filter(move |file| file.kind == kind).take(FILES_MAX);
    let current = view.db.manifest.as_ref().map(|manifest| manifest.number);
    let body = html! {
        h2 { "WALs" }
        p { "A write-ahead log (WAL) holds writes that are not in SST files yet. An open replays it." }
        @if of(FileKind::Wal).next().is_none() { (absent("There is no WAL.")) } @else {
            (files(view, of(FileKind::Wal), "/wal", &|file| {
                let needed: Vec<&str> = view.db.families.iter().filter(|f| f.wal_number <= file).map(|f| f.name.as_str()).collect();
                match needed.len() {
                    0 => "obsolete".to_string(),
                    1..=5 => format!("needed by {}", needed.join(", ")),
                    all => format!("needed by {} and {} more", needed[..5].join(", "), all - 5),
                }
            }))
            (more(view.db.count_of(FileKind::Wal), FILES_MAX))
        }
        @if of(FileKind::ArchivedWal).next().is_some() {
            h2 { "Archived WALs" }
            p { "No recovery needs these WALs. The options WAL_ttl_seconds and WAL_size_limit_MB keep them for readers of GetUpdatesSince." }
            (files(view, of(FileKind::ArchivedWal), "/wal", &|_| "archived".to_string()))
            (more(view.db.count_of(FileKind::ArchivedWal), FILES_MAX))
        }
        h2 { "MANIFEST" }
        p { "The MANIFEST is the list of all changes of files. CURRENT names the MANIFEST that counts." }
        @if of(FileKind::Manifest).next().is_none() { (absent("There is no MANIFEST.")) } @else {
            (files(view, of(FileKind::Manifest), "/manifest", &|file| {
                if Some(file) == current { "current" } else { "older" }.to_string()
            }))
            (more(view.db.count_of(FileKind::Manifest), FILES_MAX))
        }
    };
    ("WAL and MANIFEST".to_string(), body)
}

fn files<'a>(
    view: &View<'_>,
    rows: impl Iterator<Item = &'a crate::model::DiskFile>,
    page: &str,
    state: &dyn Fn(u64) -> String,
) -> Markup {
    html! {
        div class="scroll" tabindex="0" { table {
            thead { tr {
                th scope="col" { "File" }
                th scope="col" class="num" { "Size" }
                th scope="col" { "Changed" }
                th scope="col" { "State" }
            } }
            tbody {
                @for file in rows {
                    tr {
                        th scope="row" { @if view.has_files() { a href={ (page) "?number=" (file.number) } { (file.name) } } @else { (file.name) } }
                        (number(words::bytes(file.size)))
                        td { (words::ago(file.modified, view.db.taken_at)) }
                        td { (state(file.number)) }
                    }
                }
            }
        } }
    }
}

/// Returns the directory of a WAL or a MANIFEST. Returns `None` if no such file is listed, or if the source has no files.
fn dir_of(view: &View<'_>, kind: LogKind, number: u64) -> Option<PathBuf> {
    let kinds: &[FileKind] = match kind {
        LogKind::Wal => &[FileKind::Wal, FileKind::ArchivedWal],
        LogKind::Manifest => &[FileKind::Manifest],
    };
    let file = view.db.files.iter().find(|file| kinds.contains(&file.kind) && file.number == number)?;
    view.has_files().then(|| view.db.dir_of(file, view.dir))
}

pub(super) fn records(view: &View<'_>) -> (String, Markup) {
    let kind = if view.target.page == "/wal" { LogKind::Wal } else { LogKind::Manifest };
    let (file, from) = (view.number("number"), view.number("from"));
    let title = kind.name(file);
    let Some(dir) = dir_of(view, kind, file) else { return (title, absent("There is no such file.")) };
    let page = &view.target.page;
    let find = &view.target.find;
    let body = html! {
        form method="get" action=(page) role="search" {
            input type="hidden" name="number" value=(file);
            label for="find" { "Records that contain " }
            input type="search" id="find" name="find" value=(find) maxlength="100";
            " " button type="submit" { "Search" }
        }
        @match walk::records(view.env, &dir, kind, file, from, find, PAGE) {
            Err(error) => { p class="note bad" { "The file is not readable: " (error.message()) } }
            Ok(records) => {
                @if records.is_cut {
                    p class="note" { "One page reads at most " (words::bytes(walk::SCAN_MAX)) " of the file, for two seconds. "
                        @if let Some(next) = records.next { "This page ends at offset " (words::count(next)) "." } }
                }
                @if records.rows.is_empty() && records.is_cut { (absent("No record in this part.")) }
                @else if records.rows.is_empty() { (absent("No record here.")) } @else {
                    div class="scroll" tabindex="0" { table {
                        thead { tr {
                            th scope="col" class="num" { "Offset" }
                            th scope="col" class="num" { "Bytes" }
                            th scope="col" { "Record" }
                        } }
                        tbody {
                            @for row in &records.rows {
                                tr class={ @if row.is_fault { "fault" } } {
                                    th scope="row" class="num" {
                                        @if row.is_fault { (words::count(row.offset)) } @else {
                                            a href={ "/record?number=" (file) "&offset=" (row.offset) "&manifest=" (u8::from(kind == LogKind::Manifest)) } { (words::count(row.offset)) }
                                        }
                                    }
                                    (number(words::count(row.bytes)))
                                    td class="text" { (row.text) }
                                }
                            }
                        }
                    } }
                }
                @if let Some(next) = records.next {
                    form method="get" action=(page) class="pager" {
                        input type="hidden" name="number" value=(file);
                        input type="hidden" name="from" value=(next);
                        input type="hidden" name="find" value=(find);
                        button type="submit" { "More records" }
                    }
                }
            }
        }
    };
    (title, body)
}

pub(super) fn record(view: &View<'_>) -> (String, Markup) {
    let kind = if view.number("manifest") == 1 { LogKind::Manifest } else { LogKind::Wal };
    let (file, offset) = (view.number("number"), view.number("offset"));
    let title = format!("{}, record at {offset}", kind.name(file));
    let page = match kind {
        LogKind::Wal => "/wal",
        LogKind::Manifest => "/manifest",
    };
    let Some(dir) = dir_of(view, kind, file) else { return (title, absent("There is no such file.")) };
    let body = html! {
        p { a href={ (page) "?number=" (file) } { "All records" } ". Each line shows the offset, the bytes, and their meaning." }
        @match walk::record_tree(view.env, &dir, kind, file, offset) {
            Ok(lines) => { pre tabindex="0" { @for line in &lines { (line) "\n" } } }
            Err(error) => { p class="note bad" { (error.message()) } }
        }
    };
    (title, body)
}
