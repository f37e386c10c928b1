//! What the main thread and one interrupt handler both use.
//!
//! No interrupt is held up while the main thread uses it: the console's must not wait until a frame has gone over
//! the bus. A handler that comes meanwhile finds it taken, leaves, and is called again when it is free.

use core::cell::RefCell;
use core::sync::atomic::{AtomicBool, Ordering};

use cortex_m::peripheral::NVIC;
use stm32f1xx_hal::pac::Interrupt;

/// A value that the main thread and the handler of an interrupt take turns with.
pub(crate) struct Guarded<T> {
    value: RefCell<Option<T>>,
    missed: AtomicBool,
    interrupt: Interrupt,
}

// SAFETY: this part has one core. A handler runs to its end before what it interrupted goes on, so whatever the
// cell's flag says when the handler looks is still true when it leaves, and it is put back to that. So the cell
// refuses a second user as it does in one thread. `T: Send`, because its user changes.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    pub(crate) const fn new(interrupt: Interrupt) -> Self {
        Self { value: RefCell::new(None), missed: AtomicBool::new(false), interrupt }
    }

    pub(crate) fn fill(&self, value: T) {
        if let Ok(mut place) = self.value.try_borrow_mut() {
            *place = Some(value);
        }
    }

    /// For the main thread. `None` while nothing is there.
    pub(crate) fn with<U>(&self, work: impl FnOnce(&mut T) -> U) -> Option<U> {
        let result = self.value.try_borrow_mut().ok()?.as_mut().map(work);
        // Not `swap`: the handler sets it only while this has the value, and it has not any more.
        if self.missed.load(Ordering::Relaxed) {
            self.missed.store(false, Ordering::Relaxed);
            NVIC::pend(self.interrupt);
        }
        result
    }

    /// For the handler.
    pub(crate) fn handle(&self, work: impl FnOnce(&mut T)) {
        match self.value.try_borrow_mut() {
            Ok(mut value) => {
                if let Some(value) = value.as_mut() {
                    work(value);
                }
            }
            Err(_) => self.missed.store(true, Ordering::Relaxed),
        }
    }
}
