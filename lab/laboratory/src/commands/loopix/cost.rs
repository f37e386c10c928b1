//! `motemix-lab loopix cost`.

use super::rows::write_csv;
use crate::cli::LoopixCost as Args;
use crate::failure::Failure;
use crate::report::{self, Table};
use motemix_lab::loopix::study::cost::{Client, Cost, PACKET_LEN, POUNDS_PER_MB, TABLE, truncated};

pub fn cost(args: &Args) -> Result<(), Failure> {
    let rates = if args.rates.is_empty() { TABLE.map(|row| row.rate).to_vec() } else { args.rates.clone() };
    let of = |rate| Client { rate, packet_len: args.packet_length, price: args.price }.cost();
    let costs: Vec<Cost> = rates.into_iter().map(of).collect();
    if let Some(path) = &args.csv {
        write_csv(path, &costs)?;
    }
    if args.json {
        return Ok(report::print_json(&costs)?);
    }
    // The printed table is of one packet length and one price.
    #[allow(clippy::float_cmp, reason = "the same constant, or another one")]
    let is_printed = args.packet_length == PACKET_LEN && args.price == POUNDS_PER_MB;
    let mut table = Table::new(["λ, 1/s", "delay, s", "MiB/month", "price/month", "dissertation"]);
    for cost in costs {
        #[allow(clippy::float_cmp, reason = "the same constant, or another one")]
        let printed = TABLE.iter().find(|printed| is_printed && printed.rate == cost.rate);
        let two = |value: f64| format!("{:.2}", truncated(value, 2));
        table.row([
            cost.rate.to_string(),
            two(cost.delay_s),
            two(cost.mib_per_month),
            two(cost.price_per_month),
            printed.map_or_else(String::new, |printed| {
                format!("{}; {:.2}; {:.2}", printed.delay_s, printed.mib_per_month, printed.price_per_month)
            }),
        ]);
    }
    Ok(table.print()?)
}
