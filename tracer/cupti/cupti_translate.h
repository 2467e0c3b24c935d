/*
 * tracer/cupti/cupti_translate.h - CUPTI's records made into ours.
 *
 * For:            cupti_session.c, and the tests that read captured records.
 * Must not know:  ops, sums.
 * Invariant:      the only file that looks into CUPTI's records; nothing behind the end of a buffer is read.
 */
#ifndef TRC_CUPTI_TRANSLATE_H
#define TRC_CUPTI_TRANSLATE_H

#include "tracer/cupti/cupti_record.h"

/* The kind of external correlation ids that are ours (CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0); other libraries use others. */
#define CUPTI_OUR_IDS 3

/* OK: `out` is filled. OTHER: nothing that is wanted, such as memory of the host. UNKNOWN: no such kind was asked for. CUT: it does not fit into its bytes. */
enum cupti_read { CUPTI_READ_OK, CUPTI_READ_OTHER, CUPTI_READ_UNKNOWN, CUPTI_READ_CUT };

/* `record`: a CUpti_Activity, 8-byte aligned, of which `bytes` lie in its buffer. out->name is borrowed from CUPTI. */
enum cupti_read cupti_translate(const void *record, size_t bytes, struct cupti_record *out);

/* Where in a record of this kind a pointer to a text lies (the name that cupti_translate gives); 0: nowhere. */
size_t cupti_name_offset(const void *record, size_t bytes);

#endif
