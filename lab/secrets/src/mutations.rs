//! Controls made of the project's own code: each secret's comparison or choice is replaced by one
//! that leaks, in a copy of the sources, and the operation that uses it must then fail. What cannot
//! fail shows nothing.
//!
//! All mutations are in one copy, which is compiled once; a number says which one is active while
//! an operation runs. They are replacements of exact texts: when the code changes, its mutation no
//! longer applies, and the check says so.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use anyhow::{Context as _, ensure};

use crate::report::Report;

/// One leak.
pub struct Mutation {
    pub name: &'static str,
    /// In which file, from the project's root.
    file: &'static str,
    /// An expression, there once.
    original: &'static str,
    /// What takes its place. The loads that leak are hidden from the compiler, or it could make
    /// them one comparison of wide registers, which does not leak.
    mutant: &'static str,
    /// The operations that must fail.
    pub operations: &'static [&'static str],
}

/// The mutated program's name.
const PROGRAM: &str = "motemix-secrets-mutated";
/// Where the active mutation's number is kept: all crates that are mutated know this one.
const HOME: &str = "base/crypto/src/lib.rs";

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "header MAC, byte by byte",
        file: "net/sphinx/src/keys.rs",
        original: "self.header_mac(routing_info).as_slice().ct_eq(mac.as_slice()).into()",
        mutant: "self.header_mac(routing_info).iter().zip(mac).all(|(a, b)| core::hint::black_box(*a) == *b)",
        operations: &[
            "refuse a packet with one wrong byte in its header MAC, mote",
            "refuse a packet with one wrong byte in its header MAC, host",
        ],
    },
    Mutation {
        name: "payload tag, byte by byte",
        file: "net/sphinx/src/message.rs",
        original: "!bool::from(tag.as_slice().ct_eq([0; TAG_LEN].as_slice()))",
        mutant: "tag.iter().any(|byte| core::hint::black_box(*byte) != 0)",
        operations: &[
            "refuse a message with one wrong byte in its integrity tag, mote",
            "turn round a message with one wrong byte in its integrity tag, mote",
            "turn round a message with one wrong byte in its integrity tag, host",
            "refuse a reply with one wrong byte in its integrity tag",
            "refuse a reply by a SURB with one wrong byte in its integrity tag",
        ],
    },
    Mutation {
        name: "shared secret of zeros, byte by byte",
        file: "base/crypto/src/curve/mod.rs",
        original: "bool::from(secret.ct_eq(&Secret::zero()))",
        mutant: "secret.expose().iter().all(|byte| core::hint::black_box(*byte) == 0)",
        operations: &["a shared secret with one byte that is not zero"],
    },
    Mutation {
        name: "OSCORE: Echo value, byte by byte",
        file: "things/coap/src/oscore/window.rs",
        original: "given.ct_eq(&echo[..])",
        mutant: "subtle::Choice::from(u8::from(given.iter().zip(echo.iter()).all(|(a, b)| *a == core::hint::black_box(*b))))",
        operations: &["OSCORE: refuse an Echo value that is wrong in one byte"],
    },
    Mutation {
        name: "comparison of secrets, byte by byte",
        file: "base/crypto/src/secret.rs",
        original: "self.0.as_slice().ct_eq(other.0.as_slice())",
        mutant: "Choice::from(u8::from(self.0.iter().zip(&other.0).all(|(a, b)| core::hint::black_box(*a) == *b)))",
        operations: &["comparison of secrets that differ in one byte"],
    },
    Mutation {
        name: "blinded scalar: a branch where one of two is chosen",
        file: "base/crypto/src/curve/scalar.rs",
        original: "conditional_assign(multiple.expose_mut(), negative.expose(), too_small)",
        mutant: "if core::hint::black_box(multiple.expose()[31]) & 0xc0 == 0 { *multiple.expose_mut() = *negative.expose(); }",
        operations: &["blinded scalar: reduce, multiply, clamp"],
    },
    Mutation {
        name: "words: a branch where the ladder swaps",
        file: "base/crypto/src/curve/words.rs",
        original: "u32::conditional_swap(a, b, choice)",
        mutant: "if core::hint::black_box(choice.unwrap_u8()) == 1 { core::mem::swap(a, b); }",
        operations: &["Diffie-Hellman, words"],
    },
    Mutation {
        name: "scalars of half words: a branch where the order is added",
        file: "base/crypto/src/curve/half_words/scalar.rs",
        original: "*limb += order & negative",
        mutant: "if core::hint::black_box(negative) != 0 { *limb += order; }",
        operations: &["scalars of half words: reduce, multiply"],
    },
    Mutation {
        name: "P-224: a scalar and the order, word by word",
        file: "base/crypto/src/p224/scalar.rs",
        original: "subtract(&mut number.duplicate().0, &ORDER)",
        mutant: "if number.0.iter().rev().map(|word| core::hint::black_box(*word)).lt(ORDER.iter().rev().copied()) { u64::MAX } else { 0 }",
        operations: &["P-224: a scalar from bytes that are the order's, one of them less"],
    },
    Mutation {
        name: "P-224: a scalar of zeros, word by word",
        file: "base/crypto/src/p224/scalar.rs",
        original: "mask(any.ct_eq(&0))",
        mutant: "if words.iter().all(|word| core::hint::black_box(*word) == 0) { u64::MAX } else { any & 0 }",
        operations: &["P-224: a short scalar with one byte that is not zero"],
    },
    Mutation {
        name: "P-224: a table looked up at a secret place",
        file: "base/crypto/src/p224/multiply.rs",
        original: "taken.negated_if(digit.sign)",
        mutant: "table[core::hint::black_box(digit.index as usize) % TABLE_LEN].negated_if(digit.sign)",
        operations: &["P-224: multiplication"],
    },
    Mutation {
        name: "P-256: a scalar and the order, byte by byte",
        file: "base/crypto/src/p256/scalar.rs",
        original: "difference(bytes.expose(), &ORDER_BYTES)",
        mutant: "(
            [0; SCALAR_LEN],
            Choice::from(u8::from(bytes.expose().iter().map(|byte| core::hint::black_box(*byte)).lt(ORDER_BYTES))),
        )",
        operations: &["P-256: a scalar from bytes that are the order's, one of them less"],
    },
    Mutation {
        name: "P-256: a branch where a scalar or its negative is chosen",
        file: "base/crypto/src/p256/scalar.rs",
        original: "u8::conditional_select(own, negative, is_negative)",
        mutant: "if core::hint::black_box(is_negative.unwrap_u8()) == 1 { core::hint::black_box(*negative) } else { *own }",
        operations: &["P-256: multiplication of the generator"],
    },
    Mutation {
        name: "P-256: a table looked up at a secret place",
        file: "base/crypto/src/p256/multiply.rs",
        original: "Point::unpacked(&taken)",
        mutant: "Point::unpacked(&table[core::hint::black_box(index as usize) % TABLE_LEN])",
        operations: &["P-256: Diffie-Hellman", "P-256: multiplication of the generator"],
    },
    Mutation {
        name: "P-256: a branch where a coordinate is negated",
        file: "base/crypto/src/p256/field.rs",
        original: "(*limb ^ mask) - mask",
        mutant: "if core::hint::black_box(mask) == 0 { *limb } else { core::hint::black_box(-*limb) }",
        operations: &["P-256: Diffie-Hellman"],
    },
    Mutation {
        name: "P-256: a branch where equal points were added",
        file: "base/crypto/src/p256/field.rs",
        original: "limb.conditional_assign(other, choice)",
        mutant: "if core::hint::black_box(choice.unwrap_u8()) == 1 { *limb = core::hint::black_box(*other); }",
        operations: &["P-256: Diffie-Hellman"],
    },
    Mutation {
        name: "P-256: a branch where p is added",
        file: "base/crypto/src/p256/field.rs",
        original: "*limb += modulus & negative",
        mutant: "if core::hint::black_box(negative) != 0 { *limb += core::hint::black_box(*modulus); }",
        operations: &["P-256: multiplication of the generator"],
    },
    Mutation {
        name: "P-256: a branch where n is added",
        file: "base/crypto/src/p256/order.rs",
        original: "*limb += order & negative",
        mutant: "if core::hint::black_box(negative) != 0 { *limb += core::hint::black_box(*order); }",
        operations: &["P-256: signature"],
    },
    Mutation {
        name: "Ed25519: a branch where ℓ is added to an even number",
        file: "base/crypto/src/ed25519/multiply.rs",
        original: "u64::from(order & mask)",
        mutant: "if core::hint::black_box(mask) == 0 { 0 } else { core::hint::black_box(u64::from(*order)) }",
        operations: &["Diffie-Hellman, a public point's comb", "Ed25519: key from its seed"],
    },
    Mutation {
        name: "Ed25519: a table looked up at a secret place",
        file: "base/crypto/src/curve/words/arithmetic.rs",
        original: "*chosen = [0; WORDS]",
        mutant: "*chosen = table[black_box(index as usize) % table.len()][coordinate]",
        operations: &["Ed25519: key from its seed", "Ed25519: signature"],
    },
    Mutation {
        name: "Ed25519: a branch where a point is negated",
        file: "base/crypto/src/ed25519/multiply.rs",
        original: "addend.negate_if(Choice::from(upper ^ 1))",
        mutant: "if core::hint::black_box(upper) == 0 { addend.negate_if(Choice::from(1)); }",
        operations: &["Diffie-Hellman, a public point's comb", "Ed25519: key from its seed", "Ed25519: signature"],
    },
    Mutation {
        name: "delay of a hop: a branch where one of two is chosen",
        file: "net/sphinx/src/delay.rs",
        original: "zero ^ ((one ^ zero) & black_box(bit).wrapping_neg())",
        mutant: "if black_box(bit) == 1 { black_box(one) } else { zero }",
        operations: &["forward, four keys, mote"],
    },
    Mutation {
        name: "MACs, tags and proofs of Loopix, byte by byte",
        file: "loopix/protocol/src/packet/keys.rs",
        original: "a.as_slice().ct_eq(b.as_slice()).into()",
        mutant: "a.iter().zip(b).all(|(a, b)| core::hint::black_box(*a) == *b)",
        operations: &[
            "Loopix: refuse a packet with one wrong byte in its header MAC",
            "Loopix, hardened: refuse a packet with one wrong byte in its header MAC",
            "Loopix: refuse a message with one wrong byte in its tag",
            "Loopix, hardened: refuse a message with one wrong byte in its tag",
            "Loopix, hardened: refuse a reply with one wrong byte in its tag",
            "Loopix, hardened: refuse a request with one wrong byte in its proof",
            "Loopix, hardened: ignore a challenge with one wrong byte in its proof",
        ],
    },
    Mutation {
        name: "MACs of EDHOC, byte by byte",
        file: "net/neighbour/src/edhoc/authentication.rs",
        original: "bool::from(mac.ct_eq(&Secret::new(*proof)))",
        mutant: "mac.expose().iter().zip(proof).all(|(a, b)| core::hint::black_box(*a) == *b)",
        operations: &["EDHOC: refuse message_2 with one wrong byte in its MAC"],
    },
    Mutation {
        name: "key file: digits read one by one",
        file: "base/os/src/key_file.rs",
        original: "base16ct::mixed::decode(digits, &mut *seed).is_err()",
        mutant: "seed.iter_mut().zip(digits.as_chunks::<2>().0).any(|(byte, pair)| {
            let value = |digit: u8| b\"0123456789abcdef\".iter().position(|one| *one == std::hint::black_box(digit));
            let (Some(high), Some(low)) = (value(pair[0]), value(pair[1])) else { return true };
            *byte = (high * 16 + low) as u8;
            false
        })",
        operations: &["read a key file", "refuse a key file with one digit that is none"],
    },
    Mutation {
        name: "key file: digits from a table",
        file: "base/os/src/key_file.rs",
        original: "base16ct::lower::encode(seed, &mut *digits).is_ok()",
        mutant: "{
            let table = std::hint::black_box(b\"0123456789abcdef\");
            for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(seed) {
                *pair = [table[usize::from(byte >> 4)], table[usize::from(byte & 15)]];
            }
            true
        }",
        operations: &["write a key file"],
    },
];

/// What is changed beside the mutations: the number's home, how the program sets it, the program's
/// name, and functions that cannot be `const` any more.
const ALSO: [(&str, &str, &str); 5] = [
    (
        "lab/secrets/src/main.rs",
        "const fn activate(_number: usize) {}",
        "fn activate(number: usize) {
            motemix_crypto::MUTATION.store(number, std::sync::atomic::Ordering::Relaxed);
        }",
    ),
    (
        "lab/secrets/Cargo.toml",
        "[[bin]]\nname = \"motemix-secrets\"",
        "[[bin]]\nname = \"motemix-secrets-mutated\"",
    ),
    ("net/sphinx/src/delay.rs", "pub const fn from_seed(", "pub fn from_seed("),
    ("net/sphinx/src/delay.rs", "const fn normalize(", "fn normalize("),
    ("net/sphinx/src/delay.rs", "const fn select(", "fn select("),
];

/// Folders of the copy that have nothing but what is copied.
const PRODUCTS: [&str; 4] = ["base", "loopix", "net", "things"];
/// What the copy needs: the crates that are mutated, those that they depend on, and the workspace
/// that names versions.
const COPIED: [&str; 12] = [
    "Cargo.toml",
    "lab/secrets",
    "things/coap",
    "base/crypto",
    "net/directory",
    "base/os/src",
    "loopix/protocol/src",
    "net/neighbour",
    "things/object",
    "net/sphinx",
    "vectors/packet.json",
    "base/time",
];

/// A mutated program, and where its mutations are.
pub struct Mutated {
    pub program: PathBuf,
    places: Vec<Place>,
}

/// The lines of a mutation.
struct Place {
    file: &'static str,
    lines: RangeInclusive<usize>,
}

impl Mutated {
    /// Copies the project's sources to `folder`, mutates the copy and compiles it as this program
    /// was.
    ///
    /// # Errors
    /// A mutation does not apply any more, or the copy does not compile.
    pub fn build(project: &Path, folder: &Path, cargo_options: &[&str]) -> anyhow::Result<Self> {
        let mut copy = Copy::of(project)?;
        copy.append(
            HOME,
            "\n/// The number of the mutation that is active.\n\
             pub static MUTATION: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);\n",
        )?;
        for (file, from, to) in ALSO {
            copy.replace(file, from, to)?;
        }
        for (number, mutation) in numbered() {
            let active = active(mutation, number);
            let Mutation { name, file, original, mutant, .. } = mutation;
            copy.replace(file, original, &format!("(if {active} {{ {mutant} }} else {{ {original} }})"))
                .with_context(|| format!("the mutation \"{name}\""))?;
        }
        let places =
            numbered().map(|(number, mutation)| copy.place(number, mutation)).collect::<Result<_, _>>()?;
        copy.write(folder)?;
        Ok(Self { program: compile(folder, cargo_options)?, places })
    }

    /// Whether a report is of this mutation.
    pub fn is_of(&self, number: usize, report: &Report) -> bool {
        let Place { file, lines } = &self.places[number - 1];
        report.frames.iter().any(|frame| frame.file.ends_with(file) && lines.contains(&frame.line))
    }
}

/// The mutations with their numbers: 0 is none of them.
pub fn numbered() -> impl Iterator<Item = (usize, &'static Mutation)> {
    (1..).zip(MUTATIONS)
}

/// The expression that tells whether a mutation is active.
fn active(mutation: &Mutation, number: usize) -> String {
    let is_at_home = mutation.file.starts_with("base/crypto/");
    let home = if is_at_home { "crate" } else { "motemix_crypto" };
    format!("{home}::MUTATION.load(core::sync::atomic::Ordering::Relaxed) == {number}_usize")
}

fn compile(folder: &Path, cargo_options: &[&str]) -> anyhow::Result<PathBuf> {
    // In this program's own target folder: the libraries from elsewhere are compiled already.
    let this = std::env::current_exe().context("this program cannot find its own file")?;
    let profile = this.parent().context("a program is in a folder")?;
    let target = profile.parent().context("a profile's folder is in the target folder")?;
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .current_dir(folder.join("lab/secrets"))
        .env_remove("RUSTFLAGS")
        .args(["build", "--locked", "--release", "--quiet", "--bins", "--target-dir"])
        .arg(target)
        .args(cargo_options)
        .output()
        .context("cargo cannot be started")?;
    ensure!(
        output.status.success(),
        "the mutated copy in {} does not compile:\n{}",
        folder.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(profile.join(PROGRAM))
}

/// Files by their paths from the project's root, in memory until all changes are made: a file that
/// is in the end as it is on the disk is not written, and not compiled again.
struct Copy(BTreeMap<PathBuf, Vec<u8>>);

impl Copy {
    fn of(project: &Path) -> anyhow::Result<Self> {
        let mut copy = Self(BTreeMap::new());
        for part in COPIED {
            copy.add(project, Path::new(part)).with_context(|| format!("{part} cannot be copied"))?;
        }
        Ok(copy)
    }

    fn add(&mut self, project: &Path, part: &Path) -> io::Result<()> {
        let path = project.join(part);
        if !path.is_dir() {
            self.0.insert(part.to_owned(), fs::read(path)?);
            return Ok(());
        }
        for entry in fs::read_dir(path)? {
            let name = entry?.file_name();
            if name != "target" {
                self.add(project, &part.join(name))?;
            }
        }
        Ok(())
    }

    fn text(&self, file: &str) -> anyhow::Result<&str> {
        let bytes = self.0.get(Path::new(file)).with_context(|| format!("there is no file {file}"))?;
        std::str::from_utf8(bytes).with_context(|| format!("{file} is no text"))
    }

    fn replace(&mut self, file: &str, from: &str, to: &str) -> anyhow::Result<()> {
        let text = self.text(file)?;
        let times = text.matches(from).count();
        ensure!(
            times == 1,
            "does not apply: {file} has {times} times, and not once, the text\n  {from}\nbring lab/secrets/src/mutations.rs \
             up to date"
        );
        let text = text.replace(from, to).into_bytes();
        self.0.insert(file.into(), text);
        Ok(())
    }

    fn append(&mut self, file: &str, more: &str) -> anyhow::Result<()> {
        let text = [self.text(file)?, more].concat().into_bytes();
        self.0.insert(file.into(), text);
        Ok(())
    }

    fn place(&self, number: usize, mutation: &'static Mutation) -> anyhow::Result<Place> {
        let (before, _) =
            self.text(mutation.file)?.split_once(&active(mutation, number)).context("just made")?;
        let first = before.lines().count();
        Ok(Place { file: mutation.file, lines: first..=first + mutation.mutant.matches('\n').count() })
    }

    fn write(&self, folder: &Path) -> anyhow::Result<()> {
        for product in PRODUCTS {
            self.remove_others(&folder.join(product), folder)?;
        }
        for (file, bytes) in &self.0 {
            let path = folder.join(file);
            if fs::read(&path).is_ok_and(|there| there == *bytes) {
                continue;
            }
            let parent = path.parent().context("a file is in a folder")?;
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&path, bytes))
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(())
    }
}

impl Copy {
    /// Removes sources of an earlier copy that are in this one no more.
    fn remove_others(&self, inside: &Path, folder: &Path) -> anyhow::Result<()> {
        let Ok(entries) = fs::read_dir(inside) else { return Ok(()) };
        for entry in entries {
            let path = entry.context("an entry of the copy")?.path();
            if path.is_dir() {
                self.remove_others(&path, folder)?;
            } else if !self.0.keys().any(|file| folder.join(file) == path) {
                fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutation_applies_to_the_code_as_it_is() {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let copy = Copy::of(&project).expect("the project's files");
        for mutation in MUTATIONS {
            let text = copy.text(mutation.file).expect("its file");
            assert_eq!(text.matches(mutation.original).count(), 1, "{}", mutation.name);
        }
    }

    #[test]
    fn a_mutation_of_code_that_has_changed_says_so() {
        let mut copy = Copy(BTreeMap::from([("a.rs".into(), b"let a = b;\n".to_vec())]));
        copy.replace("a.rs", "b", "c").expect("it is there once");
        assert_eq!(copy.text("a.rs").expect("a text"), "let a = c;\n");
        let error = copy.replace("a.rs", "b", "c").expect_err("it is gone").to_string();
        assert!(error.contains("a.rs has 0 times"), "{error}");
        assert!(copy.replace("a.rs", "e", "x").is_ok());
    }
}
