//! `motemix-lab air`: emulated boards and processes in one radio channel.

use crate::cli::Air as Args;
use crate::commands::link_keys::LinkKeys;
use crate::failure::Failure;
use crate::report::{self, Table};
use motemix_air::channel::{Loss, Settings};
use motemix_air::server::{AirError, Report, Server, Setup};
use motemix_host::link::key_log::VARIABLE;
use std::os::unix::net::UnixStream;

pub fn air(args: &Args) -> Result<(), Failure> {
    let loss = Loss::from_probability(args.loss)
        .ok_or_else(|| Failure::broken(format!("--loss {}: a probability is between 0 and 1", args.loss)))?;
    let stop = on_interrupt()?;
    let mut server = Server::open(&Setup {
        dir: args.dir.clone().unwrap_or_default(),
        stations: args.stations.clone(),
        channel: Settings { loss, ..Settings::default() },
        seed: args.seed,
        capture: args.pcap.clone(),
        zep: args.zep,
    })
    .map_err(failure)?;
    say_where(args, &server)?;
    server.run(&stop).map_err(failure)?;
    let report = server.report();
    Ok(if args.json { report::print_json(&report) } else { table(&report).print() }?)
}

/// What the user gave is broken, or the system failed.
fn failure(error: AirError) -> Failure {
    match error {
        AirError::Name(_) | AirError::InUse { .. } | AirError::NoSocket { .. } => Failure::broken(error),
        _ => Failure::failed(error),
    }
}

/// On stderr if stdout is to be JSON; whoever waits for "ready" finds it on stdout, alone on its
/// line.
fn say_where(args: &Args, server: &Server) -> Result<(), Failure> {
    let sockets =
        server.sockets().map(|(_, line, console)| format!("{}  {}\n", line.display(), console.display()));
    let zep = server.zep().map(|address| format!("ZEP {address}\n"));
    let keys = args.pcap.as_deref().map(|capture| {
        let (folder, capture) = (LinkKeys::folder_of(capture), capture.display());
        format!("{capture}  hosts with {VARIABLE}={} write the keys beside it\n", folder.display())
    });
    let places: String = sockets.chain(zep).chain(keys).collect();
    if args.json {
        eprint!("{places}");
    } else {
        report::print(places.as_bytes())?;
    }
    Ok(report::print(b"ready\n")?)
}

/// A socket that can be read after Ctrl-C or SIGTERM.
fn on_interrupt() -> Result<UnixStream, Failure> {
    let failed = |error| Failure::failed(format!("cannot listen for signals: {error}"));
    let (stop, raised) = UnixStream::pair().map_err(failed)?;
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let raised = raised.try_clone().map_err(failed)?;
        signal_hook::low_level::pipe::register(signal, raised).map_err(failed)?;
    }
    Ok(stop)
}

fn table(report: &Report) -> Table {
    let mut table = Table::new([
        "station",
        "frames",
        "acknowledged",
        "retries",
        "access failures",
        "collisions",
        "lost",
        "received",
        "airtime ms",
    ]);
    let stations = report.stations.iter().map(|station| (station.name.as_str(), &station.channel));
    let zep = report.zep.iter().map(|zep| ("(ZEP)", &zep.channel));
    for (name, counters) in stations.chain(zep) {
        let drops = counters.drops;
        let figures = [
            counters.frames,
            counters.acknowledged,
            counters.retries,
            counters.channel_busy,
            counters.collisions,
            drops.lost + drops.collided + drops.deaf,
            counters.received,
        ];
        let airtime = format!("{:.3}", counters.airtime.as_secs_f64() * 1e3);
        let figures = figures.iter().map(ToString::to_string);
        table.row([name.to_owned()].into_iter().chain(figures).chain([airtime]));
    }
    table
}
