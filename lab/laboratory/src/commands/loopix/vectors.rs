//! `motemix-lab loopix vectors`.

use crate::cli::LoopixVectors;
use crate::failure::Failure;
use crate::report::{self, Table};
use motemix_lab::loopix::vectors::{self, Report};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The longest file that is read, in bytes; the one in `vectors/` has little more than a million.
const LONGEST: u64 = 1 << 26;

pub fn vectors(args: &LoopixVectors) -> Result<(), Failure> {
    let name = args.file.display();
    let bytes = read(&args.file).map_err(|error| Failure::broken(format!("{name}: {error}")))?;
    let report = vectors::check(&bytes).map_err(|error| Failure::broken(format!("{name}: {error}")))?;
    if args.json {
        report::print_json(&in_json(&report))?;
    } else {
        print(&report)?;
    }
    match report.failures().count() {
        0 => Ok(()),
        failed => Err(Failure::failed(format!("{name}: {failed} of its values are not what is found here"))),
    }
}

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(std::io::Error::other(format!("has more than {LONGEST} bytes")));
    }
    Ok(bytes)
}

fn print(report: &Report) -> anyhow::Result<()> {
    let failures = report.failures().map(|failure| format!("{failure}\n"));
    let skipped = report.skipped().map(|name| format!("{name}: skipped, no check knows it\n"));
    let lines: String = failures.chain(skipped).collect();
    report::print(lines.as_bytes())?;
    let mut table = Table::new(["section", "passed", "failed", "skipped"]);
    for section in &report.sections {
        let counts = [section.passed, section.failures.len(), section.skipped.len()];
        table.row([section.name.clone()].into_iter().chain(counts.map(|count| count.to_string())));
    }
    table.print()?;
    let summary = format!("{} passed, {} failed\n", report.passed(), report.failures().count());
    report::print(summary.as_bytes())
}

fn in_json(report: &Report) -> Value {
    let sections = report.sections.iter().map(|section| {
        let (failed, skipped) = (section.failures.len(), section.skipped.len());
        json!({ "name": section.name, "passed": section.passed, "failed": failed, "skipped": skipped })
    });
    let failures = report.failures().map(|failure| json!({ "name": failure.name, "what": failure.what }));
    json!({
        "passed": report.passed(),
        "failed": report.failures().count(),
        "sections": sections.collect::<Vec<_>>(),
        "failures": failures.collect::<Vec<_>>(),
        "skipped": report.skipped().collect::<Vec<_>>(),
    })
}
