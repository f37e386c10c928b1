use motemix_lab::loopix::study::anonymity::network::Network;
use motemix_lab::loopix::study::estimate::Gathered;
fn main() {
    for layers in [1, 2, 3] {
        let network = Network { users: 8, ..Network::honest(layers, 2, 4.0, 20) };
        let n = 30000u64;
        let ratios = |seed| { let t = network.trial(seed); let mut v = t.others.clone(); v.resize(7, 0.0); v };
        let all: Vec<Vec<f64>> = (0..n).map(|s| ratios(s + 1_000_000)).collect();
        let other: Vec<Vec<f64>> = (0..n).map(|s| ratios(s + 2_000_000)).collect();
        for e in [0.0f64, 1.0, 2.0] {
            let belief: Gathered = all.iter().map(|v| v.iter().map(|r| (1.0 - e.exp() * r).max(0.0)).sum::<f64>() / 7.0).collect();
            let right: Gathered = all.iter().map(|v| v.iter().filter(|r| -r.ln() > e).count() as f64 / 7.0).collect();
            let wrong: Gathered = other.iter().map(|v| v.iter().filter(|r| r.ln() > e).count() as f64 / 7.0).collect();
            let pred: Gathered = all.iter().map(|v| v.iter().filter(|r| -r.ln() > e).sum::<f64>() / 7.0).collect();
            let (b, r, w, p) = (belief.estimate(), right.estimate(), wrong.estimate(), pred.estimate());
            println!("{layers} {e}: belief {:.4}±{:.4} counted {:.4} right {:.4}±{:.4} wrong {:.5}±{:.5} predicted wrong {:.5}±{:.5}", b.mean, b.half, r.mean - e.exp() * w.mean, r.mean, r.half, w.mean, w.half, p.mean, p.half);
        }
    }
}
