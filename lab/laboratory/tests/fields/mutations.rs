//! Carries that are left out of the machine code itself, one instruction at a time.

use super::board::Board;

/// An instruction that takes a carry or a second summand, and the same without it.
#[derive(Clone, Debug)]
pub(super) struct Mutation {
    pub address: u32,
    /// What it was.
    pub what: &'static str,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Mutation {
    /// Of each instruction that was executed and has such a form.
    pub(super) fn all(board: &Board) -> Vec<Self> {
        board.executed().into_iter().filter_map(|address| Self::of(board, address)).collect()
    }

    /// The encodings are those of the ARMv7-M architecture manual, A7.7.
    fn of(board: &Board, address: u32) -> Option<Self> {
        let code = board.code(address, 4);
        let half = |at: usize| u16::from_le_bytes([code[at], code[at + 1]]);
        let (first, second) = (half(0), half(2));
        let (low, high) = (first & 7, first >> 3 & 7);
        let narrow = |what, code: u16| (what, code.to_le_bytes().to_vec());
        let wide = |what, first: u16, second: u16| {
            (what, [first.to_le_bytes(), second.to_le_bytes()].as_flattened().to_vec())
        };
        let (what, after) = match first {
            // ADCS Rdn, Rm: ADDS Rdn, Rdn, Rm.
            0x4140..0x4180 => narrow("ADCS", 0x1800 | high << 6 | low << 3 | low),
            // SBCS Rdn, Rm: SUBS Rdn, Rdn, Rm.
            0x4180..0x41c0 => narrow("SBCS", 0x1a00 | high << 6 | low << 3 | low),
            // With a register, and with an immediate.
            _ if first & 0xffe0 == 0xeb40 => wide("ADC", first & !0x0040, second),
            _ if first & 0xffe0 == 0xeb60 => wide("SBC", first ^ 0x00c0, second),
            _ if first & 0xfbe0 == 0xf140 => wide("ADC", first & !0x0040, second),
            _ if first & 0xfbe0 == 0xf160 => wide("SBC", first ^ 0x00c0, second),
            // UMAAL: UMULL, which adds neither of its two summands.
            _ if first & 0xfff0 == 0xfbe0 && second & 0x00f0 == 0x0060 => {
                wide("UMAAL", first & !0x0040, second & !0x00f0)
            }
            _ => return None,
        };
        Some(Self { address, what, before: code[..after.len()].to_vec(), after })
    }

    pub(super) fn apply(&self, board: &mut Board) {
        assert_eq!(board.code(self.address, self.before.len()), self.before);
        board.patch(self.address, &self.after);
    }
}
