//! `motemix-lab boards cycles`: each bench of an image, on the stopwatch.

use crate::cli::BoardsCycles as Args;
use crate::failure::Failure;
use crate::report::{self, Table};
use motemix_mcu::{FlashTiming, Function, FunctionProfile, Image, Machine, Run};
use serde::Serialize;
use std::fs;

const BENCH: &str = "bench_";
const PREPARE: &str = "prepare_";
/// Functions of a profile that are shown; the rest costs less than any of them.
const SHOWN: usize = 16;

/// Everything counted, as `--json` prints it.
#[derive(Serialize)]
struct Report {
    core: String,
    flash_line_bytes: u32,
    /// Cycles of waiting for the next line of flash, and for any other.
    flash_wait: [u32; 2],
    /// Bytes of code, constants and initial values.
    flash_bytes: u32,
    /// Bytes of static data.
    ram_bytes: u32,
    benches: Vec<Bench>,
}

#[derive(Serialize)]
struct Bench {
    name: String,
    cycles: u64,
    instructions: u64,
    cycles_per_instruction: f64,
    stack_bytes: u32,
    loads: u64,
    stores: u64,
    multiplications: u64,
    branches_taken: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    profile: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    function: String,
    calls: u64,
    cycles: u64,
    instructions: u64,
    stack_bytes: u32,
}

pub fn cycles(args: &Args) -> Result<(), Failure> {
    let shown = args.image.display();
    let bytes = fs::read(&args.image).map_err(|error| Failure::broken(format!("{shown}: {error}")))?;
    let image = Image::parse(&bytes).map_err(|error| Failure::broken(format!("{shown}: {error}")))?;
    let benches = select(&image, args.only.as_deref())
        .map_err(|problem| Failure::broken(format!("{shown}: {problem}")))?;
    let (sequential, jump) = args.flash_wait;
    let timing = FlashTiming { line_bytes: args.flash_line, sequential, jump };
    let run = |function: &&Function| bench(args, &image, timing, function);
    let report = Report {
        core: args.core.to_string(),
        flash_line_bytes: args.flash_line,
        flash_wait: [sequential, jump],
        flash_bytes: image.flash_len(),
        ram_bytes: image.ram_len(),
        benches: benches.iter().map(run).collect::<Result<_, _>>()?,
    };
    Ok(if args.json { report::print_json(&report) } else { report.print() }?)
}

/// The benches of an image, or the one that was asked for.
fn select<'a>(image: &'a Image, only: Option<&str>) -> Result<Vec<&'a Function>, String> {
    let mut benches: Vec<_> =
        image.functions().iter().filter(|function| function.name.starts_with(BENCH)).collect();
    let names = benches.iter().map(|function| &function.name[BENCH.len()..]).collect::<Vec<_>>().join(", ");
    if benches.is_empty() {
        return Err(format!("no function begins with {BENCH}; is the symbol table stripped?"));
    }
    if let Some(only) = only {
        benches.retain(|function| &function.name[BENCH.len()..] == only);
        if benches.is_empty() {
            return Err(format!("there is no bench {only}; there are {names}"));
        }
    }
    Ok(benches)
}

/// Prepares, runs and counts one bench on a machine of its own.
fn bench(args: &Args, image: &Image, timing: FlashTiming, function: &Function) -> Result<Bench, Failure> {
    let name = &function.name[BENCH.len()..];
    let mut machine = Machine::new(image, args.core, timing);
    let call = |machine: &mut Machine, function: &Function| {
        let run = machine.call(function, [0; 4]);
        run.map_err(|fault| Failure::failed(format!("{} on {}: {fault}", function.name, args.core)))
    };
    if let Some(prepare) = image.function(&format!("{PREPARE}{name}")) {
        call(&mut machine, prepare)?;
    }
    if args.profile {
        machine.follow();
    }
    let run = call(&mut machine, function)?;
    if run.result != 0 {
        let result = run.result;
        return Err(Failure::failed(format!(
            "{} returned {result}, not 0: it did not do its work",
            function.name
        )));
    }
    Ok(Bench::new(name, &run, machine.profile()))
}

impl Bench {
    fn new(name: &str, run: &Run, profile: Vec<FunctionProfile>) -> Self {
        let row = |row: FunctionProfile| Row {
            function: row.name,
            calls: row.calls,
            cycles: row.cycles,
            instructions: row.instructions,
            stack_bytes: row.stack,
        };
        Self {
            name: name.to_owned(),
            cycles: run.cycles,
            instructions: run.instructions,
            cycles_per_instruction: ratio(run.cycles, run.instructions),
            stack_bytes: run.stack,
            loads: run.loads,
            stores: run.stores,
            multiplications: run.multiplications,
            branches_taken: run.branches_taken,
            profile: profile.into_iter().map(row).collect(),
        }
    }
}

impl Report {
    fn print(&self) -> anyhow::Result<()> {
        let [next, other] = self.flash_wait;
        let mut about = Table::without_heading();
        about.figure("core", &self.core, "");
        about.figure("flash line", &self.flash_line_bytes, "bytes");
        about.figure("flash wait", &format!("{next},{other}"), "cycles");
        about.figure("flash", &self.flash_bytes, "bytes");
        about.figure("RAM", &self.ram_bytes, "bytes, without stack");
        about.print()?;
        report::print(b"\n")?;
        let mut table = Table::new([
            "bench",
            "cycles",
            "instructions",
            "CPI",
            "stack",
            "loads",
            "stores",
            "multiplications",
        ]);
        for bench in &self.benches {
            table.row([
                bench.name.clone(),
                bench.cycles.to_string(),
                bench.instructions.to_string(),
                format!("{:.2}", bench.cycles_per_instruction),
                bench.stack_bytes.to_string(),
                bench.loads.to_string(),
                bench.stores.to_string(),
                bench.multiplications.to_string(),
            ]);
        }
        table.print()?;
        self.benches.iter().filter(|bench| !bench.profile.is_empty()).try_for_each(Bench::print_profile)
    }
}

impl Bench {
    fn print_profile(&self) -> anyhow::Result<()> {
        report::print(b"\n")?;
        let mut table = Table::new([self.name.as_str(), "calls", "cycles", "%", "instructions", "stack"]);
        for row in self.profile.iter().take(SHOWN) {
            table.row([
                row.function.clone(),
                row.calls.to_string(),
                row.cycles.to_string(),
                format!("{:.1}", 100.0 * ratio(row.cycles, self.cycles)),
                row.instructions.to_string(),
                row.stack_bytes.to_string(),
            ]);
        }
        table.print()
    }
}

/// The share of counts, which are far below what a float holds exactly.
#[allow(clippy::cast_precision_loss)]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}
