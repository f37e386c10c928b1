//! Files and code that nobody meant to be run: errors and faults, never a panic and never more work
//! than allowed.

use motemix_mcu::{Core, FlashTiming, Function, Image, ImageError, Machine};
use proptest::prelude::*;

/// A sound executable with one segment of flash and one of RAM.
fn elf(code: &[u8], ram: u32) -> Vec<u8> {
    let mut file = Vec::from(*b"\x7FELF\x01\x01\x01\0\0\0\0\0\0\0\0\0");
    let begin = 52 + 2 * 32;
    // Type, machine, version; entry, program headers, section headers, flags; sizes and counts.
    file.extend([2_u16, 40].iter().flat_map(|field| field.to_le_bytes()));
    file.extend([1_u32, 1, 52, 0, 0x0500_0000].iter().flat_map(|field| field.to_le_bytes()));
    file.extend([52_u16, 32, 2, 40, 0, 0].iter().flat_map(|field| field.to_le_bytes()));
    let len = code.len() as u32;
    for header in [[1_u32, begin, 0, 0, len, len, 5, 4], [1, begin, 0x2000_0000, 0, 0, ram, 6, 4]] {
        file.extend(header.iter().flat_map(|field| field.to_le_bytes()));
    }
    file.extend(code);
    file
}

fn start() -> Function {
    Function { name: "start".into(), address: 0, size: 0 }
}

#[test]
fn the_executable_of_these_tests_is_sound() {
    // movs r0, #7; bx lr
    let image = Image::parse(&elf(&[0x07, 0x20, 0x70, 0x47], 64)).unwrap();
    let run = Machine::new(&image, Core::M0Plus, FlashTiming::default()).call(&start(), [0; 4]).unwrap();
    assert_eq!((run.result, run.cycles), (7, 3));
    assert_eq!((image.flash_len(), image.ram_len()), (4, 64));
}

#[test]
fn what_is_no_executable_for_arm_is_refused() {
    let sound = elf(&[0x70, 0x47], 0);
    assert!(matches!(Image::parse(b"#!/bin/sh"), Err(ImageError::Elf(_))));
    let mut relocatable = sound.clone();
    relocatable[16] = 1;
    assert_eq!(Image::parse(&relocatable).unwrap_err(), ImageError::NotExecutable);
    let mut other_machine = sound.clone();
    other_machine[18] = 3;
    assert_eq!(Image::parse(&other_machine).unwrap_err(), ImageError::NotExecutable);
    assert_eq!(Image::parse(&elf(&[], 0)).unwrap_err(), ImageError::Empty);
}

#[test]
fn memory_that_no_board_has_is_refused() {
    let file = elf(&[0x70, 0x47], 0x0100_0001);
    assert_eq!(
        Image::parse(&file).unwrap_err(),
        ImageError::Memory { address: 0x2000_0000, size: 0x0100_0001 }
    );
    // The first segment at 0xF000_0000.
    let mut far = elf(&[0x70, 0x47], 0);
    far[52 + 8..52 + 12].copy_from_slice(&0xF000_0000_u32.to_le_bytes());
    assert!(matches!(Image::parse(&far).unwrap_err(), ImageError::Memory { address: 0xF000_0000, .. }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_an_image_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        let _ = Image::parse(&bytes);
    }

    #[test]
    fn a_damaged_image_is_an_image_or_an_error(
        code in prop::collection::vec(any::<u8>(), 2..64),
        damage in prop::collection::vec((0_usize..180, any::<u8>()), 1..8),
    ) {
        let mut file = elf(&code, 128);
        for (at, byte) in damage {
            if let Some(place) = file.get_mut(at) {
                *place = byte;
            }
        }
        if let Ok(image) = Image::parse(&file) {
            let mut machine = Machine::new(&image, Core::M4, FlashTiming::default());
            machine.limit(1000);
            let _ = machine.call(&start(), [0; 4]);
        }
    }

    #[test]
    fn any_code_returns_or_is_a_fault(
        code in prop::collection::vec(any::<u16>(), 1..128),
        // Otherwise most of it ends at the first 32-bit encoding that means nothing.
        wide in any::<bool>(),
        arguments in prop::array::uniform4(prop_oneof![any::<u32>(), 0x2000_0000_u32..0x2000_0080]),
        sequential in 0_u32..4,
    ) {
        let halfwords = code.iter().map(|half| if wide { half | 0xE800 } else { half & 0xDFFF });
        let code: Vec<u8> = halfwords.flat_map(u16::to_le_bytes).collect();
        let image = Image::parse(&elf(&code, 128)).unwrap();
        for core in Core::ALL {
            let timing = FlashTiming { line_bytes: 8, sequential, jump: sequential };
            let run = || {
                let mut machine = Machine::new(&image, core, timing);
                machine.limit(2000);
                machine.follow();
                (machine.call(&start(), arguments), machine.profile())
            };
            prop_assert_eq!(run(), run());
        }
    }
}
