/*
 * tests/tracer/cupti/captured.h - delivers CUPTI records again that were kept as text (tracer/cupti/cupti_capture.h).
 *
 * For:            test_cupti_captured.c. A file may be compressed by gzip.
 * Must not know:  where the file came from.
 * Invariant:      buffers have the bytes that CUPTI gave, but for pointers to names; they lead to the names of the
 *                 file.
 */
#ifndef TESTS_TRACER_CAPTURED_H
#define TESTS_TRACER_CAPTURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURED_TOTALS 32

/* What the file says that it came to. */
struct captured_total {
    char name[32];
    uint64_t value;
};

struct captured {
    uint32_t version;
    size_t buffers;
    size_t records;
    struct captured_total totals[CAPTURED_TOTALS];
    size_t total_count;
};

/*
 * Replays the file into a recording at `trace`, which then has what it came to. Fails the test where a line cannot be
 * read.
 */
void captured_play(const char *path, const char *trace, struct captured *out);

#endif
