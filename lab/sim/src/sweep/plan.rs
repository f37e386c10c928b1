//! Which runs a sweep consists of.

use crate::scenario::{Draft, Scenario, Setting};
use blake2::{Blake2s256, Digest as _};
use motemix_toml::{Fault, FileError};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Most runs of one sweep; more is a slip.
const MOST: u64 = 1_000_000;

/// One run of a sweep.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Planned {
    /// Its number; runs are counted from 0, first over seeds, then over values.
    pub id: u32,
    /// Where its chance comes from.
    pub seed: u64,
    /// What differs from the scenario's file.
    #[serde(serialize_with = "by_field")]
    pub settings: Vec<Setting>,
}

fn by_field<S: Serializer>(settings: &[Setting], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(settings.iter().map(|setting| (&setting.field, &setting.value)))
}

/// All runs of a sweep.
#[derive(Clone, Debug)]
pub struct Plan {
    draft: Draft,
    base: Vec<Setting>,
    name: String,
    fields: Vec<String>,
    seeds: u32,
    runs: Vec<Planned>,
    digest: String,
}

impl Plan {
    /// The runs of a scenario with `base` changed in all of them. Every combination is checked.
    ///
    /// # Errors
    /// The scenario has no section `[sweep]`, or it or one of the combinations cannot be.
    pub fn of(draft: &Draft, base: &[Setting]) -> Result<Self, FileError> {
        let scenario = draft.with(base)?;
        let fault = |field: &str, problem: String, remedy: &str| {
            FileError::without_line(draft.file(), Fault::new(field, problem, remedy))
        };
        let Some(sweep) = &scenario.sweep else {
            let remedy = "add it, with seeds = 5 and vary = { \"nodes.mote.count\" = [10, 20] }";
            return Err(fault("sweep", "is missing".into(), remedy));
        };
        let taken = base.iter().find(|setting| sweep.vary.contains_key(&setting.field));
        if let Some(setting) = taken {
            let problem = format!("is set to {}, and the sweep varies it", setting.value);
            return Err(fault(&setting.field, problem, "leave one of them out"));
        }
        let combinations = sweep.vary.values().map(|values| values.len() as u64);
        let runs = combinations.fold(u64::from(sweep.seeds), u64::saturating_mul);
        if runs > MOST {
            return Err(fault("sweep", format!("has {runs} runs"), "a sweep has at most 1000000"));
        }
        let combinations = combinations_of(&sweep.vary);
        for settings in &combinations {
            draft.with(&[base, settings.as_slice()].concat())?;
        }
        let seeds = || (0..sweep.seeds).map(|more| scenario.seed.wrapping_add(u64::from(more)));
        let runs = combinations.iter().flat_map(|settings| seeds().map(move |seed| (seed, settings)));
        let runs =
            (0..).zip(runs).map(|(id, (seed, settings))| Planned { id, seed, settings: settings.clone() });
        Ok(Self {
            runs: runs.collect(),
            base: base.to_vec(),
            name: scenario.name.clone(),
            fields: sweep.vary.keys().cloned().collect(),
            seeds: sweep.seeds,
            digest: digest(&scenario),
            draft: draft.clone(),
        })
    }

    /// The scenario's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All runs, in the order of their numbers.
    pub fn runs(&self) -> &[Planned] {
        &self.runs
    }

    /// The run of this number.
    pub fn run(&self, id: u32) -> Option<&Planned> {
        self.runs.get(id as usize)
    }

    /// What is varied, in the order of the names.
    pub fn fields(&self) -> &[String] {
        &self.fields
    }

    /// Runs of each combination.
    pub const fn seeds(&self) -> u32 {
        self.seeds
    }

    /// Digest of the scenario, whatever its text looks like, and of this program's version: results
    /// of plans with the same digest are the same.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// What a run is to do.
    ///
    /// # Errors
    /// None for a run of this plan.
    pub fn scenario(&self, run: &Planned) -> Result<Scenario, FileError> {
        let scenario = self.draft.with(&[&self.base, run.settings.as_slice()].concat())?;
        Ok(Scenario { seed: run.seed, sweep: None, ..scenario })
    }
}

/// Every combination; the values of the last field change first.
fn combinations_of(vary: &BTreeMap<String, Vec<toml::Value>>) -> Vec<Vec<Setting>> {
    vary.iter().fold(vec![Vec::new()], |before, (field, values)| {
        let with = |settings: &Vec<Setting>, value: &toml::Value| {
            let setting = Setting { field: field.clone(), value: value.clone() };
            settings.iter().cloned().chain([setting]).collect()
        };
        before.iter().flat_map(|settings| values.iter().map(move |value| with(settings, value))).collect()
    })
}

fn digest(scenario: &Scenario) -> String {
    let canonical = Scenario { description: String::new(), ..scenario.clone() };
    let mut hash = Blake2s256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update([0]);
    // Structs and ordered maps of plain values always have a JSON form.
    hash.update(serde_json::to_vec(&canonical).unwrap_or_default());
    hex::encode(&hash.finalize()[..16])
}
