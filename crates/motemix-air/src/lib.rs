//! One IEEE 802.15.4 channel that joins emulated boards and processes.
