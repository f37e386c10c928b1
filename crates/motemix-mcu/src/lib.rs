//! An interpreter of Cortex-M code that counts cycles.
