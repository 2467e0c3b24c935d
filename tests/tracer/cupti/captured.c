/*
 * tests/tracer/cupti/captured.c - see captured.h.
 */
#include "tests/tracer/cupti/captured.h"

#ifdef VS_CUPTI

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "tests/tracer/cupti/fake_cupti.h"
#include "tracer/cupti/cupti_session_internal.h"
#include "tracer/recorder.h"

#define BUFFER_MOST ((size_t)1 << 20)
#define RECORDS_MOST 65536
#define LINE_MOST 65536

/* The buffer that is being read, and after it the one that is delivered: GetNextRecord gets no context. */
static struct {
    uint8_t bytes[BUFFER_MOST];
    size_t used;
    size_t starts[RECORDS_MOST];
    size_t count;
    struct vs_arena *names;
} buffer;

static CUptiResult CUPTIAPI next_record(uint8_t *bytes, size_t valid_bytes, CUpti_Activity **record)
{
    size_t at = *record ? (size_t)((uint8_t *)*record - bytes) : 0;
    size_t i = 0;

    while (*record && buffer.starts[i] != at)
        i++;
    i += *record != NULL;
    if (i >= buffer.count || buffer.starts[i] >= valid_bytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(bytes + buffer.starts[i]);
    return CUPTI_SUCCESS;
}

static void record_read(const char *hex)
{
    size_t len = strlen(hex);

    if (len % 2 || buffer.used + len / 2 > BUFFER_MOST || buffer.count == RECORDS_MOST)
        fail_msg("a record cannot be read: %.40s", hex);
    buffer.starts[buffer.count++] = buffer.used;
    for (size_t i = 0; i < len; i += 2) {
        unsigned byte;

        if (sscanf(hex + i, "%2x", &byte) != 1)
            fail_msg("a record cannot be read: %.40s", hex + i);
        buffer.bytes[buffer.used++] = (uint8_t)byte;
    }
}

static void name_read(const char *text)
{
    char *end;
    size_t at = strtoul(text, &end, 10);
    const char *name = vs_arena_strndup(buffer.names, end + 1, strlen(end + 1));

    if (*end != ' ' || !buffer.count ||
        buffer.starts[buffer.count - 1] + at + sizeof(name) > buffer.used)
        fail_msg("a name cannot be read: %s", text);
    memcpy(buffer.bytes + buffer.starts[buffer.count - 1] + at, &name, sizeof(name));
}

static void deliver(struct captured *out)
{
    out->buffers++;
    out->records += buffer.count;
    fake_cupti_deliver_buffer(buffer.bytes, buffer.used);
    buffer.used = buffer.count = 0;
}

/* asked taken 7f32 2097152 | created asked 0 2097152 | total name 42. False: no such line. */
static bool words_read(const char *line, struct trc_cupti *c, struct captured *out)
{
    uint64_t a;
    uint64_t b;
    char word[32];

    if (sscanf(line, "asked taken %" SCNx64 " %" SCNu64, &a, &b) == 2)
        trc_cupti_asked(c, true, a, b);
    else if (sscanf(line, "asked given %" SCNx64 " %" SCNu64, &a, &b) == 2)
        trc_cupti_asked(c, false, a, b);
    else if (sscanf(line, "created asked %" SCNu64 " %" SCNu64, &a, &b) == 2)
        trc_cupti_created(c, b);
    else if (sscanf(line, "created seen %" SCNu64 " %" SCNu64, &a, &b) == 2)
        cupti_session_created_seen(c, b);
    else if (sscanf(line, "version %" SCNu32, &out->version) == 1)
        return true;
    else if (sscanf(line, "total %31s %" SCNu64, word, &b) == 2 &&
             out->total_count < CAPTURED_TOTALS) {
        memcpy(out->totals[out->total_count].name, word, sizeof(word));
        out->totals[out->total_count++].value = b;
    } else
        return false;
    return true;
}

static void line_read(char *line, struct trc_cupti *c, struct captured *out)
{
    size_t len = strcspn(line, "\n");

    if (line[len] != '\n')
        fail_msg("a line is cut off: %.60s", line);
    line[len] = '\0';
    if (strncmp(line, "record ", 7) == 0)
        record_read(line + 7);
    else if (strncmp(line, "name ", 5) == 0)
        name_read(line + 5);
    else if (strncmp(line, "buffer ", 7) == 0)
        fake_cupti_drop(strtoull(line + 7, NULL, 10));
    else if (strcmp(line, "end") == 0)
        deliver(out);
    else if (*line != '#' && strcmp(line, "vramscope cupti records 1") != 0 &&
             !words_read(line, c, out))
        fail_msg("a line cannot be read: %.60s", line);
}

void captured_play(const char *path, const char *trace, struct captured *out)
{
    struct trc_recorder_options options = {.force = true, .beside = trc_cupti_write};
    struct cupti_api api = *fake_cupti_api();
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec;
    struct trc_cupti *c;
    gzFile file = gzopen(path, "r"); /* which reads what is not compressed as it is */
    char *line = vs_alloc(LINE_MOST);

    if (!file)
        fail_msg("%s cannot be opened", path);
    memset(out, 0, sizeof(*out));
    fake_cupti_begin(FAKE_CUPTI_COUNT, 0, CUPTI_SUCCESS);
    api.cuptiActivityGetNextRecord = next_record;
    buffer.used = buffer.count = 0;
    buffer.names = vs_arena_new();
    if (trc_cupti_open_with(&api, &c, &err))
        fail_msg("%s", err.text);
    options.beside_user = c;
    if (trc_recorder_open(trace, &options, &rec, &err))
        fail_msg("%s", err.text);
    while (gzgets(file, line, LINE_MOST))
        line_read(line, c, out);
    trc_cupti_stop(c);
    if (trc_recorder_close(rec, true, &err))
        fail_msg("%s", err.text);
    trc_cupti_close(c);
    vs_arena_free(buffer.names);
    vs_free(line);
    gzclose(file);
}

#endif
