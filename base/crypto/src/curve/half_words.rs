//! Scalars from 32-bit products of 13-bit numbers: constant time on a Cortex-M3, whose MUL takes
//! one cycle and whose MLA takes two whatever they multiply, while UMULL and UMLAL take fewer for
//! small operands. P-256 of boards has its limbs. See `docs/explanation/constant-time.md`.

pub(crate) mod limbs;
pub mod scalar;
