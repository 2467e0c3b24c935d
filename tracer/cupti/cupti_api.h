/*
 * tracer/cupti/cupti_api.h - a table of all CUPTI functions that tracer/ calls.
 *
 * For:            tracer/cupti/ and tracer/inject/, which call CUPTI only through this table; tests use a table of
 *                 their own.
 * Must not know:  what the calls are for.
 * Invariant:      CUPTI is loaded at run time, never linked; after cupti_api_load() no entry is NULL.
 *
 * VS_CUPTI is defined if CUPTI's headers were found at build time. Without them there is no table, and loading fails
 * with a message that says so.
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

/* CUPTI's name of a result, such as CUPTI_ERROR_INSUFFICIENT_PRIVILEGES; never NULL, a static string. */
const char *cupti_result_text(const struct cupti_api *api, CUptiResult result);
#endif

/*
 * Fill the table from libcupti.so.13, searched in the folders of VRAMSCOPE_CUDA_LIBS (separated by colons), then by the
 * dynamic linker, then in the toolkit's default location. The library stays loaded; none of CUPTI's features is
 * enabled.
 *
 * VS_E_UNSUPPORTED: built without CUPTI, library not found, or another version; the text begins with "cupti: " and says
 * which.
 */
VS_MUST_USE enum vs_status cupti_api_load(struct cupti_api *out, struct vs_error *err);

/* Whether cupti_api_load would succeed, for callers that are built without CUPTI's headers. Errors are the same. */
VS_MUST_USE enum vs_status cupti_check(struct vs_error *err);

#endif
