//! What people read in Home Assistant: names of devices and of what they measure.

use super::units::last_part;

/// Letters of a name that people are shown.
const MAX_NAME: usize = 100;
/// An identifier such as `10e2073a01080063` has at least so many digits.
const IDENTIFIER: usize = 8;
/// How people write what names write otherwise.
const WORDS: &[(&str, &str)] = &[
    ("bat", "battery"),
    ("batt", "battery"),
    ("co", "CO"),
    ("co2", "CO₂"),
    ("hum", "humidity"),
    ("id", "ID"),
    ("lqi", "LQI"),
    ("n2o", "N₂O"),
    ("no2", "NO₂"),
    ("o3", "ozone"),
    ("ph", "pH"),
    ("pm1", "PM1"),
    ("pm10", "PM10"),
    ("pm2.5", "PM2.5"),
    ("pm25", "PM2.5"),
    ("pm4", "PM4"),
    ("rh", "humidity"),
    ("rssi", "RSSI"),
    ("snr", "SNR"),
    ("so2", "SO₂"),
    ("temp", "temperature"),
    ("tvoc", "VOC"),
    ("uv", "UV"),
    ("voc", "VOC"),
];

/// What a person calls a thing with this SenML name and this class of device: `Temperature` for
/// `urn:dev:ow:10e2073a01080063_temp`, and for `t` if it is one. Nothing, if the name is none.
pub(super) fn entity_name(name: &str, class: Option<&str>) -> Option<String> {
    let words = words(last_part(name));
    let is_short = words.iter().map(|word| word.chars().count()).sum::<usize>() <= 2;
    let is_known = words.iter().any(|word| known(word).is_some());
    if words.is_empty() || (is_short && !is_known) {
        if let Some(class) = class {
            let class = known(class).map_or_else(|| class.replace('_', " "), str::to_owned);
            return Some(begun_large(&class));
        }
        return Some(begun_large(&shown(last_part(name)))).filter(|name| !name.is_empty());
    }
    let words: Vec<&str> = words.iter().map(|word| known(word).unwrap_or(word)).collect();
    Some(begun_large(&shown(&words.join(" "))))
}

/// What a person calls the device that a topic is: `Building 3 air` for `building/3/air`.
pub(super) fn topic_name(name: &str) -> String {
    let levels: Vec<&str> = name.split('/').filter(|level| !level.is_empty()).collect();
    if levels.is_empty() { shown(name) } else { begun_large(&shown(&levels.join(" "))) }
}

/// A text for people, not too long, without what moves a cursor.
pub(super) fn shown(name: &str) -> String {
    let plain: String = name.chars().filter(|letter| !letter.is_control()).take(MAX_NAME).collect();
    plain.trim().to_owned()
}

fn known(word: &str) -> Option<&'static str> {
    let word = word.to_lowercase();
    WORDS.iter().find(|(known, _)| *known == word).map(|(_, text)| *text)
}

/// The words of a name; an identifier of a device before them is none (RFC 9039).
fn words(part: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for piece in part.split(['_', '-', ' ']).filter(|piece| !piece.is_empty()) {
        let is_identifier = piece.len() >= IDENTIFIER && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
        if words.is_empty() && is_identifier {
            continue;
        }
        // pH is one word.
        match known(piece) {
            Some(_) => words.push(piece.to_owned()),
            None => words.extend(parts_of_camel_case(piece)),
        }
    }
    words
}

/// `outdoorTemp` is two words, `CO2` is one.
fn parts_of_camel_case(piece: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = None;
    for letter in piece.chars() {
        if letter.is_uppercase() && before.is_some_and(char::is_lowercase) {
            words.push(String::new());
        }
        before = Some(letter);
        if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    if let Some((_, later)) = words.split_first_mut() {
        for word in later.iter_mut().filter(|word| word.chars().skip(1).all(char::is_lowercase)) {
            *word = word.to_lowercase();
        }
    }
    words
}

fn begun_large(text: &str) -> String {
    // pH is written so at the beginning, too.
    if text.starts_with("pH") {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_a_person_would_choose() {
        let names = [
            ("t", Some("temperature"), Some("Temperature")),
            ("urn:dev:ow:10e2073a01080063", Some("temperature"), Some("Temperature")),
            ("urn:dev:ow:10e2073a01080063", None, Some("10e2073a01080063")),
            ("urn:dev:ow:10e2073a01080063_temp", Some("temperature"), Some("Temperature")),
            ("urn:dev:mac:0024befffe804ff1:supply_voltage", Some("voltage"), Some("Supply voltage")),
            ("co2", Some("carbon_dioxide"), Some("CO₂")),
            ("outdoorTemp", Some("temperature"), Some("Outdoor temperature")),
            ("rssi", Some("signal_strength"), Some("RSSI")),
            ("pm2.5", Some("pm25"), Some("PM2.5")),
            ("pH", Some("ph"), Some("pH")),
            ("open", None, Some("Open")),
            ("x", None, Some("X")),
            ("x", Some("carbon_dioxide"), Some("Carbon dioxide")),
            ("", None, None),
            ("\u{1b}[31mred", None, Some("[31mred")),
        ];
        for (name, class, wanted) in names {
            assert_eq!(entity_name(name, class).as_deref(), wanted, "{name}");
        }
        for (name, wanted) in [("building/3/air", "Building 3 air"), ("/", "/"), ("ü", "Ü"), ("a//b", "A b")]
        {
            assert_eq!(topic_name(name), wanted);
        }
    }
}
