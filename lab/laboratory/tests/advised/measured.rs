//! What a network did that was told what a plan says.

#![allow(clippy::cast_precision_loss, reason = "counts are far below 2⁵³")]

/// Means of so many parts of a measurement say how certain the mean of all is: neighbouring
/// messages share their pulls.
const PARTS: usize = 20;
/// IPv4 and UDP.
const HEADERS: u64 = 28;
/// What a link of 1,500 bytes takes behind an IPv4 header of 20.
const FRAGMENT: u64 = 1480;

/// Means of a network.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub messages: usize,
    /// From application to application.
    pub latency_s: f64,
    /// Its standard error.
    pub error_s: f64,
    /// Of one client, both ways, with headers.
    pub bytes_per_s: f64,
}

impl Measured {
    /// From how long each message took, and what all clients sent and got in so many seconds.
    pub fn of(took: &[f64], bytes: u64, clients: usize, seconds: f64) -> Self {
        let (latency_s, error_s) = mean_and_error(took);
        Self {
            messages: took.len(),
            latency_s,
            error_s,
            bytes_per_s: bytes as f64 / seconds / clients as f64,
        }
    }
}

/// The standard error is that of the means of parts.
fn mean_and_error(took: &[f64]) -> (f64, f64) {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let parts: Vec<f64> = took.chunks(took.len().div_ceil(PARTS)).map(mean).collect();
    let of_all = mean(took);
    let squares = parts.iter().map(|part| (part - of_all).powi(2)).sum::<f64>();
    let count = parts.len() as f64;
    (of_all, (squares / (count - 1.0) / count).sqrt())
}

/// Bytes of a datagram with headers. Each fragment has a header of IPv4.
pub fn on_link(len: usize) -> u64 {
    let len = len as u64;
    let fragments = (len + 8).div_ceil(FRAGMENT);
    len + HEADERS + (fragments - 1) * 20
}
