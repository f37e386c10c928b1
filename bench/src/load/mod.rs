//! Datagrams through a forwarding process. The generator sends packets that were made before, never
//! more than a window ahead of what has come out again, so the process is always busy and hardly
//! ever loses one; what it loses is counted.
//!
//! | module | what |
//! |---|---|
//! | [`packets`] | packets made ahead of time, all different |
//! | [`generator`] | sends them, counts what comes out |
//! | [`network`] | a network made by the program `motemix`, for a real node |
//! | [`forwarder`] | the plainest forwarding process, for either format |
//! | [`process`] | starting, measuring and ending a process |

pub mod forwarder;
pub mod generator;
pub mod network;
pub mod packets;
pub mod process;
