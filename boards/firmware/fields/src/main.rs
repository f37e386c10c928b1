//! The arithmetic modulo p = 2²⁵⁵ − 19 of the core that this is compiled for, one operation at a
//! time. The stopwatch gives operands, and compares what comes out with other libraries.

#![no_std]
#![no_main]

mod controls;
mod operations;
