//! What a process has in its memory, read as root reads it: /proc/PID/mem of a process that stands
//! still.
#![allow(dead_code, reason = "each test file uses a part")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;

use memchr::memmem;
use rustix::process::{Pid, Signal, kill_process};

const PAGE: u64 = 4096;
/// Of an entry of /proc/PID/pagemap: the page is in memory, or in swap.
const IS_THERE: u64 = 0b11 << 62;
/// A part of a secret is as good as found when this many bytes of it are.
const PART: usize = 8;

/// All pages that a process may write, but those that it never touched.
pub struct Memory(Vec<Region>);

struct Region {
    name: String,
    start: u64,
    bytes: Vec<u8>,
}

impl Memory {
    /// That of a process, which stands still while it is read. Only root may: the programs forbid
    /// it to their own user.
    pub fn of(pid: u32) -> Self {
        let stopped = Stopped::new(pid);
        let open = |name: &str| File::open(format!("/proc/{pid}/{name}")).expect("root reads all memory");
        let (memory, pages) = (open("mem"), open("pagemap"));
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).expect("a list");
        let mut regions = Vec::new();
        for line in maps.lines() {
            let mut fields = line.split_whitespace();
            let (range, mode) = (fields.next().expect("a range"), fields.next().expect("a mode"));
            let (start, end) = range.split_once('-').expect("two addresses");
            let [start, end] =
                [start, end].map(|digits| u64::from_str_radix(digits, 16).expect("an address"));
            if mode.starts_with("rw") {
                let name = fields.nth(3).unwrap_or("anonymous");
                regions.extend(touched(&memory, &pages, start..end).map(|(start, bytes)| Region {
                    name: name.to_owned(),
                    start,
                    bytes,
                }));
            }
        }
        drop(stopped);
        Self(regions)
    }

    /// Where these bytes are.
    pub fn places(&self, bytes: &[u8]) -> Vec<String> {
        let finder = memmem::Finder::new(bytes);
        let within = |region: &Region| {
            let at = finder.find_iter(&region.bytes);
            at.map(|at| format!("{} at {:#x}", region.name, region.start + at as u64)).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(within).collect()
    }

    /// How often a whole secret is there.
    pub fn count(&self, secret: &[u8]) -> usize {
        self.places(secret).len()
    }

    /// Where a secret is, or a part of it, as it stands or in hexadecimal.
    pub fn remains(&self, secret: &[u8]) -> Vec<String> {
        let digits = hex::encode(secret).into_bytes();
        let parts = secret.chunks_exact(PART).chain(digits.chunks_exact(2 * PART));
        parts.flat_map(|part| self.places(part)).collect()
    }
}

/// The pages of a range that were touched, those beside each other together.
fn touched(memory: &File, pages: &File, range: std::ops::Range<u64>) -> impl Iterator<Item = (u64, Vec<u8>)> {
    let mut entries = vec![0; ((range.end - range.start) / PAGE * 8) as usize];
    // The kernel's own pages at the end of the address space have no entries.
    let known = pages.read_exact_at(&mut entries, range.start / PAGE * 8).is_ok();
    let is_there = |entry: &[u8]| u64::from_ne_bytes(entry.try_into().expect("eight bytes")) & IS_THERE != 0;
    let there: Vec<_> = entries.chunks_exact(8).map(|entry| known && is_there(entry)).collect();
    let runs = there.chunk_by(|one, other| one == other).scan(range.start, |at, run| {
        let start = *at;
        *at += run.len() as u64 * PAGE;
        Some((start, run.to_vec()))
    });
    let runs: Vec<_> = runs.filter(|(_, run)| run[0]).map(|(start, run)| (start, run.len())).collect();
    let read = runs.into_iter().map(|(start, count)| {
        let mut bytes = vec![0; count * PAGE as usize];
        memory.read_exact_at(&mut bytes, start).expect("its memory");
        (start, bytes)
    });
    read.collect::<Vec<_>>().into_iter()
}

/// A process that stands still.
struct Stopped(Pid);

impl Stopped {
    fn new(pid: u32) -> Self {
        let pid = Pid::from_raw(i32::try_from(pid).expect("a number of a process")).expect("not zero");
        kill_process(pid, Signal::STOP).expect("it runs");
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}

/// What is left of secrets that have ended, for whoever reads of a story that failed.
#[derive(Default)]
pub struct Found(Vec<String>);

impl Found {
    pub fn look(&mut self, whose: &str, memory: &Memory, ended: impl IntoIterator<Item = (String, Vec<u8>)>) {
        for (what, secret) in ended {
            let remains = memory.remains(&secret);
            self.0.extend((!remains.is_empty()).then(|| format!("{whose}: {what}: {remains:?}")));
        }
    }

    /// A key that is used is in one place, and shows that what is not found is not there.
    pub fn is_there(&mut self, whose: &str, memory: &Memory, what: &str, secret: &[u8]) {
        let places = memory.places(secret);
        self.0.extend((places.len() != 1).then(|| format!("{whose}: {what} is used, and in {places:?}")));
    }
}

impl Found {
    /// The key that a process signs with is there once, and what its file says of it is not.
    pub fn signs_with(&mut self, whose: &str, memory: &Memory, seed: &[u8]) {
        self.is_there(whose, memory, "the key that it signs with", seed);
        let text = hex::encode(seed).into_bytes();
        self.look(whose, memory, [("the text of the key that it signs with".to_owned(), text)]);
    }
}

impl Drop for Found {
    fn drop(&mut self) {
        assert!(self.0.is_empty() || std::thread::panicking(), "{:#?}", self.0);
    }
}
