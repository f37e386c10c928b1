//! Stories of the files that nodes find in their folders: those of the originals, and broken ones.

#[path = "files/configurations.rs"]
mod configurations;
#[path = "files/databases.rs"]
mod databases;
#[path = "files/key_files.rs"]
mod key_files;
#[path = "files/network.rs"]
mod network;
#[path = "files/python.rs"]
mod python;
#[path = "files/vectors.rs"]
mod vectors;
#[path = "files/whole_nodes.rs"]
mod whole_nodes;
