//! Units of SenML as Home Assistant has them.

/// What Home Assistant is told of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantity {
    /// Which kind of sensor it is.
    pub device_class: Option<&'static str>,
    /// Its unit, as Home Assistant writes it.
    pub unit: Option<&'static str>,
    /// Whether it is a value of now or a sum.
    pub state_class: &'static str,
}

const MEASUREMENT: &str = "measurement";
const INCREASING: &str = "total_increasing";

/// SenML's unit (RFC 8428, 12.1, and RFC 8798), Home Assistant's unit, its class of device, and its
/// class of state. The pairs are those of Home Assistant 2026.11.
const UNITS: &[(&str, &str, &str, &str)] = &[
    ("A", "A", "current", MEASUREMENT),
    ("B", "B", "data_size", MEASUREMENT),
    ("Cel", "°C", "temperature", MEASUREMENT),
    ("%EL", "%", "battery", MEASUREMENT),
    ("EL", "s", "duration", MEASUREMENT),
    ("GB", "GB", "data_size", MEASUREMENT),
    ("Hz", "Hz", "frequency", MEASUREMENT),
    ("J", "J", "energy", INCREASING),
    ("K", "K", "temperature", MEASUREMENT),
    ("KiB", "KiB", "data_size", MEASUREMENT),
    ("%RH", "%", "humidity", MEASUREMENT),
    ("MB", "MB", "data_size", MEASUREMENT),
    ("MB/s", "MB/s", "data_rate", MEASUREMENT),
    ("Mbit/s", "Mbit/s", "data_rate", MEASUREMENT),
    ("MHz", "MHz", "frequency", MEASUREMENT),
    ("MJ", "MJ", "energy", INCREASING),
    ("Pa", "Pa", "pressure", MEASUREMENT),
    ("V", "V", "voltage", MEASUREMENT),
    ("VA", "VA", "apparent_power", MEASUREMENT),
    ("W", "W", "power", MEASUREMENT),
    ("W/m2", "W/m²", "irradiance", MEASUREMENT),
    ("Wh", "Wh", "energy", INCREASING),
    ("Wh/km", "Wh/km", "energy_distance", MEASUREMENT),
    ("bit", "bit", "data_size", MEASUREMENT),
    ("bit/s", "bit/s", "data_rate", MEASUREMENT),
    ("B/s", "B/s", "data_rate", MEASUREMENT),
    ("cm", "cm", "distance", MEASUREMENT),
    ("dBm", "dBm", "signal_strength", MEASUREMENT),
    ("g", "g", "weight", MEASUREMENT),
    ("h", "h", "duration", MEASUREMENT),
    ("hPa", "hPa", "pressure", MEASUREMENT),
    ("kB", "kB", "data_size", MEASUREMENT),
    ("kHz", "kHz", "frequency", MEASUREMENT),
    ("kVA", "kVA", "apparent_power", MEASUREMENT),
    ("kW", "kW", "power", MEASUREMENT),
    ("kWh", "kWh", "energy", INCREASING),
    ("kg", "kg", "weight", MEASUREMENT),
    ("km", "km", "distance", MEASUREMENT),
    ("km/h", "km/h", "speed", MEASUREMENT),
    ("kvar", "kvar", "reactive_power", MEASUREMENT),
    ("kvarh", "kvarh", "reactive_energy", INCREASING),
    ("l", "L", "volume_storage", MEASUREMENT),
    ("l/s", "L/s", "volume_flow_rate", MEASUREMENT),
    ("lx", "lx", "illuminance", MEASUREMENT),
    ("m", "m", "distance", MEASUREMENT),
    ("m2", "m²", "area", MEASUREMENT),
    ("m/s", "m/s", "speed", MEASUREMENT),
    ("m3", "m³", "volume_storage", MEASUREMENT),
    ("m3/s", "m³/s", "volume_flow_rate", MEASUREMENT),
    ("mA", "mA", "current", MEASUREMENT),
    ("mV", "mV", "voltage", MEASUREMENT),
    ("mm", "mm", "distance", MEASUREMENT),
    ("mm/h", "mm/h", "precipitation_intensity", MEASUREMENT),
    ("min", "min", "duration", MEASUREMENT),
    ("ms", "ms", "duration", MEASUREMENT),
    ("s", "s", "duration", MEASUREMENT),
    ("var", "var", "reactive_power", MEASUREMENT),
    ("varh", "varh", "reactive_energy", INCREASING),
];

/// Units that say little: what the name says decides, by its last part.
const NAMED: &[(&str, &str, &str, &str)] = &[
    ("%", "battery", "%", "battery"),
    ("%", "humidity", "%", "humidity"),
    ("%", "moisture", "%", "moisture"),
    ("/", "power_factor", "", "power_factor"),
    ("ppm", "co2", "ppm", "carbon_dioxide"),
    ("ppm", "carbon_dioxide", "ppm", "carbon_dioxide"),
    ("ppm", "co", "ppm", "carbon_monoxide"),
    ("ppm", "no2", "ppm", "nitrogen_dioxide"),
    ("ppm", "o3", "ppm", "ozone"),
    ("ppm", "ozone", "ppm", "ozone"),
    ("ppm", "voc", "ppm", "volatile_organic_compounds_parts"),
    ("ug/m3", "pm1", "μg/m³", "pm1"),
    ("ug/m3", "pm25", "μg/m³", "pm25"),
    ("ug/m3", "pm2.5", "μg/m³", "pm25"),
    ("ug/m3", "pm4", "μg/m³", "pm4"),
    ("ug/m3", "pm10", "μg/m³", "pm10"),
    ("ug/m3", "no2", "μg/m³", "nitrogen_dioxide"),
    ("ug/m3", "no", "μg/m³", "nitrogen_monoxide"),
    ("ug/m3", "n2o", "μg/m³", "nitrous_oxide"),
    ("ug/m3", "o3", "μg/m³", "ozone"),
    ("ug/m3", "ozone", "μg/m³", "ozone"),
    ("ug/m3", "so2", "μg/m³", "sulphur_dioxide"),
    ("ug/m3", "voc", "μg/m³", "volatile_organic_compounds"),
    ("Pa", "atmospheric_pressure", "Pa", "atmospheric_pressure"),
    ("hPa", "atmospheric_pressure", "hPa", "atmospheric_pressure"),
    ("mm", "rain", "mm", "precipitation"),
    ("m/s", "wind_speed", "m/s", "wind_speed"),
    ("km/h", "wind_speed", "km/h", "wind_speed"),
    ("deg", "wind_direction", "°", "wind_direction"),
    ("dB", "rssi", "dB", "signal_strength"),
    ("dB", "snr", "dB", "signal_strength"),
    ("m3", "water", "m³", "water"),
    ("m3", "gas", "m³", "gas"),
    ("l", "water", "L", "water"),
];

/// Units of the registry without a class: Home Assistant shows them as they stand here. Where the
/// registry spells a sign that people write otherwise, it is the sign.
const PLAIN: &[(&str, &str)] = &[
    ("%", "%"),
    ("/100", "%"),
    ("/1000", "‰"),
    ("1/min", "1/min"),
    ("1/s", "1/s"),
    ("Ah", "Ah"),
    ("Bq", "Bq"),
    ("Bspl", "Bspl"),
    ("C", "C"),
    ("F", "F"),
    ("Gy", "Gy"),
    ("H", "H"),
    ("J/m", "J/m"),
    ("N", "N"),
    ("NTU", "NTU"),
    ("Ohm", "Ω"),
    ("S", "S"),
    ("S/m", "S/m"),
    ("Sv", "Sv"),
    ("T", "T"),
    ("VAs", "VAs"),
    ("Wb", "Wb"),
    ("beat/min", "bpm"),
    ("beats", "beats"),
    ("cd", "cd"),
    ("cd/m2", "cd/m²"),
    ("count", "count"),
    ("dB", "dB"),
    ("dBW", "dBW"),
    ("deg", "°"),
    ("kVAh", "kVAh"),
    ("kat", "kat"),
    ("kg/m3", "kg/m³"),
    ("lat", "°"),
    ("lm", "lm"),
    ("lon", "°"),
    ("m/h", "m/h"),
    ("m/s2", "m/s²"),
    ("mol", "mol"),
    ("ppm", "ppm"),
    ("rad", "rad"),
    ("sr", "sr"),
    ("ug/m3", "μg/m³"),
    ("vars", "vars"),
];

/// What Home Assistant is told of a number with this unit and this name. A unit that is in no
/// registry is not shown: anybody could have written it.
pub fn quantity(unit: Option<&str>, name: &str) -> Quantity {
    let name = last_part(name).to_ascii_lowercase();
    let Some(unit) = unit else {
        return Quantity { device_class: None, unit: None, state_class: MEASUREMENT };
    };
    if unit == "pH" {
        return Quantity { device_class: Some("ph"), unit: None, state_class: MEASUREMENT };
    }
    if let Some((_, _, shown, class)) = NAMED.iter().find(|named| named.0 == unit && named.1 == name) {
        let state_class = match *class {
            "water" | "gas" => INCREASING,
            "wind_direction" => "measurement_angle",
            _ => MEASUREMENT,
        };
        let unit = Some(*shown).filter(|unit| !unit.is_empty());
        return Quantity { device_class: Some(class), unit, state_class };
    }
    if let Some((_, shown, class, state_class)) = UNITS.iter().find(|known| known.0 == unit) {
        return Quantity { device_class: Some(class), unit: Some(shown), state_class };
    }
    let shown = PLAIN.iter().find(|plain| plain.0 == unit).map(|plain| plain.1);
    Quantity { device_class: None, unit: shown, state_class: MEASUREMENT }
}

/// What people call it: behind the last colon or slash of a SenML name.
pub(super) fn last_part(name: &str) -> &str {
    name.rsplit([':', '/']).find(|part| !part.is_empty()).unwrap_or(name)
}
