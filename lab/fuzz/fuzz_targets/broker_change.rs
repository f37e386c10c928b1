//! Changes of a broker from whatever bytes: what is read is written again as it was, and a state
//! that it was applied to comes back.
#![cfg_attr(fuzzing, no_main)]

use motemix_broker::{Change, State};
use motemix_fuzz::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match Change::decode(bytes) {
        Ok(change) => {
            assert_eq!(change.encode(), bytes);
            let mut state = State::default();
            let inverse = state.apply(change);
            state.apply(inverse);
            assert_eq!(state, State::default());
        }
        Err(why) => assert!(!why.to_string().contains('\n'), "{why}"),
    }
});
