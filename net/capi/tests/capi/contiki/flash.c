/*
 * Runs motemix-flash.c as it is on a board, with the board's flash at the address at which the
 * board has it. The controller is played here: it refuses what a real one refuses, and all that is
 * outside of the mote's flash must stay as it is.
 */

#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "contiki.h"
#include "motemix-arch.h"

#if defined(CONTIKI_TARGET_NRF)
#define BEGIN 0x00080000ul
#define LEN 0x00080000ul
#define MINE_END (BEGIN + LEN)
#else
#include "dev/flash.h"
#define BEGIN CC2538_DEV_FLASH_ADDR
#define LEN CC2538_DEV_FLASH_SIZE
/* The last page has the lock. */
#define MINE_END (BEGIN + LEN - FLASH_PAGE_SIZE)
#endif
#define MINE (MINE_END - MOTEMIX_FLASH_LEN)
/* What is in the flash of others. */
#define OTHERS 0x5a

static uint8_t *const memory = (uint8_t *)BEGIN;

static void
need(bool sound, const char *what)
{
  if(!sound) {
    printf("%s\n", what);
    exit(EXIT_FAILURE);
  }
}

static void
set_writable(bool writable)
{
  need(mprotect(memory, LEN, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0, "mprotect");
}
/*---------------------------------------------------------------------------*/
#if defined(CONTIKI_TARGET_NRF)

#include "nrf.h"

#define PAGE_LEN 4096

static NRF_NVMC_Type controller = { .READY = 1 };
static uint8_t before[LEN];

const NRF_FICR_Type *
stand_in_ficr(void)
{
  static const NRF_FICR_Type information = { PAGE_LEN, (BEGIN + LEN) / PAGE_LEN };
  return &information;
}

/* Does what was asked for since the last look at a register. */
NRF_NVMC_Type *
stand_in_nvmc(void)
{
  size_t at;

  set_writable(true);
  if(controller.ERASEPAGE != 0) {
    need(controller.CONFIG == NVMC_CONFIG_WEN_Een, "an erase without leave");
    need(controller.ERASEPAGE % PAGE_LEN == 0, "no page begins there");
    memset((uint8_t *)(uintptr_t)controller.ERASEPAGE, 0xff, PAGE_LEN);
    memcpy(before, memory, LEN);
    controller.ERASEPAGE = 0;
  }
  /* What was written can only have cleared bits. */
  for(at = 0; at < LEN; at++) {
    memory[at] &= before[at];
  }
  memcpy(before, memory, LEN);
  set_writable(controller.CONFIG == NVMC_CONFIG_WEN_Wen);
  return &controller;
}

static void
prepare_controller(void)
{
  memcpy(before, memory, LEN);
}

static bool
is_read_only(void)
{
  return stand_in_nvmc()->CONFIG == NVMC_CONFIG_WEN_Ren;
}
#else

#include "dev/rom-util.h"
#include "sys/int-master.h"

static int_master_status_t enabled = 1;

int_master_status_t
int_master_read_and_disable(void)
{
  int_master_status_t was = enabled;
  enabled = 0;
  return was;
}

void
int_master_status_set(int_master_status_t status)
{
  enabled = status;
}

int32_t
rom_util_page_erase(uint32_t flash_addr, uint32_t size)
{
  need(!enabled, "an interrupt could read from the flash");
  if(flash_addr % FLASH_PAGE_SIZE != 0 || size % FLASH_PAGE_SIZE != 0) {
    return -1;
  }
  set_writable(true);
  memset((uint8_t *)(uintptr_t)flash_addr, 0xff, size);
  set_writable(false);
  return 0;
}

int32_t
rom_util_program_flash(uint32_t *ram_data, uint32_t flash_addr, uint32_t byte_count)
{
  uint32_t at;

  need(!enabled, "an interrupt could read from the flash");
  if(flash_addr % 4 != 0 || byte_count % 4 != 0) {
    return -1;
  }
  set_writable(true);
  for(at = 0; at < byte_count; at++) {
    ((uint8_t *)(uintptr_t)flash_addr)[at] &= ((uint8_t *)ram_data)[at];
  }
  set_writable(false);
  return 0;
}

static void
prepare_controller(void)
{
}

static bool
is_read_only(void)
{
  return enabled != 0;
}
#endif
/*---------------------------------------------------------------------------*/
static motemix_flash flash;

static bool
is(size_t from, size_t to, uint8_t value)
{
  for(; from < to; from++) {
    if(memory[from] != value) {
      return false;
    }
  }
  return true;
}

static bool
reads(uint32_t address, const void *bytes, size_t len)
{
  uint8_t out[64];
  return flash.read(flash.context, address, out, len) == 0 && memcmp(out, bytes, len) == 0;
}

static void
use_flash(void)
{
  const uint32_t last = MOTEMIX_FLASH_LEN - 16;
  uint32_t page;

  for(page = 0; page < MOTEMIX_FLASH_LEN; page += MOTEMIX_PAGE_LEN) {
    need(flash.erase(flash.context, page, MOTEMIX_PAGE_LEN) == 0, "a page is not erased");
    need(is(MINE - BEGIN, MINE - BEGIN + page + MOTEMIX_PAGE_LEN, 0xff), "a page is not blank");
    need(is(MINE - BEGIN + page + MOTEMIX_PAGE_LEN, LEN, OTHERS), "too much was erased");
  }
  /* From an odd place in RAM, at both ends. */
  need(flash.write(flash.context, 0, (const uint8_t *)"xsixteen bytes..", 16) == 0, "no write");
  need(flash.write(flash.context, last, (const uint8_t *)"xsixteen bytes.." + 4, 12) == 0, "no write");
  need(reads(0, "xsixteen bytes..", 16) && reads(last, "teen bytes..\xff\xff\xff\xff", 16), "wrong bytes");
  /* A second write clears bits. */
  need(flash.write(flash.context, 0, (const uint8_t *)"\0\xff\xff\xff", 4) == 0, "no second write");
  need(reads(0, "\0sixteen bytes..", 16), "wrong bytes after the second write");
  need(flash.erase(flash.context, 0, MOTEMIX_FLASH_LEN) == 0, "not all is erased");
  need(is(MINE - BEGIN, MINE_END - BEGIN, 0xff), "not all is blank");
}

int
main(void)
{
  void *at = mmap(memory, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                  -1, 0);

  need(at == memory, "something else is at the flash's address");
  memset(memory, OTHERS, LEN);
  prepare_controller();
  set_writable(false);
  need(motemix_arch_flash(&flash) == 0, "no flash");
  use_flash();
  need(is_read_only(), "the flash can still be written, or interrupts are off");
  need(is(0, MINE - BEGIN, OTHERS) && is(MINE_END - BEGIN, LEN, OTHERS), "others' flash has changed");
  return EXIT_SUCCESS;
}
