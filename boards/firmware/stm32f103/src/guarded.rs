//! What the main thread and one interrupt handler both use.
//!
//! No interrupt is held up while the main thread uses it: the console's must not wait until a frame
//! has gone over the bus. A handler that comes meanwhile finds it taken, leaves, and is called
//! again when it is free.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use cortex_m::peripheral::NVIC;
use stm32f1xx_hal::pac::Interrupt;

/// A value that the main thread and the handler of an interrupt take turns with.
pub(crate) struct Guarded<T> {
    value: UnsafeCell<Option<T>>,
    taken: AtomicBool,
    missed: AtomicBool,
    interrupt: Interrupt,
}

// SAFETY: the value is used in `turn` only, by whoever changed `taken` from false to true, so by
// one at a time. `T: Send`, because its users change.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub(crate) const fn new(interrupt: Interrupt) -> Self {
        Self {
            value: UnsafeCell::new(None),
            taken: AtomicBool::new(false),
            missed: AtomicBool::new(false),
            interrupt,
        }
    }

    pub(crate) fn fill(&self, value: T) {
        self.turn(|place| *place = Some(value));
    }

    /// For the main thread. `None` while nothing is there.
    pub(crate) fn with<U>(&self, work: impl FnOnce(&mut T) -> U) -> Option<U> {
        let result = self.turn(|place| place.as_mut().map(work)).flatten();
        if self.missed.swap(false, Ordering::Relaxed) {
            NVIC::pend(self.interrupt);
        }
        result
    }

    /// For the handler.
    pub(crate) fn handle(&self, work: impl FnOnce(&mut T)) {
        let turn = self.turn(|place| {
            if let Some(value) = place.as_mut() {
                work(value);
            }
        });
        if turn.is_none() {
            self.missed.store(true, Ordering::Relaxed);
        }
    }

    fn turn<U>(&self, work: impl FnOnce(&mut Option<T>) -> U) -> Option<U> {
        if self.taken.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: nobody else is in here before `taken` is false again; a panic resets the board.
        let result = work(unsafe { &mut *self.value.get() });
        self.taken.store(false, Ordering::Release);
        Some(result)
    }
}
