/*
 * Stand-in for nrf.h: the registers that say how much flash there is, the controller of the flash,
 * and the generator of random bytes. Each use of the controller is seen by the program. See README.md.
 */

#ifndef NRF_H
#define NRF_H

#include <stdint.h>

typedef struct {
  uint32_t CODEPAGESIZE;
  uint32_t CODESIZE;
} NRF_FICR_Type;

typedef struct {
  volatile uint32_t READY;
  volatile uint32_t CONFIG;
  volatile uint32_t ERASEPAGE;
} NRF_NVMC_Type;

typedef struct {
  volatile uint32_t TASKS_START;
  volatile uint32_t TASKS_STOP;
  volatile uint32_t EVENTS_VALRDY;
  volatile uint32_t CONFIG;
  volatile uint32_t VALUE;
} NRF_RNG_Type;

const NRF_FICR_Type *stand_in_ficr(void);
NRF_NVMC_Type *stand_in_nvmc(void);
NRF_RNG_Type *stand_in_rng(void);

#define NRF_FICR stand_in_ficr()
#define NRF_NVMC stand_in_nvmc()
#define NRF_RNG stand_in_rng()
#define RNG_CONFIG_DERCEN_Msk 1
#define NVMC_CONFIG_WEN_Ren 0
#define NVMC_CONFIG_WEN_Wen 1
#define NVMC_CONFIG_WEN_Een 2

#endif
