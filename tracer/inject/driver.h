/*
 * tracer/inject/driver.h - the few functions of the CUDA driver that the library calls itself.
 *
 * For:            subscribe.c.
 * Must not know:  why.
 * Invariant:      only the driver that the program has loaded is called; where it lacks a function, the answer is "unknown". No lock of ours
 *                 is held meanwhile.
 */
#ifndef TRC_INJECT_DRIVER_H
#define TRC_INJECT_DRIVER_H

#include <stdint.h>

#include "tracer/inject/session.h"

/* Bytes that the current context's device has free; 0: unknown. */
uint64_t inj_driver_free_bytes(void);
/* Everything that is known of a device; bytes: of the current context's. */
void inj_driver_facts(uint32_t device, struct inj_facts *out);
/* The driver's name of an error, such as CUDA_ERROR_LAUNCH_FAILED. */
const char *inj_driver_error(int result);

#endif
