//! Each fuzz target takes its seeds and mutations of them, as a test: it compiles, its seeds hold,
//! and a fault that lies near them shows without a fuzzer.

use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use motemix_fuzz::targets::TARGETS;
use rayon::prelude::*;

const MUTATIONS: u64 = 600;
/// Seeds of some targets are whole stories of a network.
const LONGEST: usize = 4096;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz")
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = folder().join("seeds").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = files.map(|file| file.expect("a seed").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("a seed")).collect()
}

/// Runs a target, and keeps an input that it panics on where findings of the fuzzer are kept.
fn run(name: &str, target: fn(&[u8]), bytes: &[u8]) {
    if let Err(panicked) = panic::catch_unwind(|| target(bytes)) {
        let kept = folder().join("artifacts").join(name).join("crash-of-a-test");
        fs::create_dir_all(kept.parent().expect("a folder")).expect("a folder");
        fs::write(&kept, bytes).expect("a finding");
        eprintln!("{name}: the input is in {}", kept.display());
        panic::resume_unwind(panicked);
    }
}

#[test]
fn each_target_is_in_the_list_and_has_seeds() {
    let files = fs::read_dir(folder().join("fuzz_targets")).expect("the targets");
    let mut files: Vec<_> = files.map(|file| file.expect("a target").path()).collect();
    files.sort();
    let names: Vec<_> = files.iter().map(|file| file.file_stem().unwrap().to_str().unwrap()).collect();
    let listed: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(listed, names, "lab/fuzz/src/targets.rs lists what lab/fuzz/fuzz_targets has");
    for name in listed {
        assert!(!seeds(name).is_empty(), "{name}");
    }
}

#[test]
fn each_target_takes_its_seeds() {
    TARGETS.par_iter().for_each(|(name, target)| {
        for seed in seeds(name) {
            run(name, *target, &seed);
        }
    });
}

#[test]
fn each_target_takes_what_lies_near_its_seeds() {
    TARGETS.par_iter().for_each(|(name, target)| {
        let seeds = seeds(name);
        for number in 0..MUTATIONS {
            run(name, *target, &mutation(&seeds, number));
        }
    });
}

/// A seed with one to eight changes, which its number draws.
fn mutation(seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut rng = ChaCha20Rng::seed_from_u64(number);
    let mut below = |limit: usize| rng.next_u64() as usize % limit.max(1);
    let mut bytes = seeds[below(seeds.len())].clone();
    for _ in 0..=below(8) {
        let at = below(bytes.len());
        let end = (at + 1 + below(8)).min(bytes.len());
        match below(6) {
            _ if bytes.is_empty() => bytes.push(below(256) as u8),
            0 => bytes[at] ^= 1 << below(8),
            1 => bytes[at] = below(256) as u8,
            2 => bytes.insert(at, below(256) as u8),
            3 => drop(bytes.drain(at..end)),
            4 => bytes.extend_from_within(at..end),
            _ => {
                let other = &seeds[below(seeds.len())];
                let from = below(other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
    bytes.truncate(LONGEST);
    bytes
}
