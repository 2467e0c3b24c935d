/*
 * tracer/cupti/cupti_capture.h - stores CUPTI's records as text, byte for byte, so that tests can replay them without a
 * GPU.
 *
 * For:            cupti_session.c, cupti_attach.c; tests/tracer/cupti/captured.c reads the file.
 * Must not know:  the meaning of records.
 * Invariant:      each line is written with one call, so that lines of different threads do not mix. Without a file
 *                 nothing is done.
 *
 * Lines, after the first ("vramscope cupti records 1"):
 *
 *     version 130001                      of CUPTI
 *     buffer 3                            start of a buffer; number of records dropped before it
 *     record 0a00000000…                  the bytes of a record; records of a buffer are contiguous
 *     name 104 ampere_sgemm_128x64_tn     at this offset the previous record has a pointer to this text
 *     end                                 of the buffer
 *     asked taken 7f3200000000 2097152    the engine's device allocated memory at this address (hexadecimal)
 *     asked given 7f3200000000 2097152    and freed it
 *     created asked 0 2097152             the engine's device created physical memory
 *     created seen 17 2097152             CUPTI reported it, during the op of event 17
 *     total cupti_kernels 42              a total at the end
 *     # …                                 comment
 */
#ifndef TRC_CUPTI_CAPTURE_H
#define TRC_CUPTI_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cupti_total {
    const char *name;
    uint64_t value;
};

/*
 * Create the file named by VRAMSCOPE_CUPTI_RECORDS, replacing an existing one. NULL: the variable is not set, or the
 * file cannot be written, which is reported on stderr.
 */
FILE *cupti_capture_open(uint32_t version);
void cupti_capture_buffer(FILE *f, uint64_t dropped);
/* name_offset 0: the record has no name. */
void cupti_capture_record(FILE *f, const void *record, size_t bytes, size_t name_offset,
                          const char *name);
void cupti_capture_buffer_end(FILE *f);
void cupti_capture_asked(FILE *f, bool is_taken, uint64_t address, uint64_t bytes);
void cupti_capture_created(FILE *f, bool is_asked, uint64_t op_seq, uint64_t bytes);
void cupti_capture_totals(FILE *f, const struct cupti_total *totals, size_t count);
void cupti_capture_close(FILE *f);

#endif
