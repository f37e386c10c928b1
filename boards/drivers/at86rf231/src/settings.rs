//! What the chip's registers are set to before it listens.

use motemix_link::serial::ExtendedAddress;

use crate::radio::Config;
use crate::registers::{
    CSMA_BE, CSMA_SEED_0, CSMA_SEED_1, IEEE_ADDR_0, IRQ_MASK, PAN_ID_0, PAN_ID_1, PHY_CC_CCA, PHY_TX_PWR,
    Register, SHORT_ADDR_0, SHORT_ADDR_1, TRX_CTRL_0, TRX_CTRL_1, TRX_CTRL_2, TRX_END, XAH_CTRL_0,
};

/// In `TRX_CTRL_0`: no clock on the pin CLKM, whose drive strength is the one after a reset.
const NO_CLOCK_OUT: u8 = 0x10;
/// In `TRX_CTRL_1`: the chip appends the frame check sequence.
const TX_AUTO_CRC_ON: u8 = 1 << 5;
/// In `TRX_CTRL_2`: a frame stays in the buffer until it was read, and none is received meanwhile.
const RX_SAFE_MODE: u8 = 1 << 7;
/// In `PHY_CC_CCA`: busy when energy is above the threshold, which is −77 dBm after a reset (mode
/// 1, also the one after a reset).
const CCA_MODE_ENERGY: u8 = 1 << 5;
/// In `PHY_TX_PWR`: +3 dBm, and the times of the power amplifier as after a reset.
const FULL_POWER: u8 = 0xc0;
/// In `XAH_CTRL_0`: three retries without an acknowledgement, four more assessments of a busy
/// channel; unslotted.
const RETRIES: u8 = 3 << 4 | 4 << 1;
/// In `CSMA_BE`: back-off exponents from 3 to 5.
const BACKOFF: u8 = 5 << 4 | 3;
/// In `CSMA_SEED_1`: frames of the versions 0 and 1 are acknowledged.
const FRAME_VERSIONS: u8 = 1 << 6;
/// In `CSMA_SEED_1`: the upper three bits of the seed.
const SEED_1: u8 = 0b111;
/// Every register that has to have another value than after a reset, or that matters enough to be
/// written anyway.
pub(crate) fn settings(config: Config, address: ExtendedAddress) -> impl Iterator<Item = (Register, u8)> {
    let [pan_low, pan_high] = config.pan.to_le_bytes();
    let [seed_low, seed_high] = config.seed.to_le_bytes();
    let [short_low, short_high] = address.short();
    let address = (IEEE_ADDR_0.0..).map(Register).zip(address.0);
    let others = [
        (TRX_CTRL_0, NO_CLOCK_OUT),
        (TRX_CTRL_1, TX_AUTO_CRC_ON),
        (TRX_CTRL_2, RX_SAFE_MODE),
        (PHY_TX_PWR, FULL_POWER),
        (PHY_CC_CCA, CCA_MODE_ENERGY | config.channel),
        (XAH_CTRL_0, RETRIES),
        (CSMA_SEED_0, seed_low),
        (CSMA_SEED_1, FRAME_VERSIONS | seed_high & SEED_1),
        (CSMA_BE, BACKOFF),
        (SHORT_ADDR_0, short_low),
        (SHORT_ADDR_1, short_high),
        (PAN_ID_0, pan_low),
        (PAN_ID_1, pan_high),
        (IRQ_MASK, TRX_END),
    ];
    others.into_iter().chain(address)
}
