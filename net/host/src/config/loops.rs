//! When loops that do not come back raise the alarm.

use std::ops::RangeInclusive;

use motemix_node::LoopTest;
use motemix_toml::Fault;
use serde::{Deserialize, Serialize};

/// The section `[loops]`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct LoopWatch {
    /// The most of the loops that are lost without an attacker, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub honest_loss: Option<f64>,
    /// How many are lost in the attack for which the test is fastest, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attack_loss: Option<f64>,
    /// Loops between two false alarms in the mean, at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between_false_alarms: Option<u32>,
}

/// Losses without an attacker and with one, and the loops between false alarms.
const USUAL: (f64, f64, u32) = (0.05, 0.2, 1_000_000);
const LOSS: RangeInclusive<f64> = 0.001..=0.999;

impl LoopWatch {
    pub(super) fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The test of a node with these settings.
    #[expect(clippy::cast_sign_loss, reason = "it is between 1 and 999")]
    pub(crate) fn test(&self) -> LoopTest {
        let (honest, attacked, loops) = self.filled_in();
        let per_mille = |share: f64| (share.clamp(0.001, 0.999) * 1000.0).round() as u16;
        let honest = per_mille(honest).min(997);
        LoopTest::new(honest, per_mille(attacked).clamp(honest + 1, 999), loops)
    }

    fn filled_in(&self) -> (f64, f64, u32) {
        let (honest, attacked, loops) = USUAL;
        (
            self.honest_loss.unwrap_or(honest),
            self.attack_loss.unwrap_or(attacked),
            self.between_false_alarms.unwrap_or(loops),
        )
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        for (field, loss) in
            [("loops.honest_loss", self.honest_loss), ("loops.attack_loss", self.attack_loss)]
        {
            if let Some(loss) = loss.filter(|loss| !LOSS.contains(loss)) {
                return Err(Fault::new(field, format!("is {loss}"), "choose 0.001 to 0.999"));
            }
        }
        let (honest, attacked, loops) = self.filled_in();
        if honest + 0.001 > attacked {
            let problem = format!("is {attacked}, and {honest} are lost without an attack");
            return Err(Fault::new("loops.attack_loss", problem, "choose more than loops.honest_loss"));
        }
        if loops < 100 {
            let remedy = "choose 100 at least; 1000000 are usual";
            return Err(Fault::new("loops.between_false_alarms", format!("is {loops}"), remedy));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_what_a_node_has_by_itself() {
        let usual = LoopWatch::default();
        assert_eq!(usual.test(), LoopTest::USUAL);
    }

    #[test]
    fn what_makes_no_test_is_refused_by_name() {
        let usual = LoopWatch::default();
        for (watch, field) in [
            (LoopWatch { honest_loss: Some(0.0), ..usual }, "loops.honest_loss"),
            (LoopWatch { attack_loss: Some(1.5), ..usual }, "loops.attack_loss"),
            (LoopWatch { honest_loss: Some(0.3), ..usual }, "loops.attack_loss"),
            (LoopWatch { between_false_alarms: Some(0), ..usual }, "loops.between_false_alarms"),
        ] {
            let fault = watch.check().unwrap_err();
            assert_eq!(fault.field, field);
        }
        assert!(LoopWatch { honest_loss: Some(f64::NAN), ..usual }.check().is_err());
        assert!(LoopWatch { honest_loss: Some(0.3), attack_loss: Some(0.5), ..usual }.check().is_ok());
    }
}
