//! SST files: the list, one file with its blocks, one block with its entries.

use maud::{Markup, html};

use super::View;
use super::layout::{absent, fact, number};
use crate::model::{SstFile, TableStats};
use crate::walk::Sst;
use crate::words;

/// The number of rows of a page.
const PAGE: usize = 200;

pub(super) fn files(view: &View<'_>) -> (String, Markup) {
    let (family, level) = (view.target.numbers.get("family"), view.target.numbers.get("level"));
    let from = view.number("from") as usize;
    let all =
        view.db.families.iter().filter(|f| family.is_none_or(|id| u64::from(f.id) == *id)).flat_map(|f| {
            f.files
                .iter()
                .filter(|file| level.is_none_or(|l| u64::from(file.level.get()) == *l))
                .map(move |file| (f, file))
        });
    let rows: Vec<_> = all.clone().skip(from).take(PAGE).collect();
    let total = all.count();
    let query = |from: usize| {
        let mut query = format!("/files?from={from}");
        family.iter().for_each(|id| query.push_str(&format!("&family={id}")));
        level.iter().for_each(|l| query.push_str(&format!("&level={l}")));
        query
    };
    let body = html! {
        p { (words::of(total as u64, "SST file")) ". An SST file holds sorted entries and never changes." }
        @if rows.is_empty() { (absent("There is no such file.")) } @else {
            div class="scroll" tabindex="0" { table class="wrapped ssts" {
                thead { tr {
                    th scope="col" { "File" }
                    th scope="col" { "Column family" }
                    th scope="col" class="num" { "Level" }
                    th scope="col" class="num" { "Size" }
                    th scope="col" { "Created" }
                    th scope="col" class="num" { "Entries" }
                    th scope="col" class="num" { "Tombstones" }
                    th scope="col" { "First key" }
                    th scope="col" { "Last key" }
                } }
                tbody {
                    @for (family, file) in &rows {
                        tr {
                            th scope="row" { a href={ "/file?number=" (file.number) } { (file.number) } @if file.elsewhere { " (in another directory)" } @else if !file.present { " (damaged)" } }
                            td { (family.name) }
                            (number(file.level.get().to_string()))
                            (number(words::bytes(file.size)))
                            td { (words::ago(file.created, view.db.taken_at)) }
                            @match &file.stats {
                                Some(stats) => {
                                    (number(words::count(stats.entries)))
                                    (number(words::percent(stats.deletions, stats.entries)))
                                }
                                None => { (number("-".to_string())) (number("-".to_string())) }
                            }
                            td class="key" { (words::model_key(file.smallest.as_deref())) }
                            td class="key" { (words::model_key(file.largest.as_deref())) }
                        }
                    }
                }
            } }
            (pager(from, PAGE, total, &query))
        }
    };
    ("Files".to_string(), body)
}

/// Returns the links to the previous page and the next page.
fn pager(from: usize, page: usize, total: usize, query: &dyn Fn(usize) -> String) -> Markup {
    html! {
        nav aria-label="Pages of the list" class="pager" {
            @if from > 0 { a href=(query(from.saturating_sub(page))) { "Before" } }
            " " span { (words::count((from as u64).saturating_add(1))) " to " (words::count(from.saturating_add(page).min(total) as u64)) " of " (words::count(total as u64)) } " "
            @if from.saturating_add(page) < total { a href=(query(from.saturating_add(page))) { "After" } }
        }
    }
}

pub(super) fn file(view: &View<'_>) -> (String, Markup) {
    let number_ = view.number("number");
    let Some((family, file)) = view.db.file(number_) else {
        return ("File".to_string(), absent("The MANIFEST does not name this SST file."));
    };
    let body = html! {
        p { "Level " (file.level.get()) " of column family " q { (family.name) } ". "
            a href={ "/tree?family=" (family.id) } { "Show the tree" } "." }
        dl class="facts" {
            (fact("Size", html! { (words::bytes(file.size)) }, ""))
            @if file.path_id > 0 { (fact("Path", html! { (file.path_id) }, "the number of its directory in cf_paths or db_paths")) }
            (fact("Created", html! { (words::ago(file.created, view.db.taken_at)) }, ""))
            (fact("First key", html! { span class="key" { (words::model_key(file.smallest.as_deref())) } }, ""))
            (fact("Last key", html! { span class="key" { (words::model_key(file.largest.as_deref())) } }, ""))
            (fact("Sequence numbers", html! { (words::count(file.smallest_seq)) " to " (words::count(file.largest_seq)) }, "positions in the history of writes"))
            @if let Some(stats) = &file.stats { (properties(stats)) }
        }
        @if file.elsewhere { (absent("This file is in another directory of cf_paths or db_paths. Its blocks are not read here.")) }
        @else if view.has_files() { (blocks(view, file)) } @else { (absent("The blocks are not in a support bundle.")) }
    };
    (format!("File {number_}"), body)
}

fn properties(stats: &TableStats) -> Markup {
    let raw = stats.raw_key_bytes + stats.raw_value_bytes;
    html! {
        (fact("Entries", html! { (words::count(stats.entries)) }, ""))
        (fact("Tombstones", html! { (words::count(stats.deletions)) " (" (words::percent(stats.deletions, stats.entries)) ")" }, "entries that delete a key or a range"))
        @if stats.range_deletions > 0 { (fact("Range tombstones", html! { (words::count(stats.range_deletions)) }, "")) }
        @if stats.merge_operands > 0 { (fact("Merge operands", html! { (words::count(stats.merge_operands)) }, "")) }
        (fact("Data", html! { (words::bytes(stats.data_bytes)) " in " (words::of(stats.blocks, "block")) }, &format!("{} before compression", words::bytes(raw))))
        (fact("Index", html! { (words::bytes(stats.index_bytes)) }, ""))
        (fact("Filter", html! { @if stats.filter_bytes == 0 { "none" } @else { (words::bytes(stats.filter_bytes)) } }, &stats.filter))
        (fact("Compression", html! { (stats.compression) }, ""))
        (fact("Format version", html! { (stats.format_version) }, ""))
    }
}

fn blocks(view: &View<'_>, file: &SstFile) -> Markup {
    let from = view.number("from") as usize;
    let listed = Sst::open(view.env, view.dir, file.number).and_then(|sst| {
        let blocks = sst.blocks(from, PAGE)?;
        Ok((blocks, sst.reader.block_based().is_some()))
    });
    match listed {
        Err(error) => html! {
            h2 { "Blocks" }
            p class="note bad" { "The file is not readable: " (error.message())
                @if let Some(offset) = error.offset() { " (at byte " (words::count(offset)) ")" } }
        },
        Ok((_, false)) => html! {
            h2 { "Entries" }
            p { "This kind of table has no blocks. " a href={ "/block?number=" (file.number) } { "Show its entries" } "." }
        },
        Ok((blocks, true)) => html! {
            h2 { "Data blocks" }
            div class="scroll" tabindex="0" { table {
                thead { tr {
                    th scope="col" class="num" { "Block" }
                    th scope="col" class="num" { "Offset" }
                    th scope="col" class="num" { "Bytes" }
                    th scope="col" { "Keys up to" }
                } }
                tbody {
                    @for (at, row) in blocks.rows.iter().enumerate() {
                        @let block = blocks.first + at;
                        tr {
                            th scope="row" class="num" { a href={ "/block?number=" (file.number) "&block=" (block) } { (block) } }
                            (number(words::count(row.offset)))
                            (number(words::count(row.bytes)))
                            td class="key" { (words::key(&row.separator, 64)) }
                        }
                    }
                }
            } }
            (pager(from, PAGE, blocks.total, &|from| format!("/file?number={}&from={from}", file.number)))
        },
    }
}

pub(super) fn block(view: &View<'_>) -> (String, Markup) {
    let (file, block) = (view.number("number"), view.number("block") as usize);
    let from = view.number("from") as usize;
    let title = format!("File {file}, block {block}");
    if !view.has_files() || view.db.file(file).is_none() {
        return (title, absent("The MANIFEST does not name this SST file, or the source has no files."));
    }
    let read = Sst::open(view.env, view.dir, file).and_then(|sst| sst.entries(block, from, PAGE));
    let body = match read {
        Err(error) => html! {
            p class="note bad" { "The block is not readable: " (error.message())
                @if let Some(offset) = error.offset() { " (at byte " (words::count(offset)) ")" } }
        },
        Ok((rows, more)) => html! {
            div class="scroll" tabindex="0" { table {
                thead { tr {
                    th scope="col" { "Key" }
                    th scope="col" class="num" { "Sequence number" }
                    th scope="col" { "Kind" }
                    th scope="col" { "Value" }
                } }
                tbody {
                    @for row in &rows {
                        tr {
                            th scope="row" class="key" { (row.key) }
                            (number(words::count(row.seq)))
                            td { (row.kind) }
                            td class="key" { (row.value) }
                        }
                    }
                }
            } }
            @if more { p { a href={ "/block?number=" (file) "&block=" (block) "&from=" (from.saturating_add(PAGE)) } { "More entries" } } }
        },
    };
    let links = html! {
        p { a href={ "/file?number=" (file) } { "All blocks of the file" }
            @if block > 0 { ", " a href={ "/block?number=" (file) "&block=" (block - 1) } { "the block before" } }
            ", " a href={ "/block?number=" (file) "&block=" (block.saturating_add(1)) } { "the block after" } }
        (body)
    };
    (title, links)
}
