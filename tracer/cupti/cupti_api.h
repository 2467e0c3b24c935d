/*
 * tracer/cupti/cupti_api.h - every function of CUPTI that anything in tracer/ calls, as one table.
 *
 * For:            the files of tracer/cupti/ and tracer/inject/, which call nothing of CUPTI's but through it; tests put their own table
 *                 in its place.
 * Must not know:  what the calls are for.
 * Invariant:      CUPTI is looked for at run time, never linked; after cupti_api_load no entry is NULL.
 *
 * VS_CUPTI is defined where CUPTI's headers were there when the program was built; without them there is no table to look into, and
 * loading fails with words that say so.
 */
#ifndef TRC_CUPTI_API_H
#define TRC_CUPTI_API_H

#include "base/attr.h"
#include "base/error.h"

struct cupti_api;

#ifdef VS_CUPTI
#include <cupti.h>

struct cupti_api {
#define CUPTI_API(name, args) CUptiResult(CUPTIAPI *name) args;
#include "tracer/cupti/cupti_api.def"
#undef CUPTI_API
};

/* CUPTI's own word for a result, such as CUPTI_ERROR_INSUFFICIENT_PRIVILEGES; never NULL, and good for ever. */
const char *cupti_result_text(const struct cupti_api *api, CUptiResult result);
#endif

/*
 * Fills the table from libcupti.so.13: in the folders of VRAMSCOPE_CUDA_LIBS (separated by colons), then as other programs find it, then where
 * the toolkit puts it. The library stays loaded. Nothing of CUPTI is started.
 *
 * VS_E_UNSUPPORTED: built without CUPTI, no such library, or one of another version; the text says which, and begins with "cupti: ".
 */
VS_MUST_USE enum vs_status cupti_api_load(struct cupti_api *out, struct vs_error *err);

#endif
