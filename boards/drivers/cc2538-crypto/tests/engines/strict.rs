//! The model traps what the guide does not allow; a driver that did it would not pass.

use crate::chip::{BUFFER, Chip};
use crate::pka::{ECC_MUL, MODULO, MULTIPLY};

const APTR: u32 = 0x4400_4000;
const ALENGTH: u32 = 0x4400_4010;
const SHIFT: u32 = 0x4400_4018;
const FUNCTION: u32 = 0x4400_401c;
const RUN: u32 = 1 << 15;
const RAM: u32 = 0x4400_6000;

/// A chip whose engines have clocks and are ready.
fn ready() -> Chip {
    let chip = Chip::new();
    write(&chip, 0x400d_2048, 0b111);
    write(&chip, 0x400d_2054, 3);
    write(&chip, 0x400d_2054, 0);
    while chip.model().read(FUNCTION) & RUN != 0 {}
    chip
}

fn write(chip: &Chip, address: u32, value: u32) {
    chip.model().write(address, value);
}

fn operands(chip: &Chip, values: [u32; 6]) {
    let registers = [APTR, APTR + 4, APTR + 8, APTR + 12, ALENGTH, ALENGTH + 4];
    registers.into_iter().zip(values).for_each(|(register, value)| write(chip, register, value));
}

#[test]
#[should_panic(expected = "without a clock")]
fn an_engine_without_a_clock_is_not_there() {
    Chip::new().model().read(FUNCTION);
}

#[test]
#[should_panic(expected = "in reset")]
fn an_engine_in_reset_is_not_there() {
    let chip = ready();
    write(&chip, 0x400d_2054, 1);
    chip.model().read(FUNCTION);
}

#[test]
#[should_panic(expected = "even word")]
fn a_vector_begins_at_an_even_word() {
    write(&ready(), APTR, 3);
}

#[test]
#[should_panic(expected = "that was written")]
fn an_operation_needs_its_operands() {
    write(&ready(), FUNCTION, RUN | MULTIPLY);
}

#[test]
#[should_panic(expected = "while the engine runs")]
fn the_memory_is_the_engines_while_it_runs() {
    let chip = ready();
    operands(&chip, [0, 20, 50, 72, 8, 8]);
    write(&chip, FUNCTION, RUN | MULTIPLY);
    chip.model().read(RAM);
}

#[test]
#[should_panic(expected = "overlap")]
fn a_result_has_a_place_of_its_own() {
    let chip = ready();
    operands(&chip, [0, 20, 24, 72, 8, 8]);
    write(&chip, FUNCTION, RUN | MULTIPLY);
}

#[test]
#[should_panic(expected = "room for temporary values")]
fn a_product_of_points_needs_the_rest_of_the_memory() {
    let chip = ready();
    operands(&chip, [0, 20, 50, 400, 8, 8]);
    write(&chip, FUNCTION, RUN | ECC_MUL);
}

#[test]
#[should_panic(expected = "a short modulus")]
fn the_highest_word_of_a_modulus_is_not_zero() {
    let chip = ready();
    (0..512).for_each(|word| write(&chip, RAM + 4 * word, 0));
    operands(&chip, [0, 20, 50, 72, 8, 8]);
    write(&chip, FUNCTION, RUN | MODULO);
}

#[test]
#[should_panic(expected = "a code of an operation of the sequencer")]
fn a_product_of_numbers_leaves_no_code() {
    let chip = ready();
    operands(&chip, [0, 20, 50, 72, 8, 8]);
    write(&chip, FUNCTION, RUN | MULTIPLY);
    while chip.model().read(FUNCTION) & RUN != 0 {}
    chip.model().read(SHIFT);
}

#[test]
#[should_panic(expected = "the DMA has no clock")]
fn a_transfer_needs_a_partner() {
    write(&ready(), 0x4008_b000, 1);
}

#[test]
#[should_panic(expected = "another partner")]
fn a_partner_is_let_go_before_the_next() {
    let chip = ready();
    write(&chip, 0x4008_b700, 1);
    write(&chip, 0x4008_b700, 2);
}

#[test]
#[should_panic(expected = "beside the buffer")]
fn a_transfer_stays_in_the_buffer() {
    let chip = ready();
    write(&chip, 0x4008_b700, 1);
    write(&chip, 0x4008_b000, 1);
    write(&chip, 0x4008_b004, BUFFER + 780);
    write(&chip, 0x4008_b00c, 16);
}

#[test]
#[should_panic(expected = "has no key")]
fn a_mode_comes_after_the_key() {
    let chip = ready();
    write(&chip, 0x4008_b700, 2);
    write(&chip, 0x4008_b550, 4);
}

#[test]
#[should_panic(expected = "before it is said to be there")]
fn a_tag_is_read_when_it_is_there() {
    ready().model().read(0x4008_b570);
}
