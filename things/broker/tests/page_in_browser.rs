//! The page in a real browser: `scripts/page/browser.py` looks and clicks, and tells this test what
//! the broker is to do.

#[path = "page/fake.rs"]
mod fake;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use fake::{Fake, anywhere, identity, now};
use motemix_broker::Moment;
use motemix_broker::page::Limits;

/// A device whose name would be a program if anybody took it for HTML.
const HOSTILE: &str = "<script>document.title='taken'</script><img src=x onerror=alert(1)>\u{202e}evil";
const PLACES: [&str; 6] = ["Kitchen", "Cellar", "Attic", "Greenhouse", "Workshop", "Hall"];
const DEVICES: u8 = 50;

/// Ends with the test, however that ends.
struct Browser(Child);

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Fifty devices with two topics each, an hour of readings, and what is not as it should be.
fn furnish(house: &Fake) {
    let begin = now().as_millis() - 3_600_000;
    for number in 1..=DEVICES {
        let device = identity(number);
        let place = PLACES[usize::from(number) % PLACES.len()];
        let said = [("place", place), ("purpose", "climate"), ("et", "mote")];
        house.register(&format!("r{number}"), &format!("mote-{number:02}"), Some(device), &said);
        for (kind, unit, middle, swing) in [("temperature", "Cel", 20.0, 2.5), ("humidity", "%RH", 48.0, 7.0)]
        {
            let id = format!("{kind}-{number}");
            house.topic(&id, &format!("{place}/{kind}"), Some(device));
            for minute in 0..60_u32 {
                let phase = f64::from(minute) / 9.0 + f64::from(number);
                let value = ((middle + swing * phase.sin()) * 100.0).round() / 100.0;
                let at = Moment::from_millis(begin + u64::from(minute) * 60_000);
                house.measure(&id, at, (kind, unit), value, Some(u64::from(minute) + 1000));
            }
        }
    }
    let device = identity(99);
    house.register(
        "r99",
        HOSTILE,
        Some(device),
        &[("place", "<b>nowhere</b>"), ("purpose", "\" onclick=\"")],
    );
    house.topic("hostile", HOSTILE, Some(device));
    house.publish("hostile", now(), Some(0), b"<img src=x onerror=alert(2)>", None);
    house.topic("weather", "weather", None);
    let pack = br#"[{"bn":"roof:","n":"temperature","u":"Cel","v":-3.5},{"n":"pressure","u":"Pa","v":101325},
        {"n":"rain","vb":false}]"#;
    house.publish("weather", now(), Some(110), pack, None);
    house.topic("door", "front door", None);
    house.publish("door", now(), Some(110), b"[{\"n\":\"open\"", None);
    house.topic("silent", "letter box", None);
    house.register("r100", "window-unsigned", None, &[]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_sees_in_a_browser() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join(".venv-page/bin/python");
    assert!(python.exists(), "there is no .venv-page; make it with: scripts/setup page_peer");
    let house = Fake::new(Limits::default());
    furnish(&house);
    let (address, mut serving) = house.serve(anywhere()).await;

    let mut browser = Browser(
        Command::new(python)
            .arg(root.join("scripts/page/browser.py"))
            .args([format!("http://{address}"), hex::encode(identity(7).as_bytes())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python runs"),
    );
    let mut answers = browser.0.stdin.take().expect("a pipe");
    let lines = BufReader::new(browser.0.stdout.take().expect("a pipe")).lines();
    let (sender, mut orders) = tokio::sync::mpsc::channel(1);
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.blocking_send(line)));

    let mut sequence = 2000;
    let mut done = false;
    while let Some(line) = orders.recv().await {
        let words: Vec<_> = line.split(' ').collect();
        match *words.as_slice() {
            ["measure", number, celsius] => {
                sequence += 1;
                let id = format!("temperature-{number}");
                let celsius = celsius.parse().expect("a number");
                house.measure(&id, now(), ("temperature", "Cel"), celsius, Some(sequence));
            }
            ["refuse", id] => house.refuse(id, "the number 17 was used before"),
            ["register", number] => {
                let device = identity(number.parse().expect("a number"));
                house.register(&format!("r{number}"), "newcomer", Some(device), &[("place", "Balcony")]);
                house.topic(&format!("new-{number}"), "Balcony/light", Some(device));
            }
            ["full"] => house.store_fails(Some("the disk is full")),
            ["works"] => house.store_fails(None),
            ["stop"] => {
                serving.abort();
                let _ = (&mut serving).await;
            }
            ["start"] => {
                let mut settings = anywhere();
                settings.listen = address;
                (_, serving) = house.serve(settings).await;
            }
            ["done"] => done = true,
            _ => panic!("the browser wants {line}"),
        }
        writeln!(answers, "ok").expect("the browser listens");
    }
    let ended = browser.0.wait().expect("the browser ends");
    assert!(ended.success() && done, "the browser says why above");
    drop(Arc::clone(&house));
}
