/*
 * tracer/cupti/cupti_capture.h - CUPTI's records kept as text, byte for byte, so that a test can have them again without a GPU.
 *
 * For:            cupti_session.c, cupti_attach.c; tests/tracer/cupti/captured.c reads it.
 * Must not know:  what the records say.
 * Invariant:      a line is written in one go, so that lines of two threads stand beside each other; without a file nothing is done.
 *
 * Lines, after the first ("vramscope cupti records 1"):
 *
 *     version 130001                      of CUPTI
 *     buffer 3                            a buffer begins; so many records were dropped before it
 *     record 0a00000000…                  the bytes of a record; they lie one behind the other in their buffer
 *     name 104 ampere_sgemm_128x64_tn     at this offset of the record before stands a pointer to this text
 *     end                                 of the buffer
 *     asked taken 7f3200000000 2097152    our device asked for memory, at this address (hexadecimal)
 *     asked given 7f3200000000 2097152    and gave it back
 *     created asked 0 2097152             physical memory: our device asked for it;
 *     created seen 17 2097152             CUPTI saw it, while the op of event 17 ran
 *     total cupti_kernels 42              what it all came to, at the end
 *     # …                                 nothing
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

/* The file that VRAMSCOPE_CUPTI_RECORDS names, begun anew; NULL: it names none, or none that can be written, which is said on stderr. */
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
