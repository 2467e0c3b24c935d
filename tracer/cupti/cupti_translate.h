/*
 * tracer/cupti/cupti_translate.h - converts CUPTI's records to struct cupti_record.
 *
 * For:            cupti_session.c, and tests that read captured records.
 * Must not know:  ops, totals.
 * Invariant:      the only file that reads CUPTI's records; it never reads beyond the end of a buffer.
 */
#ifndef TRC_CUPTI_TRANSLATE_H
#define TRC_CUPTI_TRANSLATE_H

#include "tracer/cupti/cupti_record.h"

/*
 * The kind of external correlation ids that this program uses (CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0); other
 * libraries use other kinds.
 */
#define CUPTI_OUR_IDS 3

/*
 * OK: `out` is filled. OTHER: the record is not needed, such as host memory. UNKNOWN: this kind was not requested. CUT:
 * the record is longer than its bytes.
 */
enum cupti_read { CUPTI_READ_OK, CUPTI_READ_OTHER, CUPTI_READ_UNKNOWN, CUPTI_READ_CUT };

/*
 * `record`: a CUpti_Activity, 8-byte aligned, followed by the rest of its buffer, `bytes` in all. out->name is borrowed
 * from CUPTI.
 */
enum cupti_read cupti_translate(const void *record, size_t bytes, struct cupti_record *out);

/* Offset of the pointer to the name in a record of this kind; 0 if it has none. */
size_t cupti_name_offset(const void *record, size_t bytes);

#endif
