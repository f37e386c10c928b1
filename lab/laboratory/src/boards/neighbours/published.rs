//! What others say: the paper's tables, and the sizes of DTLS.

use serde::Serialize;

/// IoT-CryptoDiet, section 7.1: a tick of Contiki-NG's clock is 1/128 s.
#[cfg(test)]
const TICKS_A_SECOND: f64 = 128.0;
/// What table 3 has for each second.
pub const PAPER_MILLIWATTS: f64 = 60.0;

/// A function in tables 1 and 3.
#[derive(Debug, Serialize)]
pub struct PaperFunction {
    pub name: &'static str,
    pub ticks: u32,
    pub seconds: f64,
    pub millijoules: f64,
}

/// Tables 1 and 3, in their order.
pub static FUNCTIONS: [PaperFunction; 6] = [
    PaperFunction { name: "ECC_GenKeyPair", ticks: 167, seconds: 1.305, millijoules: 78.3 },
    PaperFunction { name: "ECDH_GenSharedKey", ticks: 165, seconds: 1.289, millijoules: 77.34 },
    PaperFunction { name: "AES_Encrypt", ticks: 1, seconds: 0.007, millijoules: 0.42 },
    PaperFunction { name: "AES_Decrypt", ticks: 1, seconds: 0.007, millijoules: 0.42 },
    PaperFunction { name: "ECDSA_sign", ticks: 176, seconds: 1.375, millijoules: 82.5 },
    PaperFunction { name: "ECDSA_verify", ticks: 198, seconds: 1.547, millijoules: 92.82 },
];

/// An application in table 2, bytes: Contiki-NG, its drivers and its stack included.
#[derive(Debug, Serialize)]
pub struct PaperApplication {
    pub rom: u32,
    /// Its two columns of RAM, added.
    pub ram: u32,
}

/// Table 2, the native application.
pub const NATIVE: PaperApplication = PaperApplication { rom: 41_998, ram: 544 + 12_263 };
/// Table 2, the extended application.
pub const EXTENDED: PaperApplication = PaperApplication { rom: 46_015, ram: 1_616 + 12_327 };

/// A handshake of which others published the bytes of each flight; the first is the initiator's.
#[derive(Debug, Serialize)]
pub struct Flights {
    pub name: &'static str,
    pub bytes: [usize; 3],
}

/// Where [`FLIGHTS`] are from.
pub const SOURCE: &str = "draft-ietf-iotops-security-protocol-comparison-08, figure 1 (CCM_8, P-256, ECDSA, \
                          connection identifiers); no cookie, nothing of UDP or IP";

/// Handshakes as [`SOURCE`] has them.
pub static FLIGHTS: [Flights; 3] = [
    Flights { name: "DTLS 1.3, raw public keys, ECDHE", bytes: [185, 454, 255] },
    Flights { name: "DTLS 1.3, compressed raw public keys, ECDHE", bytes: [185, 422, 223] },
    Flights { name: "DTLS 1.3, pre-shared key, ECDHE", bytes: [219, 226, 56] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_tables_follow_from_each_other() {
        for PaperFunction { name, ticks, seconds, millijoules } in &FUNCTIONS {
            assert!((f64::from(*ticks) / TICKS_A_SECOND - seconds).abs() < 1e-3, "{name}");
            assert!((seconds * PAPER_MILLIWATTS - millijoules).abs() < 0.01, "{name}");
        }
    }
}
