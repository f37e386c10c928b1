//! Amounts of data, alone and in a time: `1GiB/month`, `500MB/day`, `33kB/s`.

/// Bytes of each unit.
const UNITS: [(&str, f64); 10] = [
    ("B", 1.0),
    ("kB", 1e3),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
];

/// Seconds of each time; a month has 30 days.
const TIMES: [(&str, f64); 12] = [
    ("s", 1.0),
    ("second", 1.0),
    ("min", 60.0),
    ("minute", 60.0),
    ("h", 3600.0),
    ("hour", 3600.0),
    ("d", 86_400.0),
    ("day", 86_400.0),
    ("w", 604_800.0),
    ("week", 604_800.0),
    ("month", 2_592_000.0),
    ("mo", 2_592_000.0),
];

/// Bytes a second.
pub fn rate(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text} is no amount of data in a time; write it as 1GiB/month or 500MB/day");
    let (amount, time) = text.split_once('/').ok_or_else(wrong)?;
    let digits = amount.find(|letter: char| !letter.is_ascii_digit() && letter != '.').ok_or_else(wrong)?;
    let (number, unit) = amount.split_at(digits);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let found = UNITS.iter().find(|(known, _)| *known == unit.trim()).map(|(_, bytes)| *bytes);
    let unit = found.ok_or_else(|| {
        format!("there is no unit {}; there are {}", unit.trim(), UNITS.map(|(name, _)| name).join(", "))
    })?;
    let rate = number * unit / seconds(time)?;
    if rate.is_finite() && rate > 0.0 { Ok(rate) } else { Err(wrong()) }
}

/// How often something happens, in a second: `12/hour`.
pub fn often(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text} is no number in a time; write it as 12/hour or 0.5/s");
    let (number, time) = text.split_once('/').ok_or_else(wrong)?;
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let rate = number / seconds(time)?;
    if rate.is_finite() && rate > 0.0 { Ok(rate) } else { Err(wrong()) }
}

fn seconds(time: &str) -> Result<f64, String> {
    let found = TIMES.iter().find(|(known, _)| *known == time.trim()).map(|(_, seconds)| *seconds);
    found.ok_or_else(|| {
        format!("there is no time {}; there are {}", time.trim(), TIMES.map(|(name, _)| name).join(", "))
    })
}

/// A number above zero.
pub fn positive(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    if number.is_finite() && number > 0.0 { Ok(number) } else { Err(format!("{text} is not above zero")) }
}

/// A number that is not below zero.
pub fn not_negative(text: &str) -> Result<f64, String> {
    if text.parse() == Ok(0.0) { Ok(0.0) } else { positive(text) }
}

/// Packets a second, as many as a machine can send.
pub fn packets(text: &str) -> Result<f64, String> {
    let number = positive(text)?;
    if (1e-6..=1e6).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{text} is no rate of packets; it is from 0.000001 to 1000000 a second"))
    }
}

/// The same, or none.
pub fn packets_or_none(text: &str) -> Result<f64, String> {
    if text.parse() == Ok(0.0) { Ok(0.0) } else { packets(text) }
}

/// A number from zero to one.
pub fn share(text: &str) -> Result<f64, String> {
    let number = not_negative(text)?;
    if number <= 1.0 { Ok(number) } else { Err(format!("{text} is more than one")) }
}

/// The same, of what must not be everything.
pub fn part(text: &str) -> Result<f64, String> {
    let number = share(text)?;
    if number <= 0.5 { Ok(number) } else { Err(format!("{text} is more than a half")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_people_write_them() {
        for (text, expected) in [
            ("1GiB/month", 1_073_741_824.0 / 2_592_000.0),
            ("500MB/day", 5e8 / 86_400.0),
            ("33 kB/s", 33_000.0),
            ("1.5 MiB / hour", 1.5 * 1_048_576.0 / 3600.0),
        ] {
            assert!((rate(text).unwrap() / expected - 1.0).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn rates_are_read_as_people_write_them() {
        assert!((often("12/hour").unwrap() * 300.0 - 1.0).abs() < 1e-12);
        assert!((often("0.5 / s").unwrap() - 0.5).abs() < 1e-12);
        for (text, word) in
            [("12", "12/hour"), ("x/hour", "0.5/s"), ("0/s", "no number"), ("1/year", "month")]
        {
            let found = often(text).unwrap_err();
            assert!(found.contains(word), "{text}: {found}");
        }
    }

    #[test]
    fn what_is_no_amount_is_explained() {
        for (text, word) in [
            ("1GiB", "1GiB/month"),
            ("GiB/month", "500MB/day"),
            ("1gib/month", "GiB"),
            ("1GiB/year", "month"),
            ("0B/s", "no amount"),
            ("", "no amount"),
        ] {
            let found = rate(text).unwrap_err();
            assert!(found.contains(word), "{text}: {found}");
        }
        assert!(packets("1e300").is_err() && packets("0").is_err() && packets("0.5").is_ok());
        assert!(packets_or_none("1e7").is_err() && packets_or_none("0").is_ok());
        assert!(
            share("1.1").is_err()
                && share("0").is_ok()
                && part("0.6").is_err()
                && positive("0").is_err()
                && positive("x").is_err()
        );
    }
}
