//! The targets without libFuzzer: functions from the bytes that it would give them.

/// What a target does with an input of its type, as libFuzzer's own macro reads it from bytes.
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: $type:ty| $body:expr) => {
        pub fn run(bytes: &[u8]) {
            fn take($input: $type) {
                $body
            }
            if bytes.len() >= <$type as ::arbitrary::Arbitrary>::size_hint(0).0
                && let Ok(input) =
                    ::arbitrary::Arbitrary::arbitrary_take_rest(::arbitrary::Unstructured::new(bytes))
            {
                take(input);
            }
        }
    };
}
