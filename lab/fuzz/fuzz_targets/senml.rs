//! SenML of whatever bytes, in JSON and in CBOR: what is read is written and read again with every
//! digit, and what resolves stays as it is when it is resolved again.
#![cfg_attr(fuzzing, no_main)]

use motemix_fuzz::fuzz_target;
use motemix_readings::senml::{MAX_PACK_LEN, Number, Pack};

fuzz_target!(|bytes: &[u8]| {
    for read in [Pack::from_json(bytes), Pack::from_cbor(bytes), Pack::read(bytes)] {
        match read {
            Ok(pack) => walk(&pack),
            Err(why) => assert!(!why.to_string().contains('\n'), "{why}"),
        }
    }
});

fn walk(pack: &Pack) {
    let (json, cbor) = (pack.to_json(), pack.to_cbor());
    // Written in another form, it may be longer than a pack may be.
    if json.len() <= MAX_PACK_LEN {
        assert_eq!(Pack::read(json.as_bytes()).as_ref(), Ok(pack));
    }
    if cbor.len() <= MAX_PACK_LEN {
        let again = Pack::read(&cbor).expect("it was just written");
        // Mantissas of more than 64 bits become binary numbers, which stay what they are.
        assert_eq!(Pack::read(&again.to_cbor()).as_ref(), Ok(&again));
        assert_eq!(again.records.len(), pack.records.len());
    }
    let now = Number::integer(1_763_000_000);
    match pack.resolve(now) {
        Ok(resolved) => {
            let times: Vec<_> = resolved.records().iter().map(|record| record.time).collect();
            assert!(times.is_sorted());
            if times.first().is_some_and(|first| *first >= Number::integer(1 << 28)) {
                assert_eq!(resolved.to_pack().resolve(now).as_ref(), Ok(&resolved));
            }
        }
        Err(why) => assert!(!why.to_string().contains('\n'), "{why}"),
    }
}
