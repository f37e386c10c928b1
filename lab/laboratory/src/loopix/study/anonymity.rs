//! What Poisson mixes hide.
//!
//! A mix that holds each packet for an exponential time of mean 1/μ and gets λ packets a second
//! holds, at any time, a Poisson number of mean ρ = λ/μ: it is the queue M/M/∞. Exponential times
//! have no memory, so of the packets inside, each is the next to leave with the same probability,
//! whenever it came: that is all an observer of both sides knows, who sees when packets
//! come and go. Entropy in bits is the measure of what it does not know (Serjantov and Danezis, PET
//! 2002).
//!
//! [`entropy`] has the expected entropy of one mix in closed form, [`mix`] simulates one mix, and
//! [`network`] layers of them, some of which work for the observer. [`record`] is what the observer
//! notes and how it concludes, and [`measures`] has the measures of what it knows. [`rounds`] is
//! another design: rounds with noise.

pub mod measures;
pub mod mix;
pub mod network;
pub mod record;
pub mod rounds;

/// Expected entropy, in bits, of the question which of the packets that came is the one that just
/// left a mix with ρ = λ/μ.
///
/// E H = Σₙ e^−ρ ρⁿ/n! · ((n+1) log₂(n+1) − n log₂ n).
///
/// Whence: say the packet left k inside, itself included. If the last event before was the coming
/// of a packet, that packet is the one with probability 1/k, otherwise it is one of the k − 1 that
/// were there: this adds h(1/k) bits, h being the entropy of a yes or no. Backwards in time the
/// queue is itself again (Burke's theorem), so that the one packet stays an exponential time, the
/// number n of the others is Poisson all that time and independent of it, and while it is
/// there packets come, backwards, at the rate μ (n+1). On average that is (n+1) h(1/(n+1)) for each
/// packet, which is the term of the sum.
///
/// For large ρ it is log₂(eρ), the anonymity of the exponential mix by Danezis, "The traffic
/// analysis of continuous-time mixes", PET 2004. Zero of a ρ that is not positive.
pub fn entropy(pool: f64) -> f64 {
    expected(pool, |others| {
        let x_log_x = |x: f64| if x > 0.0 { x * libm::log2(x) } else { 0.0 };
        x_log_x(others + 1.0) - x_log_x(others)
    })
}

/// log₂(eρ): what [`entropy`] tends to.
pub fn entropy_of_large(pool: f64) -> f64 {
    libm::log2(pool * std::f64::consts::E)
}

/// Bits to know which packet leaves the last of some layers of `width` mixes, for large ρ.
///
/// The time that a packet takes is the sum of exponential ones: Gamma(n, μ) for n layers. Packets
/// leave the last layer at the rate λ · width. If they are many, each that leaves after a time t is
/// the target with probability f(t)/(λ · width), f being the density, and the entropy is
/// log₂(ρ · width) + h, where h = n + ln (n−1)! + (1−n) ψ(n), in nats, is that of the Gamma
/// distribution. Of one layer it is log₂(eρ), since the observer sees which mix the packet enters.
pub fn entropy_of_layers(pool: f64, width: u32, layers: u32) -> f64 {
    const EULER: f64 = 0.577_215_664_901_532_9;
    let shape = f64::from(layers);
    let digamma = (1..layers).map(|k| 1.0 / f64::from(k)).sum::<f64>() - EULER;
    let nats = shape + libm::lgamma(shape) + (1.0 - shape) * digamma;
    let mixes = if layers > 1 { width } else { 1 };
    libm::log2(pool * f64::from(mixes)) + nats * std::f64::consts::LOG2_E
}

/// Expected log₂ of how many packets are in the mix when one leaves, itself included: what an
/// observer does not know who also knows which packets are inside. Less than [`entropy`], which
/// also counts that it does not.
pub fn entropy_of_number(pool: f64) -> f64 {
    expected(pool, |others| libm::log2(others + 1.0))
}

/// The ρ for which [`entropy`] is so many bits.
pub fn pool_for(bits: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while entropy(high) < bits && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if entropy(middle) < bits { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The expectation of something of a Poisson number.
fn expected(mean: f64, mut of: impl FnMut(f64) -> f64) -> f64 {
    if mean <= 0.0 {
        return 0.0;
    }
    // Beyond, the probabilities together are below 1e-15.
    let reach = 10.0 * libm::sqrt(mean) + 40.0;
    let first = libm::floor((mean - reach).max(0.0));
    let mut sum = 0.0;
    let mut number = first;
    let mut probability = libm::exp(number * libm::log(mean) - mean - libm::lgamma(number + 1.0));
    while number < mean + reach {
        sum += probability * of(number);
        number += 1.0;
        probability *= mean / number;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another way to the same number: g(n), the expected entropy when the mix holds n, solves
    /// (ρ+n) g(n) = n h(1/n) + (n−1) g(n−1) + ρ g(n+1), g(0) = 0: what comes and what goes balance.
    fn by_balance(pool: f64) -> f64 {
        const SIZE: usize = 400;
        let binary = |p: f64| {
            let part = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
            part(p) + part(1.0 - p)
        };
        // Elimination from below: g(n) = a(n) g(n+1) + b(n).
        let (mut a, mut b) = (vec![0.0; SIZE], vec![0.0; SIZE]);
        for n in 1..SIZE {
            let x = f64::from(u16::try_from(n).unwrap());
            let pivot = pool + x - (x - 1.0) * a[n - 1];
            a[n] = pool / pivot;
            b[n] = (x * binary(1.0 / x) + (x - 1.0) * b[n - 1]) / pivot;
        }
        let mut g = vec![0.0; SIZE];
        // So far up it hardly changes any more.
        g[SIZE - 1] = b[SIZE - 1] / (1.0 - a[SIZE - 1]);
        for n in (1..SIZE - 1).rev() {
            g[n] = a[n] * g[n + 1] + b[n];
        }
        // Whoever leaves sees the others as they are at any time.
        let mut g = g.into_iter().skip(1);
        let mut at = -1.0;
        expected(pool, |others| {
            let mut value = 0.0;
            while at < others {
                (at, value) = (at + 1.0, g.next().unwrap_or(0.0));
            }
            value
        })
    }

    #[test]
    fn the_closed_form_solves_the_equations_of_balance() {
        for pool in [0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0] {
            let (closed, solved) = (entropy(pool), by_balance(pool));
            assert!((closed - solved).abs() < 1e-9, "{pool}: {closed} {solved}");
        }
    }

    #[test]
    fn it_grows_from_nothing_to_the_formula_for_large_pools() {
        assert!(entropy(0.0).abs() < 1e-12 && entropy(1e-6) < 1e-4);
        for pool in [50.0, 500.0, 5_000.0] {
            assert!((entropy(pool) - entropy_of_large(pool)).abs() < 1.0 / pool, "{pool}");
            assert!((entropy_of_layers(pool, 3, 1) - entropy_of_large(pool)).abs() < 1e-12, "{pool}");
        }
        let mut last = 0.0;
        for pool in [0.1, 0.2, 1.0, 2.0, 4.0, 100.0] {
            assert!(entropy(pool) > last && entropy(pool) > entropy_of_number(pool));
            last = entropy(pool);
        }
    }

    #[test]
    fn a_pool_is_found_for_any_entropy() {
        for bits in [0.5, 2.0, 6.0, 12.0] {
            assert!((entropy(pool_for(bits)) - bits).abs() < 1e-9);
        }
    }
}
