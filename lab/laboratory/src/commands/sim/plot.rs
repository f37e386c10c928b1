//! `motemix-lab sim plot`.

use crate::chart::{self, Lines, MOST_LINES, Point, Series, Style};
use crate::cli::SimPlot as Args;
use crate::failure::Failure;
use motemix_sim::sweep::interval;
use std::collections::BTreeMap;
use std::path::Path;

pub fn plot(args: &Args) -> Result<(), Failure> {
    let path = args.dir.join("runs.csv");
    let table = Table::read(&path)?;
    let chart =
        table.chart(args).map_err(|problem| Failure::broken(format!("{}: {problem}", path.display())))?;
    Ok(chart::write(&args.svg, chart.draw())?)
}

/// All runs of a sweep, as texts.
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Columns that were varied: those before the name of the scenario.
    varied: Vec<usize>,
}

impl Table {
    fn read(path: &Path) -> Result<Self, Failure> {
        let broken = |error: csv::Error| {
            Failure::broken(format!("{}: {error}; make it with motemix-lab sim sweep", path.display()))
        };
        let mut reader = csv::Reader::from_path(path).map_err(broken)?;
        let texts = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
        let columns = texts(reader.headers().map_err(broken)?);
        let rows = reader.records().map(|record| record.map(|record| texts(&record)));
        let rows = rows.collect::<Result<Vec<_>, _>>().map_err(broken)?;
        let name = columns.iter().position(|column| column == "name").unwrap_or(0);
        Ok(Self { varied: (1..name.max(1)).collect(), columns, rows })
    }

    fn column(&self, name: &str) -> Result<usize, String> {
        let names = || self.columns.iter().map(String::as_str);
        names().position(|column| column == name).ok_or_else(|| {
            let near = motemix_toml::nearest(name, names()).map(|near| format!("; perhaps {near}"));
            format!(
                "there is no column {name}{}",
                near.unwrap_or_else(|| format!("; there are {}", names().collect::<Vec<_>>().join(", ")))
            )
        })
    }

    fn chart(&self, args: &Args) -> Result<Lines, String> {
        let x = self.column(&args.x)?;
        let by = args.by.iter().map(|name| self.column(name)).collect::<Result<Vec<_>, _>>()?;
        let others: Vec<usize> = self.varied.iter().copied().filter(|column| *column != x).collect();
        let by = if by.is_empty() { others.clone() } else { by };
        let mut only = Vec::new();
        for condition in &args.only {
            let (name, value) = condition.split_once('=').ok_or("write --where as COLUMN=VALUE")?;
            only.push((self.column(name.trim())?, value.trim()));
        }
        // A mean over different conditions would be a number without a meaning.
        let mixed =
            others.iter().find(|column| !by.contains(column) && !only.iter().any(|(at, _)| at == *column));
        if let Some(column) = mixed {
            let name = &self.columns[*column];
            return Err(format!("{name} varies as well; add --by {name}, or --where {name}=VALUE"));
        }
        let rows: Vec<&Vec<String>> =
            self.rows.iter().filter(|row| only.iter().all(|(at, value)| row[*at] == *value)).collect();
        if rows.is_empty() {
            return Err("no run is left to draw".into());
        }
        let (positions, unit) = positions(rows.iter().map(|row| row[x].as_str()))
            .ok_or_else(|| format!("{} is not a number in every run", args.x))?;
        let mut series = Vec::new();
        for y in &args.y {
            let at = self.column(y)?;
            // Ordered as in the file, which is the order of the scenario's values.
            let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
            for (row, position) in rows.iter().zip(&positions) {
                // What was not measured is not zero.
                let Ok(value) = row[at].parse::<f64>() else { continue };
                let name = self.name_of(row, &by, y, args.y.len() > 1);
                match lines.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, values)) => values.push((*position, value)),
                    None => lines.push((name, vec![(*position, value)])),
                }
            }
            if lines.is_empty() {
                return Err(format!("{y} has no numbers"));
            }
            let begun = series.len();
            series.extend(lines.into_iter().enumerate().map(|(number, (name, values))| Series {
                name,
                colour: begun + number,
                style: Style::Solid,
                points: points(&values),
            }));
        }
        if series.len() > MOST_LINES {
            return Err(format!(
                "{} lines are more than can be told apart, which is {MOST_LINES}; leave some out with --where COLUMN=VALUE",
                series.len()
            ));
        }
        Ok(Lines {
            title: args.title.clone().unwrap_or_else(|| rows[0][self.column("name").unwrap_or(0)].clone()),
            x: format!("{}{unit}", args.x),
            y: args.y.join(", "),
            log_x: args.log_x,
            log_y: args.log_y,
            series,
        })
    }

    fn name_of(&self, row: &[String], by: &[usize], y: &str, says_y: bool) -> String {
        let settings = by.iter().map(|at| format!("{} {}", self.columns[*at], row[*at]));
        let parts: Vec<String> = says_y.then(|| y.to_owned()).into_iter().chain(settings).collect();
        if parts.is_empty() { y.to_owned() } else { parts.join(", ") }
    }
}

/// Numbers, or durations in seconds.
fn positions<'t>(texts: impl Iterator<Item = &'t str> + Clone) -> Option<(Vec<f64>, &'static str)> {
    let numbers: Option<Vec<f64>> = texts.clone().map(|text| text.parse().ok()).collect();
    let seconds = || texts.map(|text| humantime::parse_duration(text).ok().map(|time| time.as_secs_f64()));
    numbers.map(|numbers| (numbers, "")).or_else(|| Some((seconds().collect::<Option<Vec<_>>>()?, " (s)")))
}

fn points(values: &[(f64, f64)]) -> Vec<Point> {
    // Equal positions have equal bits; the order comes afterwards.
    let mut by_x: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (x, y) in values {
        by_x.entry((x + 0.0).to_bits()).or_default().push(*y);
    }
    let mut points: Vec<Point> = by_x
        .into_iter()
        .filter_map(|(x, values)| {
            let known = interval(&values)?;
            Some(Point { x: f64::from_bits(x), y: known.mean, half: known.half })
        })
        .collect();
    points.sort_by(|one, other| one.x.total_cmp(&other.x));
    points
}
