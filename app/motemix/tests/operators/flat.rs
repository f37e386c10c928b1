//! Whether processes take more and more memory or files: they are looked at in the same seconds of
//! every epoch.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::program::wait_until;
use super::world::{tenths, used};

/// The tenths of an epoch in which it is looked: neither its first nor its last ones.
const LOOKS: [u64; 3] = [4, 6, 8];
/// A process of which there are fewer looks has not run for long enough.
const LEAST: usize = 9;
/// How much more memory the last third may take than the one before: a fifth of it, and so much.
const MEMORY: u64 = 2 << 20;
/// How many more files may be open for the whole of the last third than for that of the one before,
/// in this life of a process or in half of its lives: one that waited for its first document until
/// then had no replay logs yet. Only those stay that are open for the whole of it: replay logs of
/// past epochs go when a node is sure of the time, and a connection ends by itself.
const FILES: usize = 4;

/// What was seen of one process, which a restart ends.
type Series = BTreeMap<(String, u32), Vec<(u64, usize)>>;

/// What was seen.
#[derive(Default)]
pub struct Seen {
    series: Series,
    /// Of who joined the network: what was seen of it before.
    before: Series,
}

/// Looks at processes until it is asked what it saw.
pub struct Looks {
    ended: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    thread: JoinHandle<()>,
}

impl Looks {
    pub fn at(numbers: Arc<Mutex<BTreeMap<String, u32>>>) -> Self {
        let (ended, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Seen::default())));
        let (over, noted) = (Arc::clone(&ended), Arc::clone(&seen));
        let thread = thread::spawn(move || {
            let mut last = 0;
            while !over.load(Ordering::Relaxed) {
                let now = tenths();
                if now != last && LOOKS.contains(&(now % 10)) {
                    last = now;
                    let numbers = numbers.lock().expect("nobody has panicked").clone();
                    let mut seen = noted.lock().expect("nobody has panicked");
                    for (name, pid) in numbers {
                        if let Some(used) = used(pid) {
                            seen.series.entry((name, pid)).or_default().push(used);
                        }
                    }
                }
                thread::sleep(Duration::from_millis(100));
            }
        });
        Self { ended, seen, thread }
    }

    /// Somebody has joined the network, and has its tables from now on: what was seen of it before
    /// says nothing of whether it takes more and more.
    pub fn joined(&self, name: &str) {
        let mut seen = self.seen.lock().expect("nobody has panicked");
        let before = seen.series.extract_if(.., |(of, _), _| of == name).collect::<Vec<_>>();
        seen.before.extend(before);
    }

    /// Whether a process of this name has run for long enough to say whether it is flat.
    pub fn suffice(&self, name: &str) -> bool {
        self.seen.lock().expect("nobody has panicked").long().any(|((of, _), _)| of == name)
    }

    pub fn end(self) -> Seen {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.join().expect("it has looked");
        std::mem::take(&mut self.seen.lock().expect("nobody has panicked"))
    }
}

impl Seen {
    /// What was seen of processes that ran for long enough.
    fn long(&self) -> impl Iterator<Item = (&(String, u32), &Vec<(u64, usize)>)> {
        self.series.iter().filter(|(_, looks)| looks.len() >= LEAST)
    }

    /// Asserts that no process that ran for long enough grew in the last third of its time, and
    /// that these all did run for so long.
    pub fn is_flat<'n>(&self, mut of: impl Iterator<Item = &'n str>) {
        let missing = of.find(|name| self.long().all(|((other, _), _)| other != name));
        assert!(missing.is_none(), "{missing:?} did not run for long enough");
        let usual = self.usual_files();
        let mut grown = Vec::new();
        for ((name, _), looks) in self.long() {
            let [second, last] = thirds(looks);
            let told = format!(
                "{name}: {} KiB and {} files, then {} KiB and {} files; {} looks",
                second.0 >> 10,
                second.1,
                last.0 >> 10,
                last.1,
                looks.len()
            );
            println!("{told}");
            if last.0 > may_become(second.0) || last.1 > second.1.max(usual[name]) + FILES {
                grown.push(told);
            }
        }
        assert!(grown.is_empty(), "not flat: {grown:#?}");
    }

    /// The files that half of the lives of each name had open in their second third.
    fn usual_files(&self) -> BTreeMap<&String, usize> {
        let mut lives = BTreeMap::<_, Vec<_>>::new();
        for ((name, _), looks) in self.long() {
            lives.entry(name).or_default().push(thirds(looks)[0].1);
        }
        let median = |mut files: Vec<usize>| {
            let middle = (files.len() - 1) / 2;
            *files.select_nth_unstable(middle).1
        };
        lives.into_iter().map(|(name, files)| (name, median(files))).collect()
    }

    /// Asserts that somebody took no more memory, before and after it joined the network, than
    /// these others, whose tables are as long.
    pub fn is_bounded_by(&self, name: &str, others: &[String]) {
        let memory = |is: &dyn Fn(&str) -> bool| {
            let series = self.series.iter().chain(&self.before).filter(|((of, _), _)| is(of));
            series.flat_map(|(_, looks)| looks).map(|(memory, _)| *memory).max().expect("it was seen")
        };
        let (own, most) = (memory(&|of| of == name), memory(&|of| others.iter().any(|other| other == of)));
        println!("{name}: {} KiB at most, and others {} KiB", own >> 10, most >> 10);
        assert!(own <= may_become(most), "{name} took {own} bytes, and others {most} at most");
    }
}

/// What is no growth yet.
const fn may_become(memory: u64) -> u64 {
    memory + memory / 5 + MEMORY
}

/// What was taken in the second and in the last third of the looks.
fn thirds(looks: &[(u64, usize)]) -> [(u64, usize); 2] {
    let third = looks.len() / 3;
    [&looks[third..2 * third], &looks[looks.len() - third..]].map(taken)
}

/// The memory that was in use half of the time, and the files that were open all the time.
fn taken(looks: &[(u64, usize)]) -> (u64, usize) {
    let mut memory: Vec<_> = looks.iter().map(|(memory, _)| *memory).collect();
    let files = looks.iter().map(|(_, files)| *files).min().expect("there are looks");
    (*memory.select_nth_unstable(looks.len() / 2).1, files)
}

/// Lives of one process, each with so many files at each look.
fn seen(lives: &[&[usize]]) -> Seen {
    let looks = |files: &&[usize]| files.iter().map(|files| (1 << 20, *files)).collect();
    let series = (0..).zip(lives).map(|(pid, files)| (("mix".to_owned(), pid), looks(files)));
    Seen { series: series.collect(), before: Series::new() }
}

#[test]
fn who_waited_for_a_document_has_not_grown() {
    let usual = &[24; 9][..];
    seen(&[usual, &[17, 17, 17, 17, 24, 24, 24, 24, 24], usual]).is_flat(["mix"].into_iter());
}

#[test]
#[should_panic(expected = "not flat")]
fn files_that_stay_open_in_each_life_are_noticed() {
    let leaks = &[20, 22, 24, 26, 28, 30, 32, 34, 36][..];
    seen(&[leaks, leaks, leaks]).is_flat(["mix"].into_iter());
}

#[test]
#[should_panic(expected = "not flat")]
fn files_that_stay_open_in_one_life_are_noticed() {
    let usual = &[24; 9][..];
    seen(&[usual, &[24, 24, 24, 24, 24, 29, 29, 29, 29], usual]).is_flat(["mix"].into_iter());
}

/// A node closes them for a moment each second, and had five files fewer then.
#[test]
fn what_is_kept_in_reserve_is_not_counted() {
    let files = |stdin: Stdio| {
        let mut one = Command::new("sleep").arg("60").stdin(stdin).spawn().unwrap();
        let (_, files) = used(one.id()).expect("it runs");
        one.kill().unwrap();
        one.wait().unwrap();
        files
    };
    // While it starts it has some of the system's open.
    wait_until("one has a pipe more", || files(Stdio::null()) + 1 == files(Stdio::piped()));
}
