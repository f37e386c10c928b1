//! The resource directory, as endpoints, devices, applications and attackers see it.

mod desk;
mod endpoints;
mod examples;
mod full;
mod keys;
mod look_ups;
mod many;
mod peer;
mod simple;
