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
//! | [`broker`] | `motemix broker` and servers of CoAP of other makes, as processes |
//! | [`updates`] | devices that update what they publish, and one that observes all of it |
//! | [`observers`] | many that observe one thing |

pub mod broker;
pub mod forwarder;
pub mod generator;
pub mod network;
pub mod observers;
pub mod packets;
pub mod process;
pub mod updates;
