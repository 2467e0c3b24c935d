/*
 * tracer/inject/subscribe.h - receives the program's CUDA calls through CUPTI.
 *
 * For:            inject.c; tests, with a table of their own.
 * Must not know:  files.
 * Invariant:      the program's calls behave as without this library, and errors of CUPTI do not reach the program.
 */
#ifndef TRC_INJECT_SUBSCRIBE_H
#define TRC_INJECT_SUBSCRIBE_H

#include <stdbool.h>

#include "base/error.h"
#include "tracer/cupti/cupti_api.h"

/*
 * Subscribe to the calls of calls.def. `api` is copied. VS_E_UNSUPPORTED: nothing is subscribed; the text contains
 * CUPTI's reason. Single functions that CUPTI cannot report are listed in the status file.
 */
VS_MUST_USE enum vs_status inj_subscribe(const struct cupti_api *api, struct vs_error *err);

/* The process is about to end: contexts destroyed from now on are ignored. */
void inj_subscribe_ending(void);

#endif
