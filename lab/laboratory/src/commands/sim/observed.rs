//! What an observer knows, as a table; and `motemix-lab sim score`.

use crate::cli::SimScore as Args;
use crate::failure::Failure;
use crate::report::{self, Table};
use motemix_sim::{Anonymity, Findings, Guesses, Learned, judge_posteriors};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic;
use std::path::Path;

/// Adds what the observer of a run knows.
pub(super) fn rows(table: &mut Table, known: &Anonymity) {
    let Learned { there, round_trip, .. } = known.with_habits;
    // Who hears the acknowledgement go back knows more, and who remembers more still.
    for (name, guesses) in [
        ("from the way there", known.there),
        ("from the round trip", known.round_trip),
        ("from the way there, with habits", there),
        ("from the round trip, with habits", round_trip),
    ] {
        table.figure(&format!("sender's anonymity, {name}"), &format!("{:.2}", guesses.entropy_bits), "bits");
        measures(table, &guesses);
    }
    if let Some(matched) = known.with_habits.matched {
        table.figure("  first guess, by joint inference", &percent(matched.first_guess), "%");
    }
    let Some((named, by_chance)) = known.receivers_named.zip(known.receivers_by_chance) else { return };
    table.figure("receivers named after the run", &percent(named), "%");
    table.figure("  by chance", &percent(by_chance), "%");
    let all = known.messages_each.unwrap_or_default();
    named_after(table, [known.half_named_after, known.most_named_after], all);
    let Some(beside) = known.beside else { return };
    table.figure(
        "receivers named by who compares messages of one time",
        &percent(beside.receivers_named),
        "%",
    );
    named_after(table, [beside.half_named_after, beside.most_named_after], all);
}

/// Messages of a sender until receivers are named; none if all of them do not do.
fn named_after(table: &mut Table, after: [Option<f64>; 2], all: f64) {
    for (name, after) in ["half", "95 %"].iter().zip(after) {
        let after = after.map_or_else(|| format!("more than {all:.0}"), |after| format!("{after:.0}"));
        table.figure(&format!("  {name} named after"), &after, "messages of a sender");
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn measures(table: &mut Table, guesses: &Guesses) {
    table.figure("  first guess", &percent(guesses.first_guess), "%");
    table.figure("  one in twenty has less than", &format!("{:.2}", guesses.entropy_p5_bits), "bits");
    table.figure("  min-entropy", &format!("{:.2}", guesses.min_entropy_bits), "bits");
    for (epsilon, delta) in [guesses.delta_0, guesses.delta_1, guesses.delta_2].iter().enumerate() {
        table.figure(&format!("  δ at ε = {epsilon}"), &format!("{delta:.3}"), "");
    }
    table.figure("  calibration error", &percent(guesses.calibration_error), "%");
}

/// Where findings are written, and what of them.
pub(super) struct Output<'p> {
    pub posteriors: Option<&'p Path>,
    pub transfers: Option<&'p Path>,
}

impl Output<'_> {
    pub fn is_wanted(&self) -> bool {
        self.posteriors.is_some() || self.transfers.is_some()
    }

    /// Writes the files that are wanted.
    pub fn write(&self, findings: &Findings) -> Result<(), Failure> {
        let put = |path: Option<&Path>, write: &dyn Fn(&mut BufWriter<File>) -> io::Result<()>| {
            let Some(path) = path else { return Ok(()) };
            let written = File::create(path).map(BufWriter::new).and_then(|mut file| {
                write(&mut file)?;
                file.flush()
            });
            written.map_err(|error| super::run::cannot_write(path, &error))
        };
        put(self.posteriors, &|file| findings.write_posteriors(file))?;
        put(self.transfers, &|file| findings.write_transfers(file))
    }
}

#[derive(Serialize)]
struct Scored {
    messages: u64,
    #[serde(flatten)]
    guesses: Guesses,
}

pub fn score(args: &Args) -> Result<(), Failure> {
    // A damaged file is told of in one line, and not by the library's panic as well.
    let usual = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let judged = judge_posteriors(&args.file, &args.column);
    panic::set_hook(usual);
    let (messages, guesses) =
        judged.map_err(|error| Failure::broken(format!("{}: {error}", args.file.display())))?;
    if args.json {
        return Ok(report::print_json(&Scored { messages, guesses })?);
    }
    let mut table = Table::without_heading();
    table.figure("messages", &messages, "");
    table.figure("sender's anonymity", &format!("{:.2}", guesses.entropy_bits), "bits");
    measures(&mut table, &guesses);
    Ok(table.print()?)
}
