//! `ironstone plan`: the forecast of a workload, with options from text, from an OPTIONS file, or from a directory.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base::{Error, Kind};
use engine::options::file::{self, OptionsFile, ReadConfig};
use env::Env;
use inspect::{plan, words};
use ironstone::Options;

use super::{Args, device, ended, progress};

/// Prints the forecast of a workload.
pub(super) fn show(args: &Args, env: &Env, out: &mut dyn Write) -> Result<i32, String> {
    let flag = |name: &'static str, fallback: Option<u64>| match (args.flags.get(name), fallback) {
        (Some(text), _) => plan::parse_bytes(text).map_err(|e| format!("--{name}: {}", e.message())),
        (None, Some(fallback)) => Ok(fallback),
        (None, None) => Err(format!("plan needs --{name}; see --help")),
    };
    let size_bytes = flag("size", None)?;
    let ratio = args.flags.get("compression").map_or("1", String::as_str);
    let mut workload = plan::Workload {
        size_bytes,
        entry_bytes: flag("entry-size", Some(116))?,
        written_bytes: flag("writes", Some(size_bytes.saturating_mul(2)))?,
        write_rate: flag("write-rate", None)?,
        job_rate: flag("job-rate", Some(plan::JOB_RATE))?,
        compression: ratio.parse().map_err(|_| format!("--compression: {ratio:?} is no number"))?,
    };
    let (options, mut notes) = options_of(args, env)?;
    if let Some(dir) = &args.device {
        if args.flags.contains_key("job-rate") {
            return Err("--device measures the job rate, so --job-rate has no effect; see --help".to_string());
        }
        let measured =
            device::job_rate(env, dir, &workload, &options).map_err(|e| format!("--device: {e}"))?;
        workload.job_rate = measured.max(1);
    } else if !args.flags.contains_key("job-rate") {
        notes.push("the job rate is an assumption: measure it with --device DIR, in a directory on the disk of the database".to_string());
    }
    let done = Arc::<AtomicU64>::default();
    let counted = Arc::clone(&done);
    let progress =
        progress(args, "plan", Some(workload.written_bytes), move || counted.load(Ordering::Relaxed));
    let mut forecast =
        plan::predict(&workload, &options.db, &options.family, &done).map_err(|e| refused(args, &e))?;
    ended(progress);
    forecast.notes.extend(notes);
    if let Some(file) = args.flags.get("svg") {
        std::fs::write(file, plan::svg(&forecast)).map_err(|e| format!("{file}: {e}"))?;
    }
    let written = match args.json {
        true => writeln!(out, "{:#}", serde_json::json!(forecast)),
        false => show_forecast(&forecast, workload.write_rate, out),
    };
    written.map(|()| 0).map_err(|e| format!("writing the output: {e}"))
}

const MIB: f64 = 1048576.0;

/// Prints a forecast. `asked` is the rate of the writer without stalls, in bytes per second.
fn show_forecast(forecast: &plan::Forecast, asked: u64, out: &mut dyn Write) -> std::io::Result<()> {
    let f = forecast;
    let stalled = f.delayed_seconds + f.stopped_seconds;
    let seconds = |seconds: f64| match seconds < 120.0 {
        true => format!("{seconds:.0} seconds"),
        false => format!("{seconds:.0} seconds ({})", words::duration(seconds as u64)),
    };
    let rate = f.written_bytes as f64 / f.seconds.max(1e-9);
    writeln!(out, "written              {} in {}", words::bytes(f.written_bytes), seconds(f.seconds))?;
    writeln!(
        out,
        "writer               {:.1} of {:.1} MiB/s: {}",
        rate / MIB,
        asked as f64 / MIB,
        match rate < 0.95 * asked as f64 {
            true => "write stalls slow the writer, because the jobs cannot keep up",
            false => "the jobs keep up with the writer",
        }
    )?;
    let of = |rate: u64| format!("{:.0} MiB/s", rate as f64 / MIB);
    writeln!(out, "job rate             {}  (SST bytes that one job writes)", of(f.job_rate))?;
    let range = match f.at_other_rates {
        Some((slower, faster)) => {
            format!("; {slower:.2} with jobs half as fast, {faster:.2} with jobs twice as fast")
        }
        None => String::new(),
    };
    writeln!(
        out,
        "write amplification  {:.2}  (SST bytes for each flushed byte{range})",
        f.write_amplification
    )?;
    writeln!(
        out,
        "space amplification  {:.2}  (SST bytes for each byte of live data, on average; {:.2} at the end, {:.2} at most)",
        f.space_amplification_mean,
        f.space_amplification,
        space_max(f)
    )?;
    writeln!(out, "read amplification   {:.1}  (sorted runs, mean over time)", f.read_amplification)?;
    match stalled > 0.0 {
        false => writeln!(out, "stalls               none")?,
        true => writeln!(
            out,
            "stalls               {} % of the time: the writer was delayed for {}, and stopped for {}",
            (100.0 * stalled / f.seconds.max(1e-9)).round(),
            seconds(f.delayed_seconds),
            seconds(f.stopped_seconds)
        )?,
    }
    writeln!(
        out,
        "disk                 {}/s written by {} flushes and {} compactions",
        words::bytes(f.disk_bytes_per_second as u64),
        f.flushes,
        f.compactions
    )?;
    for (level, files, bytes) in &f.levels {
        writeln!(out, "  L{level}  {:>8}  {}", words::count(*files as u64), words::bytes(*bytes))?;
    }
    f.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
}

/// Returns the largest space amplification after the first quarter of the bytes is written. Before, there is little live data, so the
/// ratio has no meaning.
fn space_max(forecast: &plan::Forecast) -> f64 {
    let samples = forecast.samples.iter().filter(|sample| sample.written_bytes >= forecast.written_bytes / 4);
    samples.map(|sample| sample.space_amplification).fold(forecast.space_amplification, f64::max)
}

/// Returns the options of the plan, and notes about them. Each `--options` changes the options of the `--options` before it.
fn options_of(args: &Args, env: &Env) -> Result<(Options, Vec<String>), String> {
    let (mut options, mut notes) = (Options::default(), Vec::new());
    let mut objects: Vec<(String, String)> = Vec::new();
    let mut has_file = false;
    for value in &args.options {
        let path = Path::new(value);
        if env.fs.exists(path).unwrap_or(false) {
            let file = read(env, path).map_err(|e| format!("--options: {e}"))?;
            (options, objects) = of_family(args, &file, &mut notes)?;
            has_file = true;
            continue;
        }
        let text = value.to_string_lossy();
        if !text.contains('=') {
            return Err(format!(
                "--options: {text:?} is no path that exists, and no option text such as num_levels=5"
            ));
        }
        options.update(&text).map_err(|e| format!("--options: {e}"))?;
        let set = format::options_ini::parse_map(&text).map_err(|e| format!("--options: {e}"))?;
        objects.retain(|(option, _)| set.iter().all(|(name, _)| name != option));
    }
    if !has_file && args.flags.contains_key("family") {
        return Err(
            "--family belongs to an --options with a directory or an OPTIONS file; see --help".to_string()
        );
    }
    if let Some((option, object)) = objects.iter().find(|(option, _)| plan::needs_object(option)) {
        return Err(format!(
            "the planner cannot plan {option}={object}: only the application has this object. To plan without the object, add \
             --options {option}=nullptr"
        ));
    }
    let unknown = objects.iter().map(|(option, object)| {
        format!("{option}={object}: only the application has this object; it does not change the plan")
    });
    notes.extend(unknown);
    Ok((options, notes))
}

/// Reads an OPTIONS file, or the newest OPTIONS file of a directory.
fn read(env: &Env, path: &Path) -> base::Result<OptionsFile> {
    let config = ReadConfig { ignore_unknown_options: true, accept_changed: true, ..ReadConfig::default() };
    match env.fs.is_dir(path)? {
        true => file::load_latest(env, path, &config).map(|(_, file)| file),
        false => file::load(env, path, &config),
    }
}

/// Returns the options of the column family that the arguments name, and the objects of the application: options and names.
fn of_family(
    args: &Args,
    file: &OptionsFile,
    notes: &mut Vec<String>,
) -> Result<(Options, Vec<(String, String)>), String> {
    let name = args.flags.get("family").map_or("default", String::as_str);
    let Some(family) = file.family(name) else {
        let names: Vec<&str> = file.families.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!(
            "--family: the OPTIONS file has no column family {name:?}; it has {}",
            names.join(", ")
        ));
    };
    let others = file.families.len() - 1;
    if others > 0 {
        notes.push(format!(
            "the plan is of the column family {name:?} alone; the OPTIONS file has {others} more"
        ));
    }
    let ignored = file
        .ignored
        .iter()
        .map(|name| format!("{name}: an option of a later release, which the plan does not have"));
    notes.extend(ignored);
    let options = Options { db: file.db.clone(), family: family.clone(), ..Options::default() };
    let of_plan = |family: &Option<String>| family.as_deref().is_none_or(|family| family == name);
    let missing = file.missing.iter().filter(|missing| of_plan(&missing.family));
    Ok((options, missing.map(|missing| (missing.option.clone(), missing.object.clone())).collect()))
}

/// Returns the text of an error of the planner.
fn refused(args: &Args, error: &Error) -> String {
    match error.kind() {
        Kind::NotSupported if !args.options.is_empty() => {
            format!("{}. To plan without them, add --options TEXT with other values", error.message())
        }
        _ => error.to_string(),
    }
}
