//! Plans that are too large for a simulation of each flush.
//!
//! The tree of a size `S` with the level multiplier `m` has the levels of the tree of `S / m`, and one more. So the planner simulates
//! `S / m^k` and `S / m^(k+1)` flush by flush, and adds the difference of the two `k` times. Times come from a third simulation, whose
//! jobs are slower by the ratio of the two write amplifications: its jobs are then as busy as the jobs of the whole tree.

use lsm::pick;

use super::{Forecast, Workload, tree};

/// The largest number of flushes of a simulation.
const FLUSHES_MAX: u64 = 20_000;

/// The level multiplier of styles without levels.
const FACTOR: f64 = 10.0;

/// Runs one simulation, or the three simulations of a large plan. `flushes_max` is the largest number of flushes of one simulation.
fn plan(setting: &tree::Setting, flushes_max: u64) -> Forecast {
    let is_leveled = setting.pick.style == pick::Style::Level;
    let multiplier = setting.pick.sizes.max_bytes_for_level_multiplier;
    let factor = if is_leveled && multiplier.is_finite() { multiplier.clamp(2.0, 100.0) } else { FACTOR };
    let mut steps = 0;
    while setting.flushes() / factor.powi(steps) > flushes_max as f64 {
        steps += 1;
    }
    if steps == 0 || setting.pick.style == pick::Style::Fifo {
        return tree::Simulation::new(setting.clone()).run(flushes_max);
    }
    let run = |steps: i32, slowness: f64| {
        let divided = |bytes: u64| (bytes as f64 / factor.powi(steps)) as u64;
        let workload = Workload {
            size_bytes: divided(setting.workload.size_bytes).max(setting.workload.entry_bytes),
            written_bytes: divided(setting.workload.written_bytes).max(1),
            job_rate: ((setting.workload.job_rate as f64 / slowness) as u64).max(1),
            ..setting.workload.clone()
        };
        tree::Simulation::new(setting.with(workload, 3.0)).run(flushes_max)
    };
    let (part, smaller) = (run(steps, 1.0), run(steps + 1, 1.0));
    let grown = |part: f64, smaller: f64| part + f64::from(steps) * (part - smaller).max(0.0);
    let amplification = grown(part.write_amplification, smaller.write_amplification);
    let timed = run(steps, amplification / part.write_amplification.max(1.0));
    let whole = factor.powi(steps);
    let mut out = Forecast {
        seconds: timed.seconds * whole,
        written_bytes: (part.written_bytes as f64 * whole) as u64,
        flushes: (part.flushes as f64 * whole) as u64,
        flushed_bytes: (part.flushed_bytes as f64 * whole) as u64,
        write_amplification: amplification,
        space_amplification: part.space_amplification,
        space_amplification_mean: part.space_amplification_mean,
        read_amplification: grown(part.read_amplification, smaller.read_amplification),
        delayed_seconds: timed.delayed_seconds * whole,
        stopped_seconds: timed.stopped_seconds * whole,
        notes: timed.notes.clone(),
        ..Forecast::default()
    };
    out.compacted_bytes = (out.flushed_bytes as f64 * (amplification - 1.0)) as u64;
    let per_compaction = part.compacted_bytes as f64 / (part.compactions.max(1)) as f64;
    out.compactions = (out.compacted_bytes as f64 / per_compaction.max(1.0)) as u64;
    out.disk_bytes_per_second = (out.flushed_bytes + out.compacted_bytes) as f64 / out.seconds.max(1e-9);
    let more_runs = (out.read_amplification - part.read_amplification).round() as usize;
    let ratio = amplification / part.write_amplification.max(1.0);
    out.samples = timed.samples;
    for sample in &mut out.samples {
        sample.seconds *= whole;
        sample.written_bytes = (sample.written_bytes as f64 * whole) as u64;
        sample.write_amplification = 1.0 + (sample.write_amplification - 1.0) * ratio;
        sample.sorted_runs += more_runs;
    }
    out.levels = levels(&part.levels, setting, factor, steps, &mut out.notes);
    out.notes.push(format!(
        "{:.0} flushes are too many for a simulation of each flush: the numbers are those of 1/{whole:.0} of the data, with the cost of \
         {steps} more {}",
        setting.flushes(),
        if steps == 1 { "level" } else { "levels" }
    ));
    out
}

/// Returns the levels of the whole tree: the levels of a part, and `steps` levels between.
fn levels(
    part: &[(usize, usize, u64)],
    setting: &tree::Setting,
    factor: f64,
    steps: i32,
    notes: &mut Vec<String>,
) -> Vec<(usize, usize, u64)> {
    let times = |(level, files, bytes): (usize, usize, u64), factor: f64| {
        (level, (files as f64 * factor) as usize, (bytes as f64 * factor) as u64)
    };
    let is_leveled = setting.pick.style == pick::Style::Level;
    let whole = factor.powi(steps);
    let (top, below): (Vec<_>, Vec<_>) =
        part.iter().copied().partition(|(level, ..)| *level == 0 && is_leveled);
    let mut out = top;
    let Some(first) = below.first().copied().filter(|_| is_leveled) else {
        out.extend(below.into_iter().map(|level| times(level, whole)));
        return out;
    };
    let (mut new, grown): (Vec<_>, Vec<_>) = if setting.pick.sizes.level_compaction_dynamic_level_bytes {
        // The new levels are above the first level with data.
        let (level, files, bytes) = first;
        let above = |n: i32| times((level.wrapping_sub(n as usize), files, bytes), factor.powi(steps - n));
        ((1..=steps).map(above).collect(), below.into_iter().map(|level| times(level, whole)).collect())
    } else {
        let (last_level, last_files, last_bytes) = below[below.len() - 1];
        let (_, first_files, first_bytes) = first;
        let before = if below.len() > 1 { below[below.len() - 2] } else { (0, first_files, first_bytes) };
        let (level, files, bytes) = before;
        let above = |n: i32| times((level + n as usize, files, bytes), factor.powi(n));
        let mut new: Vec<_> = below[..below.len() - 1].to_vec();
        new.extend((1..=steps).map(above));
        (new, vec![times((last_level + steps as usize, last_files, last_bytes), whole)])
    };
    new.extend(grown);
    let num_levels = setting.pick.num_levels;
    if new.iter().any(|(level, ..)| *level == 0 || *level >= num_levels) {
        notes.push(format!(
            "num_levels={num_levels} is too small for this size: the last level is larger than planned"
        ));
    }
    new.retain(|(level, ..)| *level > 0 && *level < num_levels);
    new.sort_unstable();
    out.extend(new);
    out
}

/// Plans the workload of a setting.
pub(super) fn run(setting: &tree::Setting) -> Forecast {
    plan(setting, FLUSHES_MAX)
}

#[cfg(test)]
mod tests {
    use options::{DbOptions, FamilyOptions};

    use super::*;

    fn setting(text: &str, size_bytes: u64) -> tree::Setting {
        let mut family = FamilyOptions::default();
        family.update(text).unwrap();
        let workload = Workload {
            size_bytes,
            entry_bytes: 116,
            written_bytes: 2 * size_bytes,
            write_rate: 20 << 20,
            job_rate: 100 << 20,
            compression: 1.0,
        };
        tree::Setting::new(
            &workload,
            &DbOptions::default(),
            &family,
            tree::FIRST_LEVEL_FILES,
            (&Default::default(), 1.0),
        )
    }

    /// The smallest tree of the test has 20 flushes, so the tolerance is wide: the cost of a level is constant from about 200 flushes on.
    #[test]
    fn large_plan_agrees_with_the_simulation_of_each_flush() {
        let small =
            "write_buffer_size=1048576;target_file_size_base=1048576;max_bytes_for_level_base=4194304";
        for style in ["", ";compaction_style=kCompactionStyleUniversal"] {
            let setting = setting(&format!("{small}{style}"), 700 << 20);
            let (whole, scaled) = (plan(&setting, 100_000), plan(&setting, 200));
            assert!(
                whole.notes.is_empty() && scaled.notes.len() == 1,
                "{:?} {:?}",
                whole.notes,
                scaled.notes
            );
            for (name, a, b, tolerance) in [
                ("writes", whole.write_amplification, scaled.write_amplification, 0.15),
                ("written", whole.written_bytes as f64, scaled.written_bytes as f64, 0.01),
                ("flushes", whole.flushes as f64, scaled.flushes as f64, 0.05),
                ("space", whole.space_amplification, scaled.space_amplification, 0.25),
                ("seconds", whole.seconds, scaled.seconds, 0.5),
            ] {
                assert!((a / b - 1.0).abs() < tolerance, "{style} {name}: {a} {b}");
            }
        }
    }

    #[test]
    fn a_hundred_terabytes_are_planned_as_a_whole() {
        let (small, large) = (plan(&setting("", 1 << 40), 500), plan(&setting("", 100 << 40), 500));
        for (forecast, written) in [(&small, 2_u64 << 40), (&large, 200 << 40)] {
            let share = forecast.written_bytes as f64 / written as f64;
            assert!((0.99..1.01).contains(&share), "{share}");
            let bytes: u64 = forecast.levels.iter().map(|(_, _, bytes)| bytes).sum();
            assert!(bytes as f64 > 0.4 * written as f64, "{:?}", forecast.levels);
            assert!(
                forecast.notes.iter().any(|note| note.contains("with the cost of")),
                "{:?}",
                forecast.notes
            );
        }
        assert!(large.write_amplification > small.write_amplification + 2.0);
        assert!(large.levels.len() > small.levels.len(), "{:?}", large.levels);
    }

    #[test]
    fn progress_ends_at_the_bytes_of_the_workload() {
        // The second plan is made of three smaller simulations.
        for size_bytes in [200 << 20, 1 << 40] {
            let setting = setting("", size_bytes);
            plan(&setting, 500);
            let share = setting.done() as f64 / (2 * size_bytes) as f64;
            assert!((0.9..=1.01).contains(&share), "{size_bytes}: {share}");
        }
    }

    #[test]
    fn too_few_levels_for_the_size_are_named() {
        let forecast = plan(&setting("num_levels=4", 100 << 40), 500);
        assert!(
            forecast.notes.iter().any(|note| note.contains("num_levels=4 is too small")),
            "{:?}",
            forecast.notes
        );
        assert!(forecast.levels.iter().all(|(level, ..)| *level < 4));
    }
}
