/*
 * tracer/inject/driver.h - the functions of the CUDA driver that the library calls.
 *
 * For:            subscribe.c.
 * Must not know:  the reason of a call.
 * Invariant:      only the driver that the program has loaded is called; if it lacks a function, the result is
 *                 "unknown". None of this library's locks is held during a call.
 */
#ifndef TRC_INJECT_DRIVER_H
#define TRC_INJECT_DRIVER_H

#include <stdint.h>

#include "tracer/inject/session.h"

/* Free bytes of the current context's device; 0: unknown. */
uint64_t inj_driver_free_bytes(void);
/* Everything that is known about a device; bytes: of the current context's device. */
void inj_driver_facts(uint32_t device, struct inj_facts *out);
/* The driver's name of an error, such as CUDA_ERROR_LAUNCH_FAILED. */
const char *inj_driver_error(int result);

#endif
