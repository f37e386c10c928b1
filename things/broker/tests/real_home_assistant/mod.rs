//! The real Home Assistant beside a real mosquitto.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use motemix_broker::Change;
use motemix_broker::state::RegistrationId;
use motemix_coap::format;
use serde_json::Value as Json;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use super::device::Device;
use super::mosquitto::{Mosquitto, Network, story};
use super::{FAST, OPEN, known};

/// Longer than a busy machine takes to start it.
const PATIENCE: Duration = Duration::from_secs(600);

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/home-assistant").join(name)
}

struct House {
    folder: TempDir,
    port: u16,
    process: Child,
    token: String,
}

impl Drop for House {
    fn drop(&mut self) {
        // What it started ends with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl House {
    async fn start(mosquitto: &Mosquitto) -> Self {
        let folder = TempDir::new().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut run = Command::new(script("run"));
        run.arg(folder.path()).arg(port.to_string()).stdin(Stdio::null());
        let process = run.spawn().expect("scripts/home-assistant/run is missing");
        let mut house = Self { folder, port, process, token: String::new() };
        let token = house.ask(&["begin", &mosquitto.port.to_string()]).await;
        house.token.push_str(token.trim());
        house
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Without waiting for it on this thread, on which the broker and the bridge are.
    async fn ask(&self, arguments: &[&str]) -> String {
        let output = self.try_ask(arguments).await;
        output.unwrap_or_else(|said| panic!("{arguments:?}: {said}\n{}", self.log()))
    }

    async fn try_ask(&self, arguments: &[&str]) -> Result<String, String> {
        let mut ask = Command::new(script("ask.py"));
        ask.arg(self.port.to_string()).args(arguments);
        let output = tokio::task::spawn_blocking(move || ask.output()).await.unwrap().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(said)
        }
    }

    /// Waits until all entities have these states.
    async fn until(&self, what: &str, wanted: &[(&str, &str)]) -> Json {
        let end = Instant::now() + PATIENCE;
        loop {
            let states = self.try_ask(&["states", &self.token]).await.unwrap_or_default();
            let states: Json = serde_json::from_str(&states).unwrap_or_default();
            if wanted.iter().all(|(entity, state)| states[*entity]["state"] == *state) {
                return states;
            }
            if Instant::now() > end {
                let mut found = String::new();
                for (entity, wanted) in wanted {
                    let _ = writeln!(found, "{entity} is to be {wanted}: {}", states[*entity]);
                }
                let ids = states.as_object().map(|states| states.keys().cloned().collect::<Vec<_>>());
                panic!("{what}: {found}of {ids:?}\n{}", self.log());
            }
            sleep(Duration::from_millis(500)).await;
        }
    }

    async fn says(&self, template: &str) -> String {
        self.ask(&["template", &self.token, template]).await.trim().to_owned()
    }

    async fn call(&self, service: &str, entity: &str) {
        self.ask(&["call", &self.token, service, entity]).await;
    }

    /// Lines about what the bridge sent that are no information. Those of the client are about its
    /// connection, which this story cuts.
    fn complaints(&self) -> Vec<String> {
        const PARTS: [&str; 4] =
            ["components.mqtt", "components.sensor", "components.number", "helpers.template"];
        let log = self.log();
        let is_complaint = |line: &&str| {
            (line.contains("WARNING") || line.contains("ERROR"))
                && PARTS.iter().any(|part| line.contains(part))
                && !line.contains("components.mqtt.client]")
        };
        log.lines().filter(is_complaint).map(str::to_owned).collect()
    }
}

const LIVE: [(&str, &str); 9] = [
    ("sensor.cellar_boiler_temperature", "21.5"),
    ("sensor.cellar_boiler_battery", "80"),
    ("sensor.cellar_boiler_rssi", "-70"),
    ("binary_sensor.cellar_boiler_open", "on"),
    ("sensor.meter_power", "1"),
    ("sensor.meter_energy", "4"),
    ("sensor.meter_battery", "3"),
    ("sensor.probe_slow", "7"),
    ("switch.building_3_valve_open", "off"),
];
const DEAD: (&str, &str) = ("sensor.probe_fast", "unavailable");

#[test]
#[ignore = "runs Home Assistant, which takes minutes: scripts/setup home_assistant"]
fn home_assistant_shows_what_is_alive_and_has_nothing_to_complain_of() {
    let made = Command::new(script("tree")).stdout(Stdio::null()).status();
    assert!(made.unwrap().success(), "scripts/setup home_assistant");
    story(async {
        let mut device = Device::new(1);
        let mut changes = known(&device, "boiler");
        let Change::Registration(_, Some(registration)) = &changes[0] else { unreachable!() };
        let mut registration = (**registration).clone();
        registration.endpoint = format!("MOTEMIX:ID:{:.32}", device.identity).into();
        let attributes = [("place", "Cellar"), ("purpose", "boiler"), ("model", "T 1000")];
        registration.attributes =
            Vec::from(attributes.map(|(name, value)| (name.into(), Some(value.into()))));
        changes[0] = Change::Registration(RegistrationId("r".into()), Some(Arc::new(registration)));
        let network = Network::start(&changes).await;
        let mut mosquitto = Mosquitto::start(OPEN);
        let settings = format!(
            "{FAST}commands = {{ topics = [\"building/+/valve\"] }}\n\
             home_assistant = {{ page = \"http://broker.lan:8680/\" }}"
        );
        let bridging = network.bridge(&mosquitto, &settings);

        let pack = r#"[{"bn":"urn:dev:mac:0024befffe804ff1:","n":"temperature","u":"Cel","v":21.5,"ut":3000},
            {"n":"battery","u":"%EL","v":80},{"n":"rssi","u":"dBm","v":-70},{"n":"open","vb":true}]"#;
        network.put("t1", format::COSE_SIGN1, &device.seal(7, pack)).await;
        let meter = network.create("meter").await;
        let all =
            r#"[{"n":"power","u":"W","v":1},{"n":"energy","u":"kWh","v":2},{"n":"battery","u":"%EL","v":3}]"#;
        network.put_senml(&meter, all).await;
        network.put_senml(&meter, r#"[{"n":"energy","u":"kWh","v":4}]"#).await;
        let valve = network.create("building/3/valve").await;
        network.create("building/3/valve/command").await;
        network.put_senml(&valve, r#"[{"n":"open","vb":false}]"#).await;
        let text = "ü".repeat(5000);
        let note = network.create("note").await;
        network.put_senml(&note, &format!(r#"[{{"n":"program","vs":"{text}"}}]"#)).await;
        // Each unit, of which thirty have room in a topic.
        for (number, units) in
            super::UNITS.split_ascii_whitespace().collect::<Vec<_>>().chunks(30).enumerate()
        {
            let of = network.create(&format!("units/{number}")).await;
            let records = units
                .iter()
                .enumerate()
                .map(|(at, unit)| format!(r#"{{"n":"unit{at}","u":"{unit}","v":1}}"#));
            network.put_senml(&of, &format!("[{}]", records.collect::<Vec<_>>().join(","))).await;
        }
        let probe = network.create("probe").await;
        network.put_senml(&probe, r#"[{"n":"slow","v":7,"ut":3000}]"#).await;

        let house = House::start(&mosquitto).await;
        let states = house.until("all appear", &LIVE).await;
        // By now Home Assistant has little to do.
        network.put_senml(&probe, r#"[{"n":"fast","v":34,"ut":30},{"n":"slow","v":7,"ut":3000}]"#).await;
        house.until("one more appears", &[("sensor.probe_fast", "34")]).await;
        let temperature = &states["sensor.cellar_boiler_temperature"]["attributes"];
        assert_eq!(temperature["friendly_name"], "Cellar boiler Temperature");
        assert_eq!(temperature["unit_of_measurement"], "°C");
        let program = &states["sensor.note_program"];
        assert_eq!(program["state"].as_str().unwrap().chars().count(), 255);
        assert_eq!(program["attributes"]["value"], text.as_str());
        let units = states.as_object().unwrap().keys().filter(|id| id.contains(".units_")).count();
        assert_eq!(units, super::UNITS.split_ascii_whitespace().count());
        let device = "device_attr('sensor.cellar_boiler_temperature', 'NAME')";
        for (name, wanted) in [
            ("manufacturer", "motemix"),
            ("model", "T 1000"),
            ("sw_version", env!("CARGO_PKG_VERSION")),
            ("configuration_url", "http://broker.lan:8680/"),
        ] {
            assert_eq!(house.says(&format!("{{{{ {} }}}}", device.replace("NAME", name))).await, wanted);
        }
        let area = house.says("{{ area_name('sensor.cellar_boiler_temperature') }}").await;
        assert_eq!(area, "Cellar");

        house.call("switch/turn_on", "switch.building_3_valve_open").await;
        let end = Instant::now() + PATIENCE;
        while network.value("building/3/valve/command").as_deref() != Some("true") {
            assert!(Instant::now() < end, "the valve was not commanded: {}", house.log());
            sleep(Duration::from_millis(100)).await;
        }

        // The slow one goes on, which says nothing of the fast one.
        network.put_senml(&probe, r#"[{"n":"slow","v":7,"ut":3000}]"#).await;
        let mut later = LIVE.to_vec();
        later.push(DEAD);
        house.until("one has ended", &later).await;
        house.ask(&["call", &house.token, "homeassistant/restart"]).await;
        house.until("Home Assistant started again", &later).await;
        mosquitto.kill();
        mosquitto.restart();
        house.until("MQTT started again, without memory", &later).await;
        bridging.stop().await;
        house.until("the bridge is away", &LIVE.map(|(entity, _)| (entity, "unavailable"))).await;
        let mut bridging = network.bridge(&mosquitto, &settings);
        house.until("the bridge started again", &later).await;

        network.delete(&["ps", &note]).await;
        bridging.until("done", |status| status.counters.removed > 0).await;
        let end = Instant::now() + PATIENCE;
        while house.says("{{ states('sensor.note_program') }}").await != "unknown"
            || house.says("{{ states.sensor.note_program is none }}").await == "False"
        {
            assert!(Instant::now() < end, "what went is still there");
            sleep(Duration::from_millis(500)).await;
        }
        assert_eq!(house.complaints(), [""; 0], "{}", house.log());
    });
}
