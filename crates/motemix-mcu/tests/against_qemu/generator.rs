//! Random instructions as assembler text.
//!
//! In a template `%1` to `%4` are different registers of R0 to R5 and R7, `%A` to `%D` different ones of R0 to R5 and R7
//! to R12, `%l` and `%a` any of these, `%3` … numbers: `%i` 0 to 7, `%b` 0 to 255, `%s` 1 to 31, `%p` 0 to 31,
//! `%m` a constant that ARMv7-M can encode, `%h` a halfword, `%r` a rotation, `%c` a condition; `%w`, `%o`, `%y`
//! and `%u` are offsets of words, halfwords, bytes and unaligned words in 64 bytes, `%S` is `s` or nothing, `%H` a shift, `%T` T or B;
//! `%f` a floating-point register. R6 points to the 64 bytes and is never written.

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

/// ARMv6-M.
const SMALL: &[&str] = &[
    "movs %l, #%b",
    "adds %l, %l, #%i",
    "subs %l, %l, #%i",
    "adds %l, #%b",
    "subs %l, #%b",
    "cmp %l, #%b",
    "adds %l, %l, %l",
    "subs %l, %l, %l",
    "add %a, %a",
    "mov %a, %a",
    "cmp %a, %a",
    "cmp %1, %2",
    "ands %1, %2",
    "eors %1, %2",
    "orrs %1, %2",
    "bics %1, %2",
    "adcs %1, %2",
    "sbcs %1, %2",
    "mvns %l, %l",
    "muls %1, %2, %1",
    "tst %l, %l",
    "cmn %l, %l",
    "rsbs %l, %l, #0",
    "lsls %l, %l, #%s",
    "lsrs %l, %l, #%s",
    "asrs %l, %l, #%s",
    "lsrs %l, %l, #32",
    "asrs %l, %l, #32",
    "movs %l, %l",
    "lsls %1, %2",
    "lsrs %1, %2",
    "asrs %1, %2",
    "rors %1, %2",
    "movs %1, #%b\n rors %2, %1",
    "movs %1, #%p\n lsls %2, %1",
    "movs %1, #32\n lsrs %2, %1",
    "movs %1, #33\n asrs %2, %1",
    "sxtb %l, %l",
    "sxth %l, %l",
    "uxtb %l, %l",
    "uxth %l, %l",
    "rev %l, %l",
    "rev16 %l, %l",
    "revsh %l, %l",
    "str %l, [r6, #%w]",
    "ldr %l, [r6, #%w]",
    "strh %l, [r6, #%o]",
    "ldrh %l, [r6, #%o]",
    "strb %l, [r6, #%z]",
    "ldrb %l, [r6, #%z]",
    "movs %1, #%w\n ldr %2, [r6, %1]",
    "movs %1, #%w\n str %2, [r6, %1]",
    "movs %1, #%o\n ldrh %2, [r6, %1]",
    "movs %1, #%o\n ldrsh %2, [r6, %1]",
    "movs %1, #%y\n ldrb %2, [r6, %1]",
    "movs %1, #%y\n ldrsb %2, [r6, %1]",
    "movs %1, #%o\n strh %2, [r6, %1]",
    "movs %1, #%y\n strb %2, [r6, %1]",
    "push {r0, r2, r5, r7}\n pop {r1, r3, r4, r7}",
    "push {r0-r5}\n add sp, #8\n pop {r1, r3, r4, r7}",
    "sub sp, #16\n str %1, [sp, #4]\n ldr %2, [sp, #4]\n add sp, #16",
    "mov r7, r6\n stmia r7!, {r0, r1, r3}",
    "mov r7, r6\n ldmia r7!, {r0, r2, r4}",
    "mov r5, r6\n ldmia r5, {r1, r5}",
    "b%c 9f\n adds %1, #%b\n mvns %2, %1\n 9:",
    "b 9f\n movs %1, #%b\n 9:",
    "adr %1, 9f\n b 9f\n .balign 4\n 9:",
    "bl leaf",
    "mrs %a, apsr",
    "mrs %a, primask",
    "nop",
    "dmb",
    "b 8f\n 7: adds %1, #1\n b 9f\n 8: cmp %1, %2\n b%c 7b\n 9:",
];

/// ARMv7-M adds these.
const MEDIUM: &[&str] = &[
    "and%S %a, %a, %a, %H",
    "bic%S %a, %a, %a, %H",
    "orr%S %a, %a, %a, %H",
    "orn%S %a, %a, %a, %H",
    "eor%S %a, %a, %a, %H",
    "add%S %a, %a, %a, %H",
    "adc%S %a, %a, %a, %H",
    "sbc%S %a, %a, %a, %H",
    "sub%S %a, %a, %a, %H",
    "rsb%S %a, %a, %a, %H",
    "mvn%S %a, %a, %H",
    "tst %a, %a, %H",
    "teq %a, %a, %H",
    "cmn %a, %a, %H",
    "cmp %a, %a, %H",
    "mov%S.w %a, %a",
    "rrx%S %a, %a",
    "adds.w %a, %a, %a, rrx",
    "lsl%S.w %a, %a, #%s",
    "lsr%S.w %a, %a, #%s",
    "asr%S.w %a, %a, #%s",
    "ror%S.w %a, %a, #%s",
    "lsl%S.w %a, %a, %a",
    "lsr%S.w %a, %a, %a",
    "asr%S.w %a, %a, %a",
    "ror%S.w %a, %a, %a",
    "and%S %a, %a, #%m",
    "bic%S %a, %a, #%m",
    "orr%S %a, %a, #%m",
    "orn%S %a, %a, #%m",
    "eor%S %a, %a, #%m",
    "add%S.w %a, %a, #%m",
    "adc%S %a, %a, #%m",
    "sbc%S %a, %a, #%m",
    "sub%S.w %a, %a, #%m",
    "rsb%S.w %a, %a, #%m",
    "mov%S.w %a, #%m",
    "mvn%S %a, #%m",
    "tst %a, #%m",
    "teq %a, #%m",
    "cmn %a, #%m",
    "cmp.w %a, #%m",
    "addw %a, %a, #%t",
    "subw %a, %a, #%t",
    "movw %a, #%h",
    "movt %a, #%h",
    "mul %a, %a, %a",
    "mla %a, %a, %a, %a",
    "mls %a, %a, %a, %a",
    "umull %A, %B, %C, %D",
    "smull %A, %B, %C, %D",
    "umlal %A, %B, %C, %D",
    "smlal %A, %B, %C, %D",
    "umull %A, %B, %A, %B",
    "udiv %a, %a, %a",
    "sdiv %a, %a, %a",
    "and %A, %B, #7\n udiv %C, %D, %A",
    "and %A, %B, #15\n sdiv %C, %D, %A",
    "clz %a, %a",
    "rbit %a, %a",
    "rev.w %a, %a",
    "rev16.w %a, %a",
    "revsh.w %a, %a",
    "sxtb.w %a, %a, ror #%r",
    "sxth.w %a, %a, ror #%r",
    "uxtb.w %a, %a, ror #%r",
    "uxth.w %a, %a, ror #%r",
    "bfi %a, %a, #%F",
    "bfc %a, #%F",
    "ubfx %a, %a, #%F",
    "sbfx %a, %a, #%F",
    "ssat %a, #%k, %a, lsl #%s",
    "ssat %a, #%k, %a, asr #%s",
    "usat %a, #%p, %a, lsl #%s",
    "usat %a, #%p, %a, asr #%s",
    "ssat %a, #%k, %a",
    "usat %a, #%p, %a",
    "msr apsr_nzcvq, %a",
    "it %c\n %E",
    "it %c\n add{%}s %1, %2, %3",
    "ldr.w %a, [r6, #%w]",
    "ldrsh %a, [r6, #%o]",
    "ldrsb %a, [r6, #%y]",
    "ldr.w %a, [r6, #%u]",
    "str.w %a, [r6, #%u]",
    "ldrh.w %a, [r6, #%u]",
    "strh.w %a, [r6, #%u]",
    "str.w %a, [r6, #%w]",
    "strb.w %a, [r6, #%y]",
    "strh.w %a, [r6, #%o]",
    "mov %A, #%q\n ldr %B, [r6, %A, lsl #2]",
    "mov %A, #%q\n str %B, [r6, %A, lsl #2]",
    "mov %A, #%q\n ldrh %B, [r6, %A, lsl #1]",
    "mov %A, #%q\n ldrsb %B, [r6, %A, lsl #1]",
    "mov %A, #%q\n strb %B, [r6, %A, lsl #1]",
    "add %A, r6, #32\n ldr %B, [%A, #-%q]!",
    "add %A, r6, #32\n ldr %B, [%A], #%q",
    "add %A, r6, #32\n str %B, [%A, #%q]!",
    "add %A, r6, #32\n strb %B, [%A], #-%q",
    "add %A, r6, #32\n ldrsh %B, [%A], #%q",
    "add %A, r6, #32\n strh %B, [%A, #-%q]",
    "add %A, r6, #32\n ldrd %B, %C, [%A, #8]!",
    "add %A, r6, #32\n strd %B, %C, [%A], #-16",
    "ldrd %A, %B, [r6, #%x]",
    "strd %A, %B, [r6, #%x]",
    "mov r12, r6\n stmia r12!, {r1, r4, r8, r10}",
    "add r12, r6, #32\n ldmdb r12!, {r0, r3, r9}",
    "add r12, r6, #32\n stmdb r12, {r2, r7, r11}",
    "mov r12, r6\n ldmia.w r12, {r0, r5, r8, r12}",
    "push.w {r0, r8, r11}\n pop.w {r1, r9, r12}",
    "ldrex %A, [r6, #20]\n strex %B, %C, [r6, #20]",
    "ldrexh %A, [r6]\n strexh %B, %C, [r6]",
    "strex %A, %B, [r6]",
    "ldrexb %A, [r6]\n strexb %B, %C, [r6]",
    "ldrexb %A, [r6]\n clrex\n strexb %B, %C, [r6]",
    "cbz %1, 9f\n adds %2, #%b\n 9:",
    "cbnz %1, 9f\n mvns %2, %1\n 9:",
    "b%c.w 9f\n adds %1, #%b\n 9:",
    "b.w 9f\n nop\n 9:",
    "and %A, %B, #3\n tbb [pc, %A]\n 8: .byte (7f-8b)/2, (6f-8b)/2, (9f-8b)/2, (6f-8b)/2\n 7: add %C, #1\n 6: add %C, #5\n 9:",
    "and %A, %B, #1\n tbh [pc, %A, lsl #1]\n 8: .hword (7f-8b)/2, (9f-8b)/2\n 7: add %C, #77\n 9:",
];

/// ARMv7E-M adds these, and the registers of the floating-point unit.
const LARGE: &[&str] = &[
    "umaal %A, %B, %C, %D",
    "smul%T%T %a, %a, %a",
    "smla%T%T %a, %a, %a, %a",
    "smulw%T %a, %a, %a",
    "smlaw%T %a, %a, %a, %a",
    "smuad%X %a, %a, %a",
    "smusd%X %a, %a, %a",
    "smlad%X %a, %a, %a, %a",
    "smlsd%X %a, %a, %a, %a",
    "smlald%X %A, %B, %C, %D",
    "smlsld%X %A, %B, %C, %D",
    "smlal%T%T %A, %B, %C, %D",
    "smmul%R %a, %a, %a",
    "smmla%R %a, %a, %a, %a",
    "smmls%R %a, %a, %a, %a",
    "usad8 %a, %a, %a",
    "usada8 %a, %a, %a, %a",
    "%Padd16 %a, %a, %a",
    "%Pasx %a, %a, %a",
    "%Psax %a, %a, %a",
    "%Psub16 %a, %a, %a",
    "%Padd8 %a, %a, %a",
    "%Psub8 %a, %a, %a",
    "uadd8 %A, %B, %C\n sel %D, %A, %B",
    "sel %a, %a, %a",
    "qadd %a, %a, %a",
    "qsub %a, %a, %a",
    "qdadd %a, %a, %a",
    "qdsub %a, %a, %a",
    "pkhbt %a, %a, %a, lsl #%s",
    "pkhbt %a, %a, %a",
    "pkhtb %a, %a, %a, asr #%s",
    "pkhtb %a, %a, %a, asr #32",
    "sxtb16 %a, %a, ror #%r",
    "uxtb16 %a, %a, ror #%r",
    "sxtab16 %a, %a, %a, ror #%r",
    "uxtab16 %a, %a, %a, ror #%r",
    "sxtab %a, %a, %a, ror #%r",
    "uxtab %a, %a, %a, ror #%r",
    "sxtah %a, %a, %a, ror #%r",
    "uxtah %a, %a, %a, ror #%r",
    "ssat16 %a, #%e, %a",
    "usat16 %a, #%d, %a",
    "msr apsr_nzcvqg, %a",
    "vmov %f, %a",
    "vmov %a, %f",
    "vmov.f32 %f, %f",
    "vmov %A, %B, d3",
    "vmov d5, %A, %B",
    "vmov %A, %B, s9, s10",
    "vmov s3, s4, %A, %B",
    "vmov.f32 %f, #1.5",
    "vmov.f32 %f, #-0.15625",
    "vstr %f, [r6, #%w]",
    "vldr %f, [r6, #%w]",
    "vldr d4, [r6, #%x]",
    "vstr d2, [r6, #%x]",
    "vpush {s1-s4}\n vpop {s16-s19}",
    "vpush {d1-d3}\n vpop {d8-d10}",
    "mov %A, r6\n vstmia %A!, {s2-s6}",
    "add %A, r6, #48\n vldmdb %A!, {s7-s11}",
    "mov %A, r6\n vldmia %A, {d6-d8}",
    ".fpu fpv5-d16\n vmov.32 %a, d3[1]\n .fpu fpv4-sp-d16",
    ".fpu fpv5-d16\n vmov.32 d7[0], %a\n .fpu fpv4-sp-d16",
    "vmsr fpscr, %A\n vmrs %B, fpscr",
    "and %A, %B, #0xF0000000\n vmsr fpscr, %A\n vmrs apsr_nzcv, fpscr",
];

/// Instructions that a block of one condition can hold.
const CONDITIONAL: &[&str] = &[
    "add%! %1, %2, %3",
    "mov%! %a, %a",
    "and%! %1, %2",
    "str%! %l, [r6, #%w]",
    "ldr%! %l, [r6, #%w]",
    "cmp%! %l, #%b",
    "lsl%! %1, %2, #%s",
    "mul%! %1, %2, %1",
    "orrs%!.w %a, %a, #%m",
    "umull%! %A, %B, %C, %D",
];

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
        text += &match token {
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
            'd' => random.below(16).to_string(),
            'e' => (1 + random.below(16)).to_string(),
            'h' => random.below(0x1_0000).to_string(),
            't' => random.below(4096).to_string(),
            'r' => (8 * random.below(4)).to_string(),
            'w' => (4 * random.below(16)).to_string(),
            'o' => (2 * random.below(32)).to_string(),
            'y' => random.below(64).to_string(),
            'u' => random.below(61).to_string(),
            'z' => random.below(32).to_string(),
            'x' => (4 * random.below(15)).to_string(),
            'q' => random.below(16).to_string(),
            other => panic!("%{other} in {template}"),
        };
    }
    text
}
