//! `motemix-lab loopix measure energy`.

use super::rows::{Day, mib, write_csv};
use crate::chart::{self, Lines, Point, Series, Style};
use crate::cli::LoopixEnergy as Args;
use crate::failure::Failure;
use crate::report::{self, Progress, Table};
use motemix_lab::loopix::study::energy::dissertation::{
    AT_ZERO, BATTERY, FITTED_GAP, FITTED_THREE_HOURS, PLATEAU, THREE_HOURS, long_recording, reckoned,
};
use motemix_lab::loopix::study::energy::radios::ALL;
use motemix_lab::loopix::study::energy::recording::{from_csv, from_pcap};
use motemix_lab::loopix::study::energy::traffic::{Client, Pull};
use motemix_lab::loopix::study::energy::{Packet, cost_to_rest};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde::Serialize;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// Rates of figure 4.1, three streams together, where the curve bends more often.
const RATES: [f64; 16] = [0.0, 0.06, 0.15, 0.24, 0.3, 0.6, 0.9, 1.2, 1.5, 2.1, 3.0, 4.2, 5.4, 6.6, 7.8, 9.0];
/// Recordings of three minutes at each rate.
const RECORDINGS: u32 = 10;
/// Packets a second of the recording of three hours.
const OF_THREE_HOURS: f64 = 1.5;

/// A client at one rate.
#[derive(Serialize)]
struct Row {
    rate: f64,
    reckoned_j: f64,
    reckoned_half_j: f64,
    umts_j: f64,
    lte_j: f64,
    nr_j: f64,
    bytes_per_day: f64,
    dissertation_j: Option<f64>,
}

/// The recording of three hours.
#[derive(Serialize)]
struct ThreeHours {
    dissertation_j: f64,
    three_hours_j: f64,
    fitted_length_s: f64,
    fitted_j: f64,
}

#[derive(Serialize)]
struct Report {
    rows: Vec<Row>,
    three_hours: ThreeHours,
    battery_j: f64,
}

/// What a file costs on one radio.
#[derive(Serialize)]
struct OfTrace {
    radio: &'static str,
    seconds: f64,
    joules: f64,
    watts: f64,
    awakenings: u64,
    bytes_up: u64,
    bytes_down: u64,
}

pub fn energy(args: &Args) -> Result<(), Failure> {
    if args.length < Duration::from_secs(60) || args.pull_every.is_zero() {
        return Err(Failure::broken("--length is a minute at least, and --pull-every more than nothing"));
    }
    match &args.trace {
        Some(path) => of_trace(args, path),
        None => of_clients(args),
    }
}

fn of_trace(args: &Args, path: &Path) -> Result<(), Failure> {
    let broken = |problem: &dyn std::fmt::Display| Failure::broken(format!("{}: {problem}", path.display()));
    let file = std::fs::read(path).map_err(|error| broken(&error))?;
    let trace: Vec<Packet> = if path.extension().is_some_and(|ending| ending == "pcap") {
        let client = args.client.ok_or_else(|| Failure::broken("a PCAP file needs --client ADDRESS"))?;
        from_pcap(&file, client).map_err(|error| broken(&error))?
    } else {
        let text = String::from_utf8(file).map_err(|_| broken(&"not text"))?;
        from_csv(&text).map_err(|error| broken(&error))?
    };
    let rows = ALL.map(|radio| {
        let bill = cost_to_rest(radio, trace.iter().copied());
        OfTrace {
            radio: radio.name,
            seconds: bill.until.as_secs_f64(),
            joules: bill.energy.joules(),
            watts: bill.watts(),
            awakenings: bill.awakenings,
            bytes_up: bill.bytes_up,
            bytes_down: bill.bytes_down,
        }
    });
    if let Some(path) = &args.csv {
        write_csv(path, &rows)?;
    }
    if args.json {
        return Ok(report::print_json(&rows)?);
    }
    let mut table = Table::new(["", "s until rest", "J", "mW", "awakenings", "bytes up", "bytes down"]);
    for row in rows {
        table.row([
            row.radio.into(),
            format!("{:.1}", row.seconds),
            format!("{:.2}", row.joules),
            format!("{:.1}", row.watts * 1e3),
            row.awakenings.to_string(),
            row.bytes_up.to_string(),
            row.bytes_down.to_string(),
        ]);
    }
    Ok(table.print()?)
}

fn of_clients(args: &Args) -> Result<(), Failure> {
    let rates = if args.rates.is_empty() { RATES.to_vec() } else { args.rates.clone() };
    let is_of_dissertation =
        args.pull_every.as_secs() == 10 && args.pull_packets == 50 && args.packet_length == 2079;
    let progress = Mutex::new((0, Progress::new(rates.len() as u64)));
    let rows = rates.par_iter().map(|rate| {
        let row = Row::new(client(args, *rate), *rate, args, is_of_dissertation);
        if let Ok(mut progress) = progress.lock() {
            progress.0 += 1;
            let done = progress.0;
            progress.1.at(done, &format!("{done} of {} rates", rates.len()));
        }
        row
    });
    let rows = rows.collect::<Vec<_>>();
    let (joules, _) = THREE_HOURS;
    let long = |length| long_recording(client(args, OF_THREE_HOURS), length, args.seed);
    let three_hours = ThreeHours {
        dissertation_j: joules,
        three_hours_j: long(Duration::from_secs(10_800)),
        fitted_length_s: FITTED_THREE_HOURS.as_secs_f64(),
        fitted_j: long(FITTED_THREE_HOURS),
    };
    if let Ok((_, progress)) = progress.into_inner() {
        progress.finish();
    }
    let report = Report { rows, three_hours, battery_j: BATTERY };
    if let Some(path) = &args.csv {
        write_csv(path, &report.rows)?;
    }
    if let Some(path) = &args.svg {
        chart::write(path, figure(&report.rows).draw())?;
    }
    if args.json {
        return Ok(report::print_json(&report)?);
    }
    print(&report, is_of_dissertation)
}

fn client(args: &Args, rate: f64) -> Client {
    let pull = Pull {
        every: args.pull_every,
        packets: args.pull_packets,
        answer_gap: FITTED_GAP,
        ..Client::of_dissertation(rate).pull
    };
    Client { packet_len: args.packet_length, pull, ..Client::of_dissertation(rate) }
}

impl Row {
    fn new(client: Client, rate: f64, args: &Args, is_of_dissertation: bool) -> Self {
        let as_reckoned = reckoned(client, RECORDINGS, args.seed);
        let Day { joules: [umts_j, lte_j, nr_j], bytes } =
            Day::of(client.seeded(args.length, args.seed), args.length);
        let known = [(0.0, AT_ZERO), (OF_THREE_HOURS, THREE_HOURS.1), (3.0, PLATEAU), (9.0, PLATEAU)];
        #[allow(clippy::float_cmp, reason = "the same constant, or another one")]
        let dissertation = known.into_iter().find(|(known, _)| is_of_dissertation && *known == rate);
        Self {
            rate,
            reckoned_j: as_reckoned.mean,
            reckoned_half_j: as_reckoned.half,
            umts_j,
            lte_j,
            nr_j,
            bytes_per_day: bytes,
            dissertation_j: dissertation.map(|(_, joules)| joules),
        }
    }
}

fn print(report: &Report, is_of_dissertation: bool) -> Result<(), Failure> {
    report::print(b"Joules of a day; the screen and the processor are not counted.\n")?;
    let mut table = Table::new([
        "sent, 1/s",
        "3G as reckoned",
        "± 95 %",
        "dissertation",
        "off",
        "3G",
        "LTE",
        "5G",
        "MiB/day",
    ]);
    for row in &report.rows {
        let whole = |joules: f64| format!("{joules:.0}");
        table.row([
            row.rate.to_string(),
            whole(row.reckoned_j),
            whole(row.reckoned_half_j),
            row.dissertation_j.map_or_else(String::new, whole),
            row.dissertation_j.map_or_else(String::new, |known| {
                format!("{:+.1} %", 100.0 * (row.reckoned_j / known - 1.0))
            }),
            whole(row.umts_j),
            whole(row.lte_j),
            whole(row.nr_j),
            mib(row.bytes_per_day),
        ]);
    }
    table.print()?;
    let ThreeHours { dissertation_j, three_hours_j, fitted_length_s, fitted_j } = report.three_hours;
    let how = format!(
        "\n\"As reckoned\": {RECORDINGS} recordings of 180 s, each until the radio rests, times 480, as in the dissertation.\n\
         The battery of a Nexus One has {:.0} J.\n",
        report.battery_j
    );
    report::print(how.as_bytes())?;
    if is_of_dissertation {
        let long = format!(
            "Three hours at {OF_THREE_HOURS}/s take {three_hours_j:.0} J. The dissertation has {dissertation_j:.0} J, which is {fitted_length_s:.0} s \
             of the same ({fitted_j:.0} J).\n"
        );
        report::print(long.as_bytes())?;
    }
    Ok(())
}

fn figure(rows: &[Row]) -> Lines {
    let series =
        |name: &str, colour, style, points: Vec<Point>| Series { name: name.into(), colour, style, points };
    let line = |joules: fn(&Row) -> f64| -> Vec<Point> {
        rows.iter().map(|row| Point { x: row.rate, y: joules(row), half: None }).collect()
    };
    let reckoned = rows.iter().map(|row| Point {
        x: row.rate,
        y: row.reckoned_j,
        half: Some(row.reckoned_half_j).filter(|half| half.is_finite()),
    });
    let known = rows.iter().filter_map(|row| Some(Point { x: row.rate, y: row.dissertation_j?, half: None }));
    let mut all = vec![
        series("3G, as the dissertation computes it", 1, Style::Solid, reckoned.collect()),
        series("stated in the dissertation", 1, Style::Hollow, known.collect()),
        series("3G", 0, Style::Solid, line(|row| row.umts_j)),
        series("LTE", 2, Style::Solid, line(|row| row.lte_j)),
        series("5G", 3, Style::Solid, line(|row| row.nr_j)),
    ];
    all.retain(|series| !series.points.is_empty());
    Lines {
        title: "Figure 4.8: energy of the radio in a day".into(),
        x: "packets sent in a second".into(),
        y: "joules a day".into(),
        log_x: false,
        log_y: false,
        series: all,
    }
}
