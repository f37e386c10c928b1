//! The registers that the driver uses, by their names in the data sheet (Atmel 8111, section 12).

/// Where a register is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Register(pub(crate) u8);

pub(crate) const TRX_STATUS: Register = Register(0x01);
pub(crate) const TRX_STATE: Register = Register(0x02);
pub(crate) const TRX_CTRL_0: Register = Register(0x03);
pub(crate) const TRX_CTRL_1: Register = Register(0x04);
pub(crate) const PHY_TX_PWR: Register = Register(0x05);
pub(crate) const PHY_RSSI: Register = Register(0x06);
pub(crate) const PHY_CC_CCA: Register = Register(0x08);
pub(crate) const TRX_CTRL_2: Register = Register(0x0c);
pub(crate) const IRQ_MASK: Register = Register(0x0e);
pub(crate) const IRQ_STATUS: Register = Register(0x0f);
pub(crate) const PART_NUM: Register = Register(0x1c);
pub(crate) const SHORT_ADDR_0: Register = Register(0x20);
pub(crate) const SHORT_ADDR_1: Register = Register(0x21);
pub(crate) const PAN_ID_0: Register = Register(0x22);
pub(crate) const PAN_ID_1: Register = Register(0x23);
/// The first of eight, least significant byte first.
pub(crate) const IEEE_ADDR_0: Register = Register(0x24);
pub(crate) const XAH_CTRL_0: Register = Register(0x2c);
pub(crate) const CSMA_SEED_0: Register = Register(0x2d);
pub(crate) const CSMA_SEED_1: Register = Register(0x2e);
pub(crate) const CSMA_BE: Register = Register(0x2f);

/// First bytes of an access (section 6.2).
pub(crate) mod access {
    use super::Register;

    pub(crate) const READ_FRAME: u8 = 0x20;
    pub(crate) const WRITE_FRAME: u8 = 0x60;

    pub(crate) const fn read(register: Register) -> u8 {
        0x80 | register.0
    }

    pub(crate) const fn write(register: Register) -> u8 {
        0xc0 | register.0
    }
}

/// In `TRX_STATUS`: what the transceiver is doing (sections 7.1 and 7.2).
pub(crate) mod status {
    pub(crate) const MASK: u8 = 0x1f;
    pub(crate) const BUSY_RX: u8 = 0x01;
    pub(crate) const RX_ON: u8 = 0x06;
    pub(crate) const TRX_OFF: u8 = 0x08;
    pub(crate) const PLL_ON: u8 = 0x09;
    pub(crate) const BUSY_RX_AACK: u8 = 0x11;
    pub(crate) const RX_AACK_ON: u8 = 0x16;
    pub(crate) const TX_ARET_ON: u8 = 0x19;
}

/// In `TRX_STATE`: what it is asked to do.
pub(crate) mod command {
    pub(crate) const TX_START: u8 = 0x02;
    pub(crate) const FORCE_TRX_OFF: u8 = 0x03;
    pub(crate) const RX_ON: u8 = 0x06;
    pub(crate) const PLL_ON: u8 = 0x09;
    pub(crate) const RX_AACK_ON: u8 = 0x16;
    pub(crate) const TX_ARET_ON: u8 = 0x19;
}

/// In the upper three bits of `TRX_STATE`: how a transmission went (`TRAC_STATUS`, section 7.2.7).
pub(crate) mod transaction {
    pub(crate) const SUCCESS: u8 = 0;
    /// Acknowledged, and the neighbour has more for us; only sleepy nodes ask for it.
    pub(crate) const SUCCESS_DATA_PENDING: u8 = 1;
    pub(crate) const CHANNEL_ACCESS_FAILURE: u8 = 3;
    pub(crate) const NO_ACK: u8 = 5;
}

/// In `IRQ_STATUS` and `IRQ_MASK`: a frame was received, or a transmission ended.
pub(crate) const TRX_END: u8 = 1 << 3;
/// In `PART_NUM`.
pub(crate) const AT86RF231: u8 = 3;
