//! The application of a mote on a node of the FIT IoT-LAB testbed, the IoT-LAB M3: an STM32F103REY
//! (Cortex-M3, 72 MHz, 512 KiB flash, 64 KiB RAM) and an AT86RF231.
//!
//! **Built and not run.** Nobody has run this on a board. It compiles and links for its part; the
//! drivers of radio and thermometer are tested on a host against models of both
//! (`motemix-at86rf231`, `motemix-stm32f1-thermometer`), the use of the flash as well
//! (`motemix-write-once`); the accesses to registers in this crate and in `stm32f1xx-hal` are not
//! tested by anything here.
//!
//! | what | how |
//! |---|---|
//! | radio | AT86RF231 on SPI1 at 4.5 MHz, channel 26, +3 dBm ([`radio`]) |
//! | generator | ChaCha20, seeded at each start by the noise of the radio's receiver ([`random`]) |
//! | flash | the last 188 KiB ([`flash`]) |
//! | console | USART1 at 500,000 baud on PA9 and PA10, as the testbed has it |
//! | clock | TIM2 and TIM3 in a row, by the 16 MHz crystal |
//! | thermometer | the chip's own, on ADC1 (`motemix_stm32f1_thermometer`); off by up to 45 °C from one chip to another |
//! | sleep | until an event, 5 ms at most (SysTick); the radio listens all the time |
//!
//! | pin | radio | | pin | radio |
//! |---|---|---|---|---|
//! | PA4 | /SEL | | PC1 | /RST |
//! | PA5 | SCLK | | PA2 | SLP_TR |
//! | PA6 | MISO | | PC4 | IRQ |
//! | PA7 | MOSI | | | |
//!
//! Crystal and pins are those of RIOT's board definition (`boards/common/iotlab`).
//!
//! Long products on a Cortex-M3 end early depending on what is multiplied (UMULL), so the curve
//! of boards has none of them there, and takes constant time.

#![no_std]
#![no_main]

mod board;
mod console;
mod flash;
mod guarded;
mod interrupts;
mod panic;
mod radio;
mod random;
mod thermometer;
mod timer;

use core::cell::RefCell;
use core::fmt::Write as _;

use cortex_m_rt::entry;
use stm32f1xx_hal::afio::AfioExt as _;
use stm32f1xx_hal::flash::FlashExt as _;
use stm32f1xx_hal::gpio::{Edge, ExtiPin as _, GpioExt as _};
use stm32f1xx_hal::pac;
use stm32f1xx_hal::prelude::_fugit_RateExtU32 as _;
use stm32f1xx_hal::rcc::{Config, RccExt as _};

use motemix_mote::Limits;
use motemix_mote::limits::{IOTLAB_M3, Packets};

use board::Node;

pub(crate) const LIMITS: Limits = IOTLAB_M3;

const _: () = assert!(motemix_at86rf231::RECEIVED == LIMITS.frames, "the simulator has as many");

#[entry]
fn main() -> ! {
    let (Some(core), Some(mut device)) = (cortex_m::Peripherals::take(), pac::Peripherals::take()) else {
        // They are there once, right after the reset.
        cortex_m::peripheral::SCB::sys_reset()
    };
    // The crystal has 16 MHz. Half of it goes into the PLL, which the library does not know of: to
    // it the crystal has 8.
    device.RCC.cfgr().modify(|_, w| w.pllxtpre().div2());
    let mut flash = device.FLASH.constrain();
    let clocks = Config::hse(8.MHz()).sysclk(72.MHz()).pclk1(36.MHz()).pclk2(72.MHz()).adcclk(12.MHz());
    let mut rcc = device.RCC.constrain().freeze(clocks, &mut flash.acr);
    let mut io = device.AFIO.constrain(&mut rcc);
    let mut a = device.GPIOA.split(&mut rcc);
    let mut c = device.GPIOC.split(&mut rcc);

    let thermometer = thermometer::Thermometer::new(device.ADC1, &mut rcc);
    timer::start(device.TIM2, device.TIM3, &mut rcc);
    timer::start_tick(core.SYST);
    let console = RefCell::new(console::start(device.USART1, a.pa9, a.pa10, &mut rcc));

    let mut interrupt = c.pc4.into_floating_input(&mut c.crl);
    interrupt.make_interrupt_source(&mut io);
    interrupt.trigger_on_edge(&mut device.EXTI, Edge::Rising);
    interrupt.enable_interrupt(&mut device.EXTI);
    let wires = radio::Wires {
        spi: device.SPI1,
        clock: a.pa5,
        receive: a.pa6,
        send: a.pa7,
        select: a.pa4.into_push_pull_output(&mut a.crl),
        sleep: a.pa2.into_push_pull_output(&mut a.crl),
        reset: c.pc1.into_push_pull_output(&mut c.crl),
        interrupt,
    };
    let started = radio::start(wires, &mut rcc).map_err(motemix_at86rf231::NoiseError::Chip);
    let generator = match started.and_then(|mut radio| Ok((random::seed(&mut radio)?, radio))) {
        Ok((generator, radio)) => {
            radio::hand_over(radio);
            RefCell::new(generator)
        }
        Err(error) => {
            // No radio, no noise; no noise, no keys.
            let _ = writeln!(console::Console(&console), "\nerror: {error}");
            board::halt()
        }
    };
    let board = Node::new(&generator, &console, flash::Store::new(flash::Pages(flash)), thermometer);
    motemix_mote::run!(board, Packets, LIMITS)
}
