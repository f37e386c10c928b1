use super::*;
use motemix_loopix::files::MailboxLimits;
use motemix_loopix::role::Rates;

const GIB: f64 = 1_073_741_824.0;
const PROFILES: [Profile; 3] = [Profile::Ucl2017, Profile::Fork2018, Profile::Hardened];

fn wish(profile: Profile, bytes_per_month: f64, latency_s: f64) -> Wish {
    Wish::new(profile, bytes_per_month / MONTH_S, latency_s)
}

#[test]
fn a_plan_keeps_to_budget_and_latency() {
    for profile in PROFILES {
        for (budget, latency_s) in [(GIB, 90.0), (10.0 * GIB, 20.0), (80.0 * GIB, 6.0)] {
            let plan = wish(profile, budget, latency_s).plan().unwrap();
            assert!((plan.bytes_per_month / budget - 1.0).abs() < 1e-9, "{plan:?}");
            assert!((plan.latency_s - latency_s).abs() < 1e-9, "{plan:?}");
            assert!(plan.pool >= STRONG, "{plan:?}");
            let taken = f64::from(plan.pull_packets) / plan.pull_every_s;
            assert!(taken >= ROOMS[0] * plan.mail_per_s * (1.0 - 1e-9), "{plan:?}");
        }
    }
}

#[test]
fn what_nodes_cannot_do_is_not_advised() {
    for profile in PROFILES {
        // More than anybody can use: the rest of the budget is left, and of the time.
        let plan = wish(profile, 1e6 * GIB, 86_400.0).plan().unwrap();
        assert!(plan.pull_every_s >= SHORTEST_PULL_S * (1.0 - 1e-9), "{plan:?}");
        assert!(plan.delay_s <= LONGEST_DELAY_S && plan.latency_s <= 86_400.0, "{plan:?}");
        let most = if profile == Profile::Hardened { MAX_CONFIRMED as u32 } else { MOST_PULLED };
        assert!(u64::from(2 * most) <= MailboxLimits::default().packets_per_user);
        assert!(plan.pull_packets <= most && plan.bytes_per_month <= 1e6 * GIB, "{plan:?}");
    }
}

#[test]
fn the_first_pause_is_that_of_the_nodes() {
    let seconds = Duration::from_secs_f64;
    let rates = Rates {
        loops: Duration::ZERO,
        drops: Duration::ZERO,
        payload: seconds(4.0),
        delay: seconds(0.7),
        pull: seconds(2.5),
        max_retrieve: 1,
        noise_len: 0,
        push: false,
        retry: Duration::ZERO,
        start: Duration::ZERO,
    };
    assert!((patience(0.7, 2.5, 0.25) - rates.patience(3).as_secs_f64()).abs() < 1e-9);
}

#[test]
fn what_is_lost_costs_a_hardened_client_time_and_an_original_one_messages() {
    let lossy = |profile| Wish { loss: 0.05, ..wish(profile, 10.0 * GIB, 30.0) }.plan().unwrap();
    let (hardened, original) = (lossy(Profile::Hardened), lossy(Profile::Ucl2017));
    assert!(hardened.arrive > 1.0 - 1e-9 && hardened.parts.lost_s > 1.0, "{hardened:?}");
    assert!(hardened.tries > 1.1, "{hardened:?}");
    assert!((original.arrive - 0.95).abs() < 1e-9 && original.parts.lost_s <= 0.0, "{original:?}");
}

#[test]
fn more_messages_leave_less_time_for_the_mixes() {
    for profile in PROFILES {
        let saying = |messages| Wish { messages_per_s: Some(messages), ..wish(profile, 10.0 * GIB, 20.0) };
        let (few, many) = (saying(0.01).plan().unwrap(), saying(0.1).plan().unwrap());
        assert!(few.own > many.own && few.parts.stream_s < many.parts.stream_s, "{few:?} {many:?}");
        let wish = saying(1.0);
        assert_eq!(wish.plan(), Err(Obstacle::Messages));
        let messages_per_s = wish.remedies().messages_per_s;
        assert!(messages_per_s.is_some_and(|rate| rate > 0.1), "{messages_per_s:?}");
        assert!(Wish { messages_per_s, ..wish }.plan().is_ok());
    }
}

#[test]
fn each_remedy_is_enough_and_hardly_more() {
    let wish = wish(Profile::Ucl2017, 3.0 * GIB, 10.0);
    assert_eq!(wish.plan(), Err(Obstacle::Latency));
    let Remedies { bytes_per_s, latency_s, users, packet_len, messages_per_s } = wish.remedies();
    let (bytes_per_s, latency_s) = (bytes_per_s.unwrap(), latency_s.unwrap());
    assert_eq!(users, None, "users make no packet faster");
    assert_eq!(messages_per_s, None, "so many messages were not asked for");
    assert!(Wish { bytes_per_s, ..wish }.plan().is_ok());
    assert!(Wish { bytes_per_s: bytes_per_s * 0.99, ..wish }.plan().is_err());
    assert!(Wish { latency_s, ..wish }.plan().is_ok());
    assert!(Wish { latency_s: latency_s * 0.99, ..wish }.plan().is_err());
    let packet_len = packet_len.unwrap();
    assert!(Wish { packet_len, ..wish }.plan().is_ok());
    assert!(Wish { packet_len: packet_len + 1, ..wish }.plan().is_err());
}

#[test]
fn more_users_help_where_the_pool_is_too_small() {
    let wish = Wish { users: 2, least_pool: 10.0, ..wish(Profile::Ucl2017, 10.0 * GIB, 10.0) };
    assert_eq!(wish.plan(), Err(Obstacle::Pool));
    let users = wish.remedies().users.unwrap();
    assert!(Wish { users, ..wish }.plan().is_ok() && Wish { users: users - 1, ..wish }.plan().is_err());
}

#[test]
fn whom_users_do_not_help_his_own_packets_must() {
    let wish = Wish { least_own: STRONG, ..wish(Profile::Ucl2017, 10.0 * GIB, 6.0) };
    assert_eq!(wish.plan(), Err(Obstacle::Own));
    assert_eq!(wish.remedies().users, None);
    assert!(wish.remedies().latency_s.is_some());
}
