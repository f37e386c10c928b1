//! Values that stay between one call from outside and the next.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

/// Room for one value, all zero at first, so that it needs no flash for an initial one.
pub struct Place<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    is_filled: AtomicBool,
    is_lent: AtomicBool,
}

// There is one thread and no interrupt: what is called from outside runs to its end.
unsafe impl<T> Sync for Place<T> {}

impl<T> Place<T> {
    /// Nothing yet.
    pub const fn empty() -> Self {
        Self {
            value: UnsafeCell::new(MaybeUninit::uninit()),
            is_filled: AtomicBool::new(false),
            is_lent: AtomicBool::new(false),
        }
    }

    /// Puts a value in, in place of an earlier one, which is forgotten without being dropped.
    ///
    /// # Panics
    /// If the value is lent.
    pub fn put(&self, value: T) {
        self.fill(|| value);
    }

    /// What is made goes to its place, without another one on the stack.
    #[expect(clippy::inline_always, reason = "a call would need the other place")]
    #[inline(always)]
    fn fill(&self, make: impl FnOnce() -> T) {
        assert!(!self.is_lent.load(Ordering::Relaxed));
        // Not lent, so this is the only reference.
        unsafe { (*self.value.get()).write(make()) };
        self.is_filled.store(true, Ordering::Relaxed);
    }

    /// Lends the value to `use_it`. `None` if there is none.
    pub fn with<R>(&self, use_it: impl FnOnce(&mut T) -> R) -> Option<R> {
        if !self.is_filled.load(Ordering::Relaxed) || self.is_lent.load(Ordering::Relaxed) {
            return None;
        }
        self.is_lent.store(true, Ordering::Relaxed);
        // Filled, and lent once only.
        let result = use_it(unsafe { (*self.value.get()).assume_init_mut() });
        self.is_lent.store(false, Ordering::Relaxed);
        Some(result)
    }

    /// Takes the value out.
    pub fn take(&self) -> Option<T> {
        if self.is_lent.load(Ordering::Relaxed) || !self.is_filled.load(Ordering::Relaxed) {
            return None;
        }
        self.is_filled.store(false, Ordering::Relaxed);
        // Filled, and from now on empty.
        Some(unsafe { (*self.value.get()).assume_init_read() })
    }

    /// Puts what `make` makes in. In a frame of its own, so that large values do not lie on the
    /// stack together.
    ///
    /// # Panics
    /// If the value is lent.
    #[inline(never)]
    pub fn put_new(&self, make: impl FnOnce() -> T) {
        self.fill(make);
    }

    /// Puts what `make` makes in, and lends it for ever.
    ///
    /// # Panics
    /// If the value is lent.
    // The flag keeps it the only reference.
    #[expect(clippy::mut_from_ref)]
    pub fn keep(&'static self, make: impl FnOnce() -> T) -> &'static mut T {
        self.put_new(make);
        self.is_lent.store(true, Ordering::Relaxed);
        // Just filled, and lent once only.
        unsafe { (*self.value.get()).assume_init_mut() }
    }
}

impl<T, const N: usize> Place<[T; N]> {
    /// Puts so many values in, made one by one, and lends them for ever. A table does not fit on
    /// the stack.
    ///
    /// # Panics
    /// If the value is lent.
    // The flag keeps it the only reference.
    #[expect(clippy::mut_from_ref)]
    pub fn keep_each(&'static self, make: impl Fn() -> T) -> &'static mut [T; N] {
        assert!(!self.is_lent.load(Ordering::Relaxed));
        self.is_lent.store(true, Ordering::Relaxed);
        let first = self.value.get().cast::<T>();
        for index in 0..N {
            // Within the array, and nobody else has a reference.
            unsafe { first.add(index).write(make()) };
        }
        self.is_filled.store(true, Ordering::Relaxed);
        // All of them were just written, and lent once only.
        unsafe { (*self.value.get()).assume_init_mut() }
    }
}
