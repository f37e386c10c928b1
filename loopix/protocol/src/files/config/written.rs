//! A configuration as JSON.

use super::{Config, Form};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

/// What cannot be written: key, problem, remedy.
type Unsayable = (&'static str, String, &'static str);

type Object = Map<String, Value>;

impl Config {
    pub(super) fn write(&self, form: Form) -> Result<Object, Unsayable> {
        match form {
            Form::Sections => self.sections(),
            Form::Flat => self.flat(),
        }
    }

    fn sections(&self) -> Result<Object, Unsayable> {
        let (clients, mixes, providers) = (&self.clients, &self.mixes, &self.providers);
        let common = |loops, delay, database| -> Result<Object, Unsayable> {
            Ok(object([
                ("EXP_PARAMS_LOOPS", text(loops)),
                ("EXP_PARAMS_DELAY", text(delay)),
                ("DATABASE_NAME", path(database)?),
                ("NOISE_LENGTH", json!(self.noise_len.to_string())),
                // The originals fail without these, and then do nothing with them.
                ("PATH_LENGTH", json!("3")),
                ("MAX_DELAY_TIME", json!("-432000")),
                ("DATA_DIR", json!("tmp/mail")),
            ]))
        };
        let mut client = common(clients.loops, clients.delay, &clients.database)?;
        client.extend(object([
            ("EXP_PARAMS_DROP", text(clients.drop)),
            ("EXP_PARAMS_PAYLOAD", text(clients.payload)),
            ("TIME_PULL", text(clients.pull)),
        ]));
        let mix = common(mixes.loops, mixes.delay, &mixes.database)?;
        let mut provider = mix.clone();
        provider.extend(object([("MAX_RETRIEVE", json!(providers.max_retrieve.to_string()))]));
        provider.extend(push(providers.push));
        Ok(object([
            ("parametersClients", client.into()),
            ("parametersMixnodes", mix.into()),
            ("parametersProviders", provider.into()),
        ]))
    }

    /// One object has one value for all roles.
    fn flat(&self) -> Result<Object, Unsayable> {
        let (clients, mixes, providers) = (&self.clients, &self.mixes, &self.providers);
        for (key, is_one) in [
            ("EXP_PARAMS_LOOPS", clients.loops == mixes.loops),
            ("EXP_PARAMS_DELAY", clients.delay == mixes.delay),
            ("DATABASE_NAME", clients.database == mixes.database),
        ] {
            if !is_one {
                let problem = "differs between clients and mixes".to_owned();
                return Err((key, problem, "give both one value, or write the form with sections"));
            }
        }
        if clients.pull.subsec_nanos() != 0 {
            let problem = format!("is {} s", clients.pull.as_secs_f64());
            return Err(("TIME_PULL", problem, "use whole seconds, the Java client reads no others"));
        }
        let mut flat = object([
            ("EXP_PARAMS_LOOPS", number(clients.loops)),
            ("EXP_PARAMS_DROP", number(clients.drop)),
            ("EXP_PARAMS_PAYLOAD", number(clients.payload)),
            ("EXP_PARAMS_DELAY", number(clients.delay)),
            ("TIME_PULL", json!(clients.pull.as_secs())),
            ("MAX_RETRIEVE", json!(providers.max_retrieve)),
            ("NOISE_LENGTH", json!(self.noise_len)),
            ("DATABASE_NAME", path(&clients.database)?),
            ("PATH_LENGTH", json!(3)),
            ("MAX_DELAY_TIME", json!(-432_000)),
            ("DATA_DIR", json!("tmp/mail")),
        ]);
        flat.extend(push(providers.push));
        Ok(flat)
    }
}

/// Only the fork of 2018 says this, and by that it is known.
fn push(push: Option<bool>) -> Object {
    push.map(|push| object([("PUSH_MESSAGES", json!(push))])).unwrap_or_default()
}

fn object<const N: usize>(pairs: [(&str, Value); N]) -> Object {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Seconds as Python writes a float.
fn text(time: Duration) -> Value {
    json!(format!("{:?}", time.as_secs_f64()))
}

fn number(time: Duration) -> Value {
    json!(time.as_secs_f64())
}

fn path(path: &Path) -> Result<Value, Unsayable> {
    let text = path.to_str().ok_or_else(|| {
        ("DATABASE_NAME", format!("{} is not UTF-8", path.display()), "choose another name")
    })?;
    Ok(json!(text))
}
