//! The targets by their names, for who runs them as tests.

macro_rules! targets {
    ($($name:ident)*) => {
        #[path = "../fuzz_targets"]
        mod files {
            $(pub mod $name;)*
        }

        /// What each does with the bytes of an input.
        pub const TARGETS: &[(&str, fn(&[u8]))] = &[$((stringify!($name), files::$name::run)),*];
    };
}

targets! {
    batch
    broker_change
    broker_log
    broker_request
    coap
    coap_stream
    console
    datagram
    descriptor
    document
    edhoc
    frames
    handshakes
    header_path
    identity
    jws
    link_format
    loopix_packet
    loopix_roles
    neighbour
    node
    oscore
    packet
    protected_frames
    replay
    senml
    shared_context
    sign1
    surb
    vote
}
