/* Stand-in for Contiki-NG's os/sys/log.h. See README.md. */

#ifndef LOG_H_
#define LOG_H_

#include <stdio.h>

#define LOG_LEVEL_ERR 1
#define LOG_LEVEL_WARN 2
#define LOG_LEVEL_INFO 3

#define LOG(level, name, ...) \
  do { \
    if(LOG_LEVEL >= (level)) { \
      printf("[" name ": " LOG_MODULE "] " __VA_ARGS__); \
    } \
  } while(0)
#define LOG_ERR(...) LOG(LOG_LEVEL_ERR, "ERR", __VA_ARGS__)
#define LOG_WARN(...) LOG(LOG_LEVEL_WARN, "WARN", __VA_ARGS__)
#define LOG_INFO(...) LOG(LOG_LEVEL_INFO, "INFO", __VA_ARGS__)

#endif
