//! getmergeoperands: searches a number in one long sorted list, and in the short lists that are its merge operands.

use std::time::Instant;

use base::{Error, Result};
use ironstone::ReadOptions;

use super::run::Thread;

const VALUES: u32 = 100_000;
const LIST: u32 = 100;

/// Merges the lists, then searches a number with a get and with the merge operands, and prints both times.
///
/// # Errors
/// InvalidArgument without `--merge_operator=sortlist`.
pub fn get_merge_operands(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    if run.flags.text("merge_operator") != "sortlist" {
        return Err(Error::invalid_argument("getmergeoperands needs --merge_operator=sortlist"));
    }
    let db = run.db()?;
    let key = b"my_key";
    let mut list: Vec<String> = Vec::new();
    for i in 1..VALUES {
        if i % LIST == 0 {
            db.merge(key, list.join(",").as_bytes())?;
            list.clear();
        } else {
            list.push(i.to_string());
        }
    }
    let wanted = 1;
    println!("--- Get API call --- ");
    let began = Instant::now();
    let whole = db
        .get(key)?
        .ok_or_else(|| Error::not_found("getmergeoperands: the key of the merged list does not exist"))?;
    println!("Found key? {}", u8::from(numbers(&whole).binary_search(&wanted).is_ok()));
    println!("Get: {} seconds", began.elapsed().as_secs_f64());
    println!("Sample data from Get API call: {}", String::from_utf8_lossy(&whole[..whole.len().min(10)]));
    println!("--- GetMergeOperands API --- ");
    let began = Instant::now();
    let operands = db.get_merge_operands(key, &ReadOptions::default())?;
    let found = operands.iter().any(|operand| numbers(operand).binary_search(&wanted).is_ok());
    println!("Found key? {}", u8::from(found));
    println!("Get Merge operands: {} seconds ", began.elapsed().as_secs_f64());
    print!("Sample data from GetMergeOperands API call: ");
    for (i, operand) in operands.iter().take(4).enumerate() {
        println!("List: {i} : {}", String::from_utf8_lossy(operand));
    }
    Ok(())
}

fn numbers(list: &[u8]) -> Vec<i32> {
    let text = std::str::from_utf8(list).unwrap_or_default();
    text.split(',').filter_map(|number| number.parse().ok()).collect()
}
