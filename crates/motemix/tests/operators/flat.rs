//! Whether processes take more and more memory or files: they are looked at in the same seconds of
//! every epoch.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::world::used;

/// The seconds of an epoch of ten in which it is looked: neither its first nor its last ones.
const LOOKS: [u64; 3] = [4, 6, 8];
/// A process of which there are fewer looks has not run for long enough.
const LEAST: usize = 9;
/// How much more memory the last third may take than the one before: a fifth of it, and so much.
const MEMORY: u64 = 2 << 20;
/// How many files more or less.
const FILES: usize = 4;

/// What was seen of one process, which a restart ends.
type Seen = BTreeMap<(String, u32), Vec<(u64, usize)>>;

/// Looks at processes until it is asked what it saw.
pub struct Looks {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

impl Looks {
    pub fn at(numbers: Arc<Mutex<BTreeMap<String, u32>>>) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            let (mut seen, mut last) = (Seen::new(), 0);
            while !over.load(Ordering::Relaxed) {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
                if now != last && LOOKS.contains(&(now % 10)) {
                    last = now;
                    let numbers = numbers.lock().expect("nobody has panicked").clone();
                    for (name, pid) in numbers {
                        if let Some(used) = used(pid) {
                            seen.entry((name, pid)).or_default().push(used);
                        }
                    }
                }
                thread::sleep(Duration::from_millis(100));
            }
            seen
        });
        Self { ended, thread }
    }

    /// Asserts that no process that ran for long enough grew in the last third of its time, and
    /// that these all did run for so long. Who joined the network meanwhile may have grown.
    pub fn are_flat(self, of: &[String], joined: &str) {
        self.ended.store(true, Ordering::Relaxed);
        let seen = self.thread.join().expect("it has looked");
        let seen = seen.into_iter().filter(|((name, _), _)| name != joined);
        let long: Vec<_> = seen.filter(|(_, looks)| looks.len() >= LEAST).collect();
        let missing = of.iter().find(|name| long.iter().all(|((other, _), _)| other != *name));
        assert!(missing.is_none(), "{missing:?} did not run for long enough");
        let mut grown = Vec::new();
        for ((name, _), looks) in long {
            let third = looks.len() / 3;
            let [second, last] = [&looks[third..2 * third], &looks[looks.len() - third..]].map(medians);
            let told = format!(
                "{name}: {} KiB and {} files, then {} KiB and {} files; {} looks",
                second.0 >> 10,
                second.1,
                last.0 >> 10,
                last.1,
                looks.len()
            );
            println!("{told}");
            if last.0 > second.0 + second.0 / 5 + MEMORY || last.1.abs_diff(second.1) > FILES {
                grown.push(told);
            }
        }
        assert!(grown.is_empty(), "not flat: {grown:#?}");
    }
}

fn medians(looks: &[(u64, usize)]) -> (u64, usize) {
    let middle = looks.len() / 2;
    let mut memory: Vec<_> = looks.iter().map(|(memory, _)| *memory).collect();
    let mut files: Vec<_> = looks.iter().map(|(_, files)| *files).collect();
    (*memory.select_nth_unstable(middle).1, *files.select_nth_unstable(middle).1)
}
