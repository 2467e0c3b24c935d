/*
 * tracer/cupti/cupti_capture.c - see cupti_capture.h.
 *
 * Must not know:  the meaning of records.
 * Invariant:      write errors are not reported: the file is used by tests, which notice that it is truncated.
 */
#include "tracer/cupti/cupti_capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

FILE *cupti_capture_open(uint32_t version)
{
    const char *path = getenv("VRAMSCOPE_CUPTI_RECORDS");
    FILE *f;

    if (!path || !*path)
        return NULL;
    f = fopen(path, "w");
    if (!f) {
        fprintf(stderr, "vramscope: warning: %s: records of CUPTI cannot be kept: %s\n", path,
                strerror(errno));
        return NULL;
    }
    fprintf(f, "vramscope cupti records 1\nversion %" PRIu32 "\n", version);
    return f;
}

void cupti_capture_buffer(FILE *f, uint64_t dropped)
{
    if (f)
        fprintf(f, "buffer %" PRIu64 "\n", dropped);
}

void cupti_capture_record(FILE *f, const void *record, size_t bytes, size_t name_offset,
                          const char *name)
{
    struct vs_text line = {NULL, 0, 0};

    if (!f)
        return;
    vs_text_add(&line, "record ");
    for (size_t i = 0; i < bytes; i++)
        vs_text_addf(&line, "%02x", ((const unsigned char *)record)[i]);
    if (name_offset && name)
        vs_text_addf(&line, "\nname %zu %s", name_offset, name);
    fprintf(f, "%s\n", vs_text_get(&line));
    vs_text_release(&line);
}

void cupti_capture_buffer_end(FILE *f)
{
    if (f)
        fprintf(f, "end\n");
}

void cupti_capture_asked(FILE *f, bool is_taken, uint64_t address, uint64_t bytes)
{
    if (f)
        fprintf(f, "asked %s %" PRIx64 " %" PRIu64 "\n", is_taken ? "taken" : "given", address,
                bytes);
}

void cupti_capture_created(FILE *f, bool is_asked, uint64_t op_seq, uint64_t bytes)
{
    if (f)
        fprintf(f, "created %s %" PRIu64 " %" PRIu64 "\n", is_asked ? "asked" : "seen", op_seq,
                bytes);
}

void cupti_capture_totals(FILE *f, const struct cupti_total *totals, size_t count)
{
    for (size_t i = 0; f && i < count; i++)
        fprintf(f, "total %s %" PRIu64 "\n", totals[i].name, totals[i].value);
}

void cupti_capture_close(FILE *f)
{
    if (f)
        fclose(f);
}
