//! Makes every call fail, once or permanently. Then the machine stops, and the acknowledged writes must exist.

use std::ops::Range;

use super::recover::survivors;
use super::report::Report;
use super::watch::{Copies, Fault, Strike};
use super::{Recorded, Until, allowed, play};

/// The disk after a run with a failing call: after a stop of the machine, or after the end of the process only.
const LEFT: [&str; 2] = ["synced", "all"];

type Judged = Result<(), (&'static str, String)>;

impl Recorded {
    /// Makes each of these calls (counted from 0) fail in every way.
    pub(super) fn failing_calls(&self, calls: Range<usize>, report: &mut Report, until: &Until) -> bool {
        for at in calls {
            let (call, op) = (at as u64 + 1, self.ops[at]);
            for (_, strike) in Strike::ALL {
                for for_good in [false, true] {
                    if !strike.fits(op) || strike == Strike::Lie {
                        continue;
                    }
                    let fault = Fault { call, strike, for_good };
                    report.fault_runs += 1;
                    for (left, judged) in self.fault(fault, report) {
                        report.states += 1;
                        report.judge(&self.fault_name(fault, left), judged, op.name());
                    }
                    if until.is_over(report) {
                        return false;
                    }
                }
            }
        }
        true
    }

    fn fault_name(&self, fault: Fault, left: &str) -> String {
        let for_good = if fault.for_good { ".." } else { "" };
        format!("{}!{}={}{for_good}~{left}", self.scene.name, fault.call, fault.strike.name())
    }

    /// Runs the scene with this fault, stops the machine, and opens the disk.
    fn fault(&self, fault: Fault, report: &mut Report) -> Vec<(&'static str, Judged)> {
        let scene = &self.scene;
        let run = std::panic::AssertUnwindSafe(|| play(scene, &self.options, Copies::None, Some(fault)));
        let Ok((past, watch, disk, _)) = std::panic::catch_unwind(run) else {
            return vec![("all", Err(("panicked", "while the call failed".to_string())))];
        };
        let past = match past {
            Ok(past) => past,
            Err(words) => return vec![("all", Err(("panicked", words)))],
        };
        if watch.hook().fired() == 0 {
            return vec![("all", Err(("broken", "the call was not made".to_string())))];
        }
        let at_end = past.reach.len();
        let mut out = Vec::new();
        for left in LEFT {
            let clock = std::sync::Arc::new(env::clock::ManualClock::new(1_700_000_000_000_000));
            let disk = disk.fork(clock);
            if let Some(left) = survivors(left, 0) {
                disk.crash(left);
            }
            let outcome = self.open(&disk, &self.fault_name(fault, left), report);
            let judged = allowed(&past, past.mark.durable, at_end).judge(&outcome);
            out.push((
                left,
                judged.map_err(|(kind, words)| (kind, format!("{words}\nrefused: {:?}", past.refused))),
            ));
        }
        out
    }

    pub(super) fn replay_fault(&self, name: &str) -> Result<String, String> {
        let (_, rest) = name.split_once('!').ok_or("a name without !")?;
        let (rest, left) = rest.split_once('~').ok_or("a name without ~")?;
        let (call, strike) = rest.split_once('=').ok_or("a name without =")?;
        let (strike, for_good) = strike.strip_suffix("..").map_or((strike, false), |s| (s, true));
        let call = call.parse().map_err(|e| format!("{call}: {e}"))?;
        let strike = Strike::by_name(strike).ok_or(format!("nothing fails by {strike}"))?;
        let judged = self.fault(Fault { call, strike, for_good }, &mut Report::default());
        let judged = judged.into_iter().find(|(l, _)| *l == left).ok_or("no such survivors")?.1;
        judged.map(|()| "holds".to_string()).map_err(|(kind, words)| format!("{kind}: {words}"))
    }
}
