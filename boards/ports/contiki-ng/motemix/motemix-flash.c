/* Where the mote keeps what outlives a restart. */

#include <string.h>

#include "contiki.h"
#include "motemix-arch.h"

#if defined(CONTIKI_TARGET_NATIVE)

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "lib/csprng.h"

/* A file in the folder in which the program was started, or where MOTEMIX_FLASH says: the flash,
 * and behind it the address. */
#define ADDRESS_LEN 8
static int file = -1;

static int
read_flash(void *context, uint32_t address, uint8_t *out, size_t len)
{
  (void)context;
  return pread(file, out, len, address) == (ssize_t)len ? 0 : -1;
}

static int
write_flash(void *context, uint32_t address, const uint8_t *bytes, size_t len)
{
  uint8_t word[4];
  size_t at, bit;

  /* A flash clears bits. */
  for(at = 0; at < len; at += sizeof(word)) {
    if(read_flash(context, address + at, word, sizeof(word)) != 0) {
      return -1;
    }
    for(bit = 0; bit < sizeof(word); bit++) {
      word[bit] &= bytes[at + bit];
    }
    if(pwrite(file, word, sizeof(word), address + at) != sizeof(word)) {
      return -1;
    }
  }
  return fdatasync(file);
}

static int
erase_flash(void *context, uint32_t address, size_t len)
{
  static uint8_t page[MOTEMIX_PAGE_LEN];
  size_t at;

  (void)context;
  memset(page, 0xff, sizeof(page));
  for(at = 0; at < len; at += sizeof(page)) {
    if(pwrite(file, page, sizeof(page), address + at) != sizeof(page)) {
      return -1;
    }
  }
  return fdatasync(file);
}

/* Fills a new file. */
static int
make_file(void)
{
  uint8_t address[ADDRESS_LEN];

  if(erase_flash(NULL, 0, MOTEMIX_FLASH_LEN) != 0 || !csprng_rand(address, sizeof(address))) {
    return -1;
  }
  /* Neither a group address nor one that IEEE gave away. */
  address[0] = (uint8_t)((address[0] & ~1u) | 2u);
  return pwrite(file, address, sizeof(address), MOTEMIX_FLASH_LEN) == sizeof(address) ? 0 : -1;
}

/* Takes the file for this program alone. */
static int
take_file(const char *path)
{
  off_t len;

  /* Two motes with one flash would have one key, and destroy what the other wrote. */
  if(flock(file, LOCK_EX | LOCK_NB) != 0) {
    fprintf(stderr, "%s: another mote uses it; name a file for each in MOTEMIX_FLASH\n", path);
    return -1;
  }
  len = lseek(file, 0, SEEK_END);
  if(len == 0) {
    if(make_file() != 0) {
      perror(path);
      return -1;
    }
  } else if(len != MOTEMIX_FLASH_LEN + ADDRESS_LEN) {
    fprintf(stderr, "%s: %ld bytes, and not %ld; move it away\n", path, (long)len,
            (long)MOTEMIX_FLASH_LEN + ADDRESS_LEN);
    return -1;
  }
  return 0;
}

/* Opens the file, and makes it if there is none. */
static int
open_file(void)
{
  const char *path = getenv("MOTEMIX_FLASH");

  path = path != NULL ? path : "motemix.flash";
  if(file >= 0) {
    return 0;
  }
  file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if(file < 0) {
    perror(path);
    return -1;
  }
  if(take_file(path) != 0) {
    close(file);
    file = -1;
    return -1;
  }
  return 0;
}

int
motemix_arch_address(uint8_t address[8])
{
  if(open_file() != 0) {
    return -1;
  }
  return pread(file, address, ADDRESS_LEN, MOTEMIX_FLASH_LEN) == ADDRESS_LEN ? 0 : -1;
}

int
motemix_arch_flash(motemix_flash *flash)
{
  flash->read = read_flash;
  flash->write = write_flash;
  flash->erase = erase_flash;
  return open_file();
}

#elif defined(CONTIKI_TARGET_CC2538DK) || defined(CONTIKI_TARGET_ZOUL) || \
  defined(CONTIKI_TARGET_OPENMOTE)

#include "dev/flash.h"
#include "dev/rom-util.h"
#include "sys/int-master.h"

/* Below the page at whose end is what locks the flash: only whole pages are erased. project-conf.h
 * keeps the program away from it. */
#define FLASH_END (CC2538_DEV_FLASH_ADDR + CC2538_DEV_FLASH_SIZE - FLASH_PAGE_SIZE)
#define FLASH_BEGIN (FLASH_END - MOTEMIX_FLASH_LEN)

_Static_assert(FLASH_BEGIN % FLASH_PAGE_SIZE == 0 && FLASH_END <= FLASH_CCA_ADDR,
               "the mote's flash is whole pages");
_Static_assert(FLASH_FW_ADDR + FLASH_FW_SIZE <= FLASH_BEGIN,
               "the program may reach into the mote's flash: set FLASH_CONF_FW_SIZE, see "
               "project-conf.h");

static int
read_flash(void *context, uint32_t address, uint8_t *out, size_t len)
{
  (void)context;
  memcpy(out, (const uint8_t *)(FLASH_BEGIN + address), len);
  return 0;
}

static int
write_flash(void *context, uint32_t address, const uint8_t *bytes, size_t len)
{
  int_master_status_t interrupts;
  int32_t failed = 0;
  uint32_t word;
  size_t at;

  (void)context;
  for(at = 0; at < len && failed == 0; at += sizeof(word)) {
    memcpy(&word, bytes + at, sizeof(word));
    /* Nothing is read from the flash meanwhile, not by an interrupt either. */
    interrupts = int_master_read_and_disable();
    failed = rom_util_program_flash(&word, FLASH_BEGIN + address + at, sizeof(word));
    int_master_status_set(interrupts);
  }
  return failed;
}

static int
erase_flash(void *context, uint32_t address, size_t len)
{
  int_master_status_t interrupts;
  int32_t failed = 0;
  size_t at;

  (void)context;
  for(at = 0; at < len && failed == 0; at += FLASH_PAGE_SIZE) {
    interrupts = int_master_read_and_disable();
    failed = rom_util_page_erase(FLASH_BEGIN + address + at, FLASH_PAGE_SIZE);
    int_master_status_set(interrupts);
  }
  return failed;
}

int
motemix_arch_flash(motemix_flash *flash)
{
  flash->read = read_flash;
  flash->write = write_flash;
  flash->erase = erase_flash;
  return 0;
}

#elif defined(CONTIKI_TARGET_NRF)

#include "nrf.h"

/* Where the program ends in flash: the linker's. */
extern uint32_t __etext, __data_start__, __data_end__;

/* The last pages of the flash. */
static uintptr_t
flash_begin(void)
{
  return NRF_FICR->CODEPAGESIZE * NRF_FICR->CODESIZE - MOTEMIX_FLASH_LEN;
}

static void
set_mode(uint32_t mode)
{
  NRF_NVMC->CONFIG = mode;
  while(NRF_NVMC->READY == 0) {
  }
}

static int
read_flash(void *context, uint32_t address, uint8_t *out, size_t len)
{
  (void)context;
  memcpy(out, (const uint8_t *)(flash_begin() + address), len);
  return 0;
}

static int
write_flash(void *context, uint32_t address, const uint8_t *bytes, size_t len)
{
  uint32_t word;
  size_t at;

  (void)context;
  set_mode(NVMC_CONFIG_WEN_Wen);
  for(at = 0; at < len; at += sizeof(word)) {
    memcpy(&word, bytes + at, sizeof(word));
    /* A word may be written twice between two erases: ones are left out. */
    if(word != UINT32_MAX) {
      *(volatile uint32_t *)(flash_begin() + address + at) = word;
      while(NRF_NVMC->READY == 0) {
      }
    }
  }
  set_mode(NVMC_CONFIG_WEN_Ren);
  return 0;
}

static int
erase_flash(void *context, uint32_t address, size_t len)
{
  size_t at;

  (void)context;
  set_mode(NVMC_CONFIG_WEN_Een);
  for(at = 0; at < len; at += MOTEMIX_PAGE_LEN) {
    NRF_NVMC->ERASEPAGE = flash_begin() + address + at;
    while(NRF_NVMC->READY == 0) {
    }
  }
  set_mode(NVMC_CONFIG_WEN_Ren);
  return 0;
}

int
motemix_arch_flash(motemix_flash *flash)
{
  uintptr_t data_len = (uintptr_t)&__data_end__ - (uintptr_t)&__data_start__;

  if(NRF_FICR->CODEPAGESIZE != MOTEMIX_PAGE_LEN || (uintptr_t)&__etext + data_len > flash_begin()) {
    return -1;
  }
  flash->read = read_flash;
  flash->write = write_flash;
  flash->erase = erase_flash;
  return 0;
}

#elif defined(CONTIKI_TARGET_COOJA) || defined(MOTEMIX_CONF_FLASH_IN_RAM)

/* In RAM: a simulated mote is never without power. On a board it would forget its key. */
static uint8_t flash_memory[MOTEMIX_FLASH_LEN];

static int
read_flash(void *context, uint32_t address, uint8_t *out, size_t len)
{
  (void)context;
  memcpy(out, flash_memory + address, len);
  return 0;
}

static int
write_flash(void *context, uint32_t address, const uint8_t *bytes, size_t len)
{
  size_t at;

  (void)context;
  for(at = 0; at < len; at++) {
    flash_memory[address + at] &= bytes[at];
  }
  return 0;
}

static int
erase_flash(void *context, uint32_t address, size_t len)
{
  (void)context;
  memset(flash_memory + address, 0xff, len);
  return 0;
}

int
motemix_arch_flash(motemix_flash *flash)
{
  flash->read = read_flash;
  flash->write = write_flash;
  flash->erase = erase_flash;
  return erase_flash(NULL, 0, MOTEMIX_FLASH_LEN);
}

#else
#error "motemix has nowhere to keep its key on this platform: write motemix_arch_flash for it, as \
in boards/ports/contiki-ng/motemix/motemix-flash.c."
#endif
