/* Stand-in for RIOT's sys/auto_init/include/auto_init_utils.h. See README.md. */

#ifndef AUTO_INIT_UTILS_H
#define AUTO_INIT_UTILS_H

/* Calls the function before main. There is one, so that priorities do not matter. */
#define AUTO_INIT(function, priority)                                       \
    __attribute__((constructor)) static void function##_before_main(void)  \
    {                                                                       \
        function();                                                         \
    }                                                                       \
    void function(void)

#endif
