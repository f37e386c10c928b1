fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let scenario: motemix_sim::scenario::Scenario = toml::from_str(&text).unwrap();
    let begin = std::time::Instant::now();
    let outcome = motemix_sim::run(&scenario).unwrap();
    println!("{} {:?}", serde_json::to_string_pretty(&outcome).unwrap(), begin.elapsed());
}
