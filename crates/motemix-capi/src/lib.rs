//! The C interface of motemix.
