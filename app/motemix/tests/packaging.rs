//! What is installed beside the program: units of systemd, alerts of Prometheus and a dashboard of
//! Grafana, checked by the programs that read them, and against what nodes tell.

#[path = "operators/namespaces.rs"]
mod namespaces;
mod program;
#[path = "operators/world.rs"]
mod world;

use namespaces::ending_with_the_story;
use program::{Network, Run, Running, motemix, wait_until};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use world::World;

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

/// Runs a program of the system; `scripts/setup` installs it.
fn tool(name: &str, package: &str, words: &[&str]) -> Run {
    let there = Command::new(name).arg("--version").output().is_ok();
    assert!(there, "{name} is missing: run `scripts/setup {package}`");
    Run::by(Command::new(name).args(words))
}

/// Tenths of the most, 10, that `systemd-analyze security` counts for what a unit leaves to its
/// program.
fn exposure(unit: &str) -> u64 {
    let words = ["security", "--offline=true", "--no-pager", unit];
    let said = tool("systemd-analyze", "units", &words).succeeds();
    let figure = said.split("Overall exposure level for ").nth(1).and_then(|rest| rest.split(": ").nth(1));
    let figure = figure.and_then(|rest| rest.split_whitespace().next()).expect("a figure");
    let (whole, tenths) = figure.split_once('.').expect("a figure with a decimal");
    10 * whole.parse::<u64>().expect("a number") + tenths.parse::<u64>().expect("a number")
}

#[test]
fn units_are_sound_and_leave_little_to_a_node() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut seen = 0;
    for unit in fs::read_dir(packaging().join("systemd")).expect("units") {
        let path = unit.expect("a unit").path();
        let text = fs::read_to_string(&path).expect("a unit");
        let unit = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        assert!(text.contains("ExecStart=/usr/bin/motemix "), "{unit}");
        // What is started again when it is stuck says that it is not; `supervised.rs` hears it.
        // And what is in its memory stays there. What was not there after a power cut comes later,
        // however often that is too late.
        for line in [
            "Type=notify",
            "WatchdogSec=120",
            "Restart=on-failure",
            "RestartSec=5",
            "StartLimitIntervalSec=0",
            "LimitCORE=0",
            "LimitMEMLOCK=infinity",
        ] {
            assert!(text.lines().any(|found| found == line), "{unit} has no {line}");
        }
        // It need not be installed here.
        let text =
            text.replace("/usr/bin/motemix", motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
        let copy = folder.path().join(unit.replace('@', "@one"));
        fs::write(&copy, text).expect("a copy");
        let copy = copy.to_str().expect("UTF-8");
        let verified = tool("systemd-analyze", "units", &["verify", "--man=no", copy]);
        let said = verified.stderr();
        assert!(!said.contains(unit.split('@').next().expect("a name")), "{said}");
        assert_eq!(verified.status(), 0, "{said}");
        let exposure = exposure(copy);
        assert!(exposure <= 20, "{unit} has an exposure of {exposure} tenths");
        seen += 1;
    }
    assert_eq!(seen, 3, "units of nodes, of authorities and of brokers");
}

/// A unit that leaves everything to a node is noticed.
#[test]
fn an_open_unit_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = folder.path().join("open.service");
    fs::write(&open, "[Service]\nExecStart=/bin/true\n").expect("a unit");
    assert!(exposure(open.to_str().expect("UTF-8")) > 90);
}

/// Later versions of systemd give a key to a service in a file that shows a right of the group;
/// whoever else has one like that is refused.
#[test]
fn a_key_may_be_what_systemd_hands_to_the_service() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("not run: what systemd hands over is root's");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (dir, given) = (folder.path().join("north"), folder.path().join("credentials"));
    let dir = dir.to_str().expect("UTF-8");
    let init = ["authority", "init", dir, "--network", "orchard", "--listen", "127.0.0.1:7000"];
    motemix(init).succeeds();
    let other = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a@127.0.0.1:7001";
    fs::create_dir(&given).expect("a folder");
    let (key, link) = (given.join("authority.key"), Path::new(dir).join("authority.key"));
    fs::rename(&link, &key).expect("a key");
    std::os::unix::fs::symlink(&key, &link).expect("a link");
    let reads_key = |credentials: Option<&Path>, mode| {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).expect("a key");
        let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
        command.args(["authority", "peers", dir, "--threshold", "2", other]);
        credentials.map(|folder| command.env("CREDENTIALS_DIRECTORY", folder));
        Run::by(&mut command)
    };
    for mode in [0o400, 0o440] {
        reads_key(Some(&given), mode).succeeds();
    }
    let refused = ["authority.key", "others may use this key"];
    reads_key(None, 0o440).fails(2, &refused);
    reads_key(Some(folder.path()), 0o440).fails(2, &refused);
    for mode in [0o460, 0o444] {
        reads_key(Some(&given), mode).fails(2, &refused);
    }
    std::os::unix::fs::chown(&key, None, Some(1)).expect("a key");
    reads_key(Some(&given), 0o440).fails(2, &refused);
}

#[test]
fn alerts_sound_when_they_should_and_not_before() {
    let rules = packaging().join("prometheus/motemix.rules.yml");
    let tests = packaging().join("prometheus/motemix.rules.test.yml");
    tool("promtool", "promtool", &["check", "rules", rules.to_str().expect("UTF-8")]).succeeds();
    tool("promtool", "promtool", &["test", "rules", tests.to_str().expect("UTF-8")]).succeeds();
}

/// What the alerts ask for is what a node or an authority tells, with a remedy that the manual has.
#[test]
fn alerts_ask_for_what_nodes_and_authorities_tell() {
    let rules = fs::read_to_string(packaging().join("prometheus/motemix.rules.yml")).expect("rules");
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/watching.md");
    let manual = fs::read_to_string(manual).expect("the manual");
    for heading in
        ["How a node is", "How an authority is", "Loops that do not come back", "Which mix loses packets"]
    {
        assert!(rules.contains(heading) && manual.contains(&format!("## {heading}")), "{heading}");
    }
    let network = Running::up(Network::init(&["--mixes", "3", "--motes", "1"]));
    let told = told_in_full(&network, "mix-1") + &told_by_an_authority();
    let words = rules.split(|one: char| !one.is_ascii_lowercase() && one != '_');
    let asked: BTreeSet<_> = words.filter(|word| word.starts_with("motemix_")).collect();
    assert!(!asked.is_empty());
    for metric in asked {
        assert!(is_told(&told, metric), "{metric} is not told");
    }
    for concern in rules.split("concern=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(told.contains(&format!("motemix_health_of{{concern=\"{concern}\"}}")), "{concern}");
    }
}

/// A Prometheus of its own, with the lines of the manual and the alerts, which asks each second.
struct Prometheus {
    process: Child,
    log: PathBuf,
    _folder: TempDir,
}

impl Prometheus {
    fn start(targets: &[String]) -> Self {
        let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/watching.md");
        let manual = fs::read_to_string(manual).expect("the manual");
        let asks = manual.split("```yaml\n").find(|block| block.starts_with("scrape_configs:"));
        let asks = asks.and_then(|block| block.split("```").next()).expect("lines for Prometheus");
        let asks = asks.replace(r#""north.example:7000", "mix-1.example:9400""#, &targets.join(", "));
        let rules = packaging().join("prometheus/motemix.rules.yml");
        let settings = format!(
            "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [{}]\n{asks}",
            rules.display()
        );
        let folder = tempfile::tempdir().expect("a folder");
        let [config, data, log] = ["prometheus.yml", "data", "log"].map(|name| folder.path().join(name));
        fs::write(&config, settings).expect("settings");
        let mut command = ending_with_the_story("prometheus");
        command.arg(format!("--config.file={}", config.display()));
        command.arg(format!("--storage.tsdb.path={}", data.display()));
        command.arg("--web.listen-address=127.0.0.1:0");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(fs::File::create(&log).expect("a log"));
        Self { process: command.spawn().expect("setpriv starts"), log, _folder: folder }
    }

    /// What it answers, once it listens; the system has chosen its port.
    fn asked(&self, path: &str) -> Option<Value> {
        let log = fs::read_to_string(&self.log).expect("a log");
        let at = log.split("msg=\"Listening on\" address=").nth(1)?.split_whitespace().next()?;
        let mut stream = TcpStream::connect(at).ok()?;
        // The older version has no answers in pieces.
        write!(stream, "GET /api/v1/{path} HTTP/1.0\r\nHost: here\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// The values of a metric, by who told it.
    fn values(&self, metric: &str) -> BTreeMap<String, String> {
        let answer = self.asked(&format!("query?query={metric}")).unwrap_or_default();
        let found = answer["data"]["result"].as_array().cloned().unwrap_or_default();
        let value = |one: &Value| {
            (one["metric"]["instance"].as_str()?.to_owned(), one["value"][1].as_str()?.to_owned()).into()
        };
        found.iter().filter_map(value).collect()
    }

    /// Whether it has worked out each rule without an error.
    fn knows_all_rules(&self) -> bool {
        let answer = self.asked("rules").unwrap_or_default();
        let groups = answer["data"]["groups"].as_array().cloned().unwrap_or_default();
        let rules = groups.iter().filter_map(|group| group["rules"].as_array()).flatten();
        !groups.is_empty() && rules.into_iter().all(|rule| rule["health"] == "ok")
    }

    /// The alerts that it has noticed, and for whom.
    fn alerts(&self) -> BTreeSet<(String, String)> {
        let answer = self.asked("alerts").expect("it answers");
        let found = answer["data"]["alerts"].as_array().cloned().expect("a list");
        let labels = |one: &Value| {
            let label = |name| one["labels"][name].as_str().map(str::to_owned);
            Some((label("alertname")?, label("instance")?))
        };
        found.iter().filter_map(labels).collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("{}", fs::read_to_string(&self.log).unwrap_or_default());
        }
    }
}

#[test]
fn prometheus_sees_nodes_and_authorities_and_misses_one_that_is_gone() {
    let there = Command::new("prometheus").arg("--version").output().is_ok();
    assert!(there, "prometheus is missing: run `scripts/setup promtool`");
    let mut authorities = World::on_loopback();
    let running = Running::up(Network::init(&["--mixes", "3", "--motes", "1", "--metrics"]));
    let node = running.status_of("mix-1")["status"]["metrics"].as_str().expect("an address").to_owned();
    let authority = authorities.at("north");
    let prometheus = Prometheus::start(&[authority.clone(), node.clone()]);

    let both = |value: &str| [&authority, &node].map(|at| (at.clone(), value.to_owned())).into();
    wait_until("it sees both", || prometheus.values("up") == both("1"));
    wait_until("it knows the rules", || prometheus.knows_all_rules());
    wait_until("it has what a node tells", || prometheus.values("motemix_epoch").contains_key(&node));
    wait_until("it has what an authority tells", || {
        let others = prometheus.values("motemix_authority_others");
        others.get(&authority).map(String::as_str) == Some("2")
    });

    // On a machine that is busy it may miss a node once.
    let down = ("MotemixNodeDown".to_owned(), node);
    wait_until("it misses nobody", || !prometheus.alerts().contains(&down));
    drop(running);
    wait_until("it misses the node", || prometheus.alerts().contains(&down));
    let other = (down.0, authority);
    wait_until("it does not miss the authority", || !prometheus.alerts().contains(&other));
}

/// The metrics that a node tells its own user.
fn told_in_full(network: &Running, node: &str) -> String {
    let socket = network.0.path(&format!("nodes/{node}/state/metrics.sock"));
    metrics(UnixStream::connect(socket).expect("it listens"))
}

/// What one of three authorities tells everybody.
fn told_by_an_authority() -> String {
    World::on_loopback().asked("north", "/metrics")
}

/// Whoever knows no OpenMetrics, as a folder of node-exporter, reads every counter with its type
/// and its help.
#[test]
fn metrics_are_prometheus_text_for_whoever_knows_no_other_format() {
    let running = Running::up(Network::init(&["--mixes", "3", "--motes", "1", "--metrics"]));
    let address = running.status_of("mix-1")["status"]["metrics"].as_str().expect("an address").to_owned();
    let to_everybody = metrics(TcpStream::connect(address).expect("it listens"));
    for told in [told_in_full(&running, "mix-1"), to_everybody, told_by_an_authority()] {
        let (head, body) = told.split_once("\r\n\r\n").expect("an answer");
        assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
        let mut promtool = Command::new("promtool");
        promtool
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut check = promtool.spawn().expect("run `scripts/setup promtool`");
        check.stdin.take().expect("a pipe").write_all(body.as_bytes()).expect("it reads");
        let said = check.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        // Times are in microseconds, which it does not like; what it cannot read it calls an error.
        let faults: Vec<_> = said.lines().filter(|line| !line.contains("abbreviated units")).collect();
        assert!(faults.is_empty(), "{faults:?}");
        let types = body.matches("# TYPE ").count();
        assert_eq!((types, types), (body.matches("# HELP ").count(), body.matches("\n# TYPE ").count()));
    }
}

fn metrics(mut stream: impl Read + Write) -> String {
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").expect("a request");
    let mut told = String::new();
    stream.read_to_string(&mut told).expect("metrics");
    told
}

/// Whether a metric of that very name is told.
fn is_told(told: &str, metric: &str) -> bool {
    told.lines().any(|line| line.strip_prefix(metric).is_some_and(|rest| rest.starts_with(['{', ' '])))
}

/// What a panel asks Prometheus for, as Prometheus would see it.
fn asks(panel: &Value) -> Vec<String> {
    let targets = panel["targets"].as_array().into_iter().flatten();
    let asked = targets.map(|target| target["expr"].as_str().expect("an expression"));
    asked.map(|asked| asked.replace("$__rate_interval", "5m").replace("=~\"$", "=~\"")).collect()
}

#[test]
fn the_dashboard_asks_for_what_nodes_and_authorities_tell() {
    let path = packaging().join("grafana/motemix.json");
    let dashboard = fs::read_to_string(path).expect("a dashboard");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().expect("an id")).collect();
    assert_eq!(ids.len(), panels.len(), "each panel has an id of its own");

    let running = Running::up(Network::init(&["--mixes", "3", "--motes", "1", "--metrics"]));
    let in_full = told_in_full(&running, "mix-1");
    let address = running.status_of("mix-1")["status"]["metrics"].as_str().expect("an address").to_owned();
    let to_everybody = metrics(TcpStream::connect(address).expect("it listens"));
    let by_authority = told_by_an_authority();
    let (mut rules, mut row, mut seen) = (Vec::new(), "", 0);
    for panel in panels {
        let title = panel["title"].as_str().expect("a title");
        if panel["type"] == "row" {
            row = title;
            continue;
        }
        assert!(panel["description"].as_str().is_some_and(|words| words.ends_with('.')), "{title}");
        assert!(!asks(panel).is_empty(), "{title} shows nothing");
        for asked in asks(panel) {
            let words = asked.split(|one: char| !one.is_ascii_alphanumeric() && one != '_');
            for metric in words.filter(|word| word.starts_with("motemix_")) {
                // What says how many packets there are is not for everybody.
                let told = match row.split(':').next() {
                    Some("All nodes") => &to_everybody,
                    Some("Authorities") => &by_authority,
                    _ => &in_full,
                };
                assert!(is_told(told, metric), "{title}: {metric} is not told under {row:?}");
                seen += 1;
            }
            if let Some(label) = asked.split("by (").nth(1).and_then(|rest| rest.split(')').next()) {
                assert!(in_full.contains(&format!("{{{label}=\"")), "{title}: nothing has {label}");
            }
            rules.push(json!({ "record": format!("panel:{seen}"), "expr": asked }));
        }
    }
    assert!(seen > 30, "{seen} metrics");
    assert!(
        !is_told(&in_full, "motemix_forwarded") && !is_told(&in_full, "motemix_nothing"),
        "names are whole"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("panels.yml");
    // YAML has all of JSON.
    let rules = json!({ "groups": [{ "name": "panels", "rules": rules }] });
    fs::write(&file, rules.to_string()).expect("rules");
    tool("promtool", "promtool", &["check", "rules", file.to_str().expect("UTF-8")]).succeeds();
}
