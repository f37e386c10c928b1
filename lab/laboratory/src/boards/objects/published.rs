//! RFC 8387, section 6: its tables.

use serde::Serialize;

/// A row of tables 1 to 8: a signature, or in table 1 an operation with an RSA private key.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Published {
    /// `None` for what stands in the text after table 8.
    pub table: Option<u8>,
    pub board: &'static str,
    pub library: &'static str,
    pub curve: &'static str,
    pub milliseconds: u32,
    /// "Memory footprint", bytes; tables 7 and 8 have none.
    pub memory: Option<u32>,
    /// Bits of an RSA key that is comparable; of table 1 its own.
    pub comparable_rsa: Option<u32>,
}

/// A row of table 9.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PublishedFlash {
    pub library: &'static str,
    /// Kilobytes, from and to.
    pub kilobytes: [f64; 2],
}

/// The boards, as the RFC calls them.
pub const UNO: &str = "Arduino Uno, 16 MHz";
pub const MEGA: &str = "Arduino Mega, 16 MHz";
pub const KL25Z: &str = "FRDM-KL25Z, Cortex-M0+, 48 MHz";
pub const F091: &str = "Nucleo F091, Cortex-M0, 48 MHz";

const fn row(
    table: u8,
    board: &'static str,
    library: &'static str,
    curve: &'static str,
    milliseconds: u32,
    memory: u32,
    comparable_rsa: u32,
) -> Published {
    let memory = if memory == 0 { None } else { Some(memory) };
    let comparable_rsa = Some(comparable_rsa);
    Published { table: Some(table), board, library, curve, milliseconds, memory, comparable_rsa }
}

const TINY: &str = "TinyECC, assembly";
const TINY_C: &str = "TinyECC, C";
const FAST: &str = "Relic, fast";
const SMALL: &str = "Relic, low memory";
const MBED_2: &str = "Mbed TLS, window 2";
const MBED_7: &str = "Mbed TLS, window 7";

/// Tables 1 to 8 in their order, then the signature of the text.
pub static SIGNATURES: [Published; 38] = [
    row(1, UNO, "AVRCryptoLib", "RSA-2048", 1_587_567, 1280, 2048),
    row(2, UNO, TINY, "secp160k1", 2228, 892, 1024),
    row(2, UNO, TINY, "secp160r1", 2250, 892, 1024),
    row(2, UNO, TINY, "secp160r2", 2467, 892, 1024),
    row(2, UNO, TINY, "secp192k1", 3425, 1008, 1536),
    row(2, UNO, TINY, "secp192r1", 3578, 1008, 1536),
    row(3, UNO, TINY_C, "secp160k1", 3795, 892, 1024),
    row(3, UNO, TINY_C, "secp160r1", 3841, 892, 1024),
    row(3, UNO, TINY_C, "secp160r2", 4118, 892, 1024),
    row(3, UNO, TINY_C, "secp192k1", 6091, 1008, 1536),
    row(3, UNO, TINY_C, "secp192r1", 6217, 1008, 1536),
    row(4, UNO, "Wiselib", "secp160k1", 10_957, 842, 1024),
    row(4, UNO, "Wiselib", "secp160r1", 10_972, 842, 1024),
    row(4, UNO, "Wiselib", "secp160r2", 10_971, 842, 1024),
    row(4, UNO, "Wiselib", "secp192k1", 18_814, 952, 1536),
    row(4, UNO, "Wiselib", "secp192r1", 18_825, 952, 1536),
    row(5, MEGA, FAST, "sect163k1, assembly", 261, 2804, 1024),
    row(5, MEGA, FAST, "sect163k1", 932, 2750, 1024),
    row(5, MEGA, FAST, "sect163r2", 2243, 2444, 1024),
    row(5, MEGA, FAST, "sect233k1", 1736, 3675, 2048),
    row(5, MEGA, FAST, "sect233r1", 4471, 3261, 2048),
    row(6, MEGA, SMALL, "sect163k1, assembly", 592, 2087, 1024),
    row(6, MEGA, SMALL, "sect163k1", 2950, 2215, 1024),
    row(6, MEGA, SMALL, "sect163r2", 3213, 2071, 1024),
    row(6, MEGA, SMALL, "sect233k1", 6450, 2935, 2048),
    row(6, MEGA, SMALL, "sect233r1", 6100, 2737, 2048),
    row(7, KL25Z, MBED_2, "secp192r1", 2165, 0, 1536),
    row(7, KL25Z, MBED_2, "secp224r1", 3014, 0, 2048),
    row(7, KL25Z, MBED_2, "secp256r1", 3649, 0, 2048),
    row(8, F091, MBED_7, "secp192k1", 291, 0, 1536),
    row(8, F091, MBED_7, "secp192r1", 225, 0, 1536),
    row(8, F091, MBED_7, "secp224k1", 375, 0, 2048),
    row(8, F091, MBED_7, "secp224r1", 307, 0, 2048),
    row(8, F091, MBED_7, "secp256k1", 486, 0, 2048),
    row(8, F091, MBED_7, "secp256r1", 459, 0, 2048),
    row(8, F091, MBED_7, "secp384r1", 811, 0, 7680),
    row(8, F091, MBED_7, "secp521r1", 1602, 0, 15_360),
    // 23,216,241 cycles, of Hutter and Schwabe.
    Published {
        table: None,
        board: MEGA,
        library: "NaCl for AVR",
        curve: "Ed25519",
        milliseconds: 1451,
        memory: None,
        comparable_rsa: None,
    },
];

/// Table 9.
pub static FLASH: [PublishedFlash; 5] = [
    PublishedFlash { library: "AVRCryptoLib", kilobytes: [3.6, 3.6] },
    PublishedFlash { library: "Wiselib", kilobytes: [16.0, 16.0] },
    PublishedFlash { library: "TinyECC", kilobytes: [18.0, 18.0] },
    PublishedFlash { library: "Relic-toolkit", kilobytes: [29.0, 29.0] },
    PublishedFlash { library: "NaCl Ed25519", kilobytes: [17.0, 29.0] },
];

/// Why no RSA was measured.
pub const NO_RSA: &str =
    "not measured: the crate `rsa` needs an allocator, which nothing of ours has on a board";

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8387, tables 1 to 8: how many rows each has, and the sum of its milliseconds.
    #[test]
    fn each_table_has_its_rows() {
        for (table, rows, milliseconds) in [
            (1, 1, 1_587_567),
            (2, 5, 13_948),
            (3, 5, 24_062),
            (4, 5, 70_539),
            (5, 5, 9_643),
            (6, 5, 19_305),
            (7, 3, 8_828),
            (8, 8, 4_556),
        ] {
            let of_table: Vec<_> = SIGNATURES.iter().filter(|row| row.table == Some(table)).collect();
            let sum: u32 = of_table.iter().map(|row| row.milliseconds).sum();
            assert_eq!((of_table.len(), sum), (rows, milliseconds), "table {table}");
        }
    }

    #[test]
    fn the_signature_of_the_text_takes_its_cycles_at_16_mhz() {
        let of_text = SIGNATURES.iter().find(|row| row.table.is_none()).unwrap();
        assert_eq!(23_216_241 / 16_000, of_text.milliseconds);
    }
}
