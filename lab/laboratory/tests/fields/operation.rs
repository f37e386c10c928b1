//! What is run, by its name in the program for boards.

/// Operations of `boards/firmware/fields` that have to be right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Add,
    Subtract,
    SumAndDifference,
    Choose,
    Multiply,
    Square,
    MultiplyBySmall,
    Square5Times,
    MultiplyPublic,
    SquarePublic,
    SquarePublic5Times,
    Invert,
    ToBytes,
    LadderStep,
    X25519,
    Combed,
    PublicKey,
}

impl Operation {
    /// The function is `mote_` and this.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Subtract => "subtract",
            Self::SumAndDifference => "sum_and_difference",
            Self::Choose => "choose",
            Self::Multiply => "multiply",
            Self::Square => "square",
            Self::MultiplyBySmall => "multiply_by_small",
            Self::Square5Times => "square_5_times",
            Self::MultiplyPublic => "multiply_public",
            Self::SquarePublic => "square_public",
            Self::SquarePublic5Times => "square_public_5_times",
            Self::Invert => "invert",
            Self::ToBytes => "to_bytes",
            Self::LadderStep => "ladder_step",
            Self::X25519 => "x25519",
            Self::Combed => "combed",
            Self::PublicKey => "public_key",
        }
    }

    /// Whether what comes out is the representative below p, and not any other.
    pub(super) const fn is_exact(self) -> bool {
        matches!(self, Self::Choose | Self::ToBytes | Self::X25519 | Self::Combed | Self::PublicKey)
    }

    /// Which of the elements that come out are results.
    pub(super) const fn results(self) -> std::ops::Range<usize> {
        match self {
            Self::LadderStep => 1..5,
            Self::SumAndDifference => 0..2,
            _ => 0..1,
        }
    }
}
