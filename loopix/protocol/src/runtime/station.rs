//! A role with what belongs to it on disk.

mod client;

use motemix_node::Instant;
use motemix_os::rng::HostRng;

use super::event::{Event, Refusal, Told};
use super::mailboxes::SqliteMailboxes;
use crate::files::Directory;
use crate::role::{Mailboxes as _, Mix, Provider, Role};

pub(super) use client::ClientStation;

/// What the loop drives.
pub(super) trait Station {
    /// The role.
    type Role: Role;

    /// The role.
    fn role(&mut self) -> &mut Self::Role;

    /// A new directory is in force.
    fn set_directory(&mut self, directory: &Directory);

    /// Hands what is to be kept to the disk, takes what the disk has done, and tells what has
    /// happened.
    fn settle(&mut self, now: Instant, report: &mut dyn FnMut(Event));

    /// Waits until everything is on disk, as far as the disk works.
    fn finish(&mut self, now: Instant, report: &mut dyn FnMut(Event));

    /// What waits here, in numbers of packets and messages.
    fn waiting(&mut self) -> u64;

    /// Takes a message of this node's user.
    fn send(&mut self, to: &str, message: &[u8], told: Option<Told>, report: &mut dyn FnMut(Event)) {
        let _ = message;
        refuse(to, Refusal::NotAClient, told, report);
    }
}

fn refuse(to: &str, reason: Refusal, told: Option<Told>, report: &mut dyn FnMut(Event)) {
    report(Event::Refused { to: to.into(), reason });
    if let Some(told) = told {
        // Whoever asked may have gone.
        let _ = told.send(Err(reason));
    }
}

/// A mix has nothing but its role.
pub(super) struct MixStation(pub(super) Mix<HostRng>);

impl Station for MixStation {
    type Role = Mix<HostRng>;

    fn role(&mut self) -> &mut Self::Role {
        &mut self.0
    }

    fn set_directory(&mut self, directory: &Directory) {
        self.0.set_directory(directory);
    }

    fn settle(&mut self, _: Instant, _: &mut dyn FnMut(Event)) {}

    fn finish(&mut self, _: Instant, _: &mut dyn FnMut(Event)) {}

    fn waiting(&mut self) -> u64 {
        self.0.waiting() as u64
    }
}

/// A provider with its mailboxes.
pub(super) struct ProviderStation(pub(super) Provider<HostRng, SqliteMailboxes>);

impl Station for ProviderStation {
    type Role = Provider<HostRng, SqliteMailboxes>;

    fn role(&mut self) -> &mut Self::Role {
        &mut self.0
    }

    fn set_directory(&mut self, directory: &Directory) {
        self.0.set_directory(directory);
    }

    fn settle(&mut self, _: Instant, _: &mut dyn FnMut(Event)) {
        // What cannot be written has been said, and is tried again.
        let _ = self.0.mailboxes().commit();
    }

    fn finish(&mut self, _: Instant, _: &mut dyn FnMut(Event)) {
        let _ = self.0.mailboxes().finish();
    }

    fn waiting(&mut self) -> u64 {
        self.0.waiting() as u64 + self.0.mailboxes().len()
    }
}
