/*
 * tracer/inject/subscribe.h - listens to CUDA through CUPTI.
 *
 * For:            inject.c; tests, with a table of their own.
 * Must not know:  files.
 * Invariant:      the program's calls do what they would do without us, and no failure of CUPTI reaches it.
 */
#ifndef TRC_INJECT_SUBSCRIBE_H
#define TRC_INJECT_SUBSCRIBE_H

#include <stdbool.h>

#include "base/error.h"
#include "tracer/cupti/cupti_api.h"

/*
 * Subscribe to the calls of calls.def. `api` is copied. VS_E_UNSUPPORTED: nothing is listened to; the text says why, in CUPTI's words. What
 * alone cannot be listened to is told in the status file.
 */
VS_MUST_USE enum vs_status inj_subscribe(const struct cupti_api *api, struct vs_error *err);

/* The process ends: contexts that are destroyed from now on say nothing of the program. */
void inj_subscribe_ending(void);

#endif
