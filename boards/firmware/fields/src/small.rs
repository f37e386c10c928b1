//! The same as `main.rs`, in the form that is built where the compiler is told to save room. It is a
//! program of its own, so that both can lie in one folder.

#![no_std]
#![no_main]

mod controls;
mod operations;
