//! Random instructions as assembler text.
//!
//! In a template, `%1` to `%4` are different registers of R0 to R5 and R7, `%A` to `%D` different
//! ones of R0 to R5 and R7 to R12, and `%l` and `%a` any of these. `%i`, `%q`, `%p`, `%b`, `%t` and
//! `%h` are numbers of 3, 4, 5, 8, 12 and 16 bits, `%e`, `%s` and `%k` from 1 to 16, 31 and 32,
//! `%m` a constant that ARMv7-M can encode, `%r` a rotation, `%F` a bit field. `%w`, `%x`, `%o`,
//! `%y` and `%u` are offsets of words, doubles, halfwords, bytes and unaligned words in 64
//! bytes. `%c` is a condition, `%!` that of the block, `%S`, `%T`, `%X`, `%R` and `%P` are endings
//! and beginnings of mnemonics, `%H` a shift, `%f` a floating-point register. R6 points to the 64
//! bytes and is never written.

use crate::templates::{CONDITIONAL, LARGE, MEDIUM, SMALL};
use motemix_mcu::Core;

/// `SplitMix64`: enough for operands, and nothing to depend on.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// A word that is often one of those at which something changes.
    pub fn operand(&mut self) -> u32 {
        const EDGES: [u32; 12] =
            [0, 1, 2, 0x7F, 0x80, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x8000_7FFF];
        match self.below(4) {
            0 => *self.pick(&EDGES),
            1 => (self.next() as u32) >> self.below(32),
            _ => self.next() as u32,
        }
    }
}

const LOW: [&str; 7] = ["r0", "r1", "r2", "r3", "r4", "r5", "r7"];
const ANY: [&str; 12] = ["r0", "r1", "r2", "r3", "r4", "r5", "r7", "r8", "r9", "r10", "r11", "r12"];
const CONDITIONS: [&str; 14] =
    ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"];
const SHIFTS: [&str; 4] = ["lsl", "lsr", "asr", "ror"];

/// One template, drawn for a core.
pub fn instruction(random: &mut Random, core: Core) -> String {
    let lists: &[&[&str]] = match core {
        Core::M0Plus => &[SMALL],
        Core::M3 => &[SMALL, MEDIUM, MEDIUM],
        Core::M4 => &[SMALL, MEDIUM, LARGE, LARGE],
    };
    let list = random.pick(lists);
    let template = *random.pick(list);
    if template.starts_with("it ") { it_block(random) } else { fill(random, template, "") }
}

/// Every template of a core once.
pub fn all(random: &mut Random, core: Core) -> Vec<String> {
    let lists: &[&[&str]] = match core {
        Core::M0Plus => &[SMALL],
        Core::M3 => &[SMALL, MEDIUM],
        Core::M4 => &[SMALL, MEDIUM, LARGE],
    };
    let templates = lists.concat();
    let one = |template: &&str| {
        if template.starts_with("it ") { it_block(random) } else { fill(random, template, "") }
    };
    templates.iter().map(one).collect()
}

fn it_block(random: &mut Random) -> String {
    let at = random.below(CONDITIONS.len());
    let condition = CONDITIONS[at];
    let inverse = CONDITIONS[at ^ 1];
    let mut then = String::new();
    let mut lines = Vec::new();
    for position in 0..=random.below(4) {
        let otherwise = position > 0 && random.below(2) == 0;
        if position > 0 {
            then.push(if otherwise { 'e' } else { 't' });
        }
        let template = *random.pick(CONDITIONAL);
        lines.push(fill(random, template, if otherwise { inverse } else { condition }));
    }
    format!("it{then} {condition}\n {}", lines.join("\n "))
}

fn fill(random: &mut Random, template: &str, condition: &str) -> String {
    let mut low = LOW;
    let mut any = ANY;
    for list in [low.as_mut_slice(), any.as_mut_slice()] {
        for at in (1..list.len()).rev() {
            list.swap(at, random.below(at + 1));
        }
    }
    let mut text = String::new();
    let mut symbols = template.chars();
    while let Some(symbol) = symbols.next() {
        if symbol != '%' {
            text.push(symbol);
            continue;
        }
        let token = symbols.next().unwrap();
        let word = match token {
            '1'..='4' => low[token as usize - '1' as usize].to_owned(),
            'A'..='D' => any[token as usize - 'A' as usize].to_owned(),
            'l' => (*random.pick(&LOW)).to_owned(),
            'a' => (*random.pick(&ANY)).to_owned(),
            'c' => (*random.pick(&CONDITIONS)).to_owned(),
            '!' => condition.to_owned(),
            'S' => (*random.pick(&["", "s"])).to_owned(),
            'T' => (*random.pick(&["t", "b"])).to_owned(),
            'X' => (*random.pick(&["", "x"])).to_owned(),
            'R' => (*random.pick(&["", "r"])).to_owned(),
            'P' => (*random.pick(&["s", "q", "sh", "u", "uq", "uh"])).to_owned(),
            'H' => format!("{} #{}", random.pick(&SHIFTS), 1 + random.below(31)),
            'f' => format!("s{}", random.below(32)),
            'm' => {
                let byte = random.below(256);
                let forms = [byte, byte << 16 | byte, byte << 24 | byte << 8, byte * 0x0101_0101];
                let rotated = ((byte as u32) | 0x80).rotate_right(8 + random.below(24) as u32);
                if random.below(2) == 0 { random.pick(&forms).to_string() } else { rotated.to_string() }
            }
            'F' => {
                let at = random.below(32);
                format!("{at}, #{}", 1 + random.below(32 - at))
            }
            'i' => random.below(8).to_string(),
            'b' => random.below(256).to_string(),
            's' => (1 + random.below(31)).to_string(),
            'k' => (1 + random.below(32)).to_string(),
            'p' => random.below(32).to_string(),
            'e' => (1 + random.below(16)).to_string(),
            'h' => random.below(0x1_0000).to_string(),
            't' => random.below(4096).to_string(),
            'r' => (8 * random.below(4)).to_string(),
            'w' => (4 * random.below(16)).to_string(),
            'o' => (2 * random.below(32)).to_string(),
            'y' => random.below(64).to_string(),
            'u' => random.below(61).to_string(),
            'x' => (4 * random.below(15)).to_string(),
            'q' => random.below(16).to_string(),
            other => panic!("%{other} in {template}"),
        };
        text.push_str(&word);
    }
    text
}
