//! The labels of RFC 8428, 4.3 and 6.

/// What a field is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Label {
    BaseName,
    BaseTime,
    BaseUnit,
    BaseValue,
    BaseSum,
    Version,
    Name,
    Unit,
    Time,
    UpdateTime,
    Value,
    StringValue,
    BooleanValue,
    DataValue,
    Sum,
}

impl Label {
    const ALL: [Self; 15] = [
        Self::BaseName,
        Self::BaseTime,
        Self::BaseUnit,
        Self::BaseValue,
        Self::BaseSum,
        Self::Version,
        Self::Name,
        Self::Unit,
        Self::Time,
        Self::UpdateTime,
        Self::Value,
        Self::StringValue,
        Self::BooleanValue,
        Self::DataValue,
        Self::Sum,
    ];

    /// In JSON, and the key in CBOR.
    const fn forms(self) -> (&'static str, i8) {
        match self {
            Self::BaseName => ("bn", -2),
            Self::BaseTime => ("bt", -3),
            Self::BaseUnit => ("bu", -4),
            Self::BaseValue => ("bv", -5),
            Self::BaseSum => ("bs", -6),
            Self::Version => ("bver", -1),
            Self::Name => ("n", 0),
            Self::Unit => ("u", 1),
            Self::Value => ("v", 2),
            Self::StringValue => ("vs", 3),
            Self::BooleanValue => ("vb", 4),
            Self::Sum => ("s", 5),
            Self::Time => ("t", 6),
            Self::UpdateTime => ("ut", 7),
            Self::DataValue => ("vd", 8),
        }
    }

    pub(super) const fn name(self) -> &'static str {
        self.forms().0
    }

    pub(super) const fn key(self) -> i8 {
        self.forms().1
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|label| label.name() == name)
    }

    pub(super) fn of_key(key: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|label| i64::from(label.key()) == key)
    }

    /// Whether a label that is not known may be left out (RFC 8428, 4.4).
    pub(super) fn may_be_ignored(unknown: &str) -> bool {
        !unknown.ends_with('_')
    }
}
