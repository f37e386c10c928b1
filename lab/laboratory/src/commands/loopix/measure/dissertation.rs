//! What the dissertation states in its chapter 4: its text has numbers for few of the points in its
//! figures.

/// Figure 4.2: messages a second of one mix from which on it does not forward more, in the network
/// of 4 + 6 nodes.
pub const MIX_BEST: f64 = 325.0;
/// Figure 4.3: "about half the throughput", with 8 + 18 nodes on the same machine.
pub const MIX_BEST_LARGE: f64 = MIX_BEST / 2.0;
/// Figure 4.6: the time between two requests for messages bounds the time that a message takes.
pub const PULL: f64 = 5.0;
/// Figure 4.7: the longest that a message took, in seconds.
pub const PULL_OVERLOADED: f64 = 25.0;

/// A time that a message took.
pub struct Latency {
    /// λ: packets of a client in a second.
    pub rate: f64,
    pub clients: u32,
    /// Mean and standard deviation in milliseconds, measured by clients in Java.
    pub java: (f64, f64),
    /// The same by clients in Python, where the text has it.
    pub python: Option<(f64, f64)>,
}

/// Figures 4.4 and 4.5. With λ = 8 and more than 50 clients it was more than 1,500 ms.
pub const LATENCIES: [Latency; 4] = [
    Latency { rate: 3.0, clients: 20, java: (18.09, 2.21), python: Some((20.87, 1.36)) },
    Latency { rate: 3.0, clients: 200, java: (27.44, 6.96), python: Some((30.49, 7.44)) },
    Latency { rate: 8.0, clients: 20, java: (19.35, 3.12), python: None },
    Latency { rate: 8.0, clients: 50, java: (27.33, 7.50), python: None },
];
