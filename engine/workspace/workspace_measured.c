/*
 * engine/workspace/workspace_measured.c - what was measured of each convolution, as a table and as text: see
 * workspace.h for how it reads.
 *
 * Must not know:  the allocator, devices.
 * Invariant:      reading what was written gives the same table; a line that is none is left out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "engine/device/workspace_sizes.h"
#include "engine/workspace/workspace_internal.h"

/* More than the memory of any device: a text with a larger number is damaged. */
#define MOST_BYTES (UINT64_C(1) << 48)

static const char *const KINDS[] = {
    [ENG_CONV_FORWARD] = "forward", [ENG_CONV_INPUT] = "input", [ENG_CONV_WEIGHT] = "weight"};

static void add_numbers(struct vs_text *out, const char *before, const int64_t *numbers, int count)
{
    vs_text_add(out, before);
    for (int i = 0; i < count; i++)
        vs_text_addf(out, "%c%" PRId64, i ? ',' : ' ', numbers[i]);
}

/* The key has all that the choice of algorithm depends on: see conv_ways of struct eng_device. */
static void key_make(const struct eng_conv_call *call, struct vs_text *out)
{
    vs_text_clear(out);
    vs_text_addf(out, "%s %s", KINDS[call->kind], vs_dtype_name(call->x->dtype));
    add_numbers(out, "", call->x->sizes, 4);
    add_numbers(out, "", call->w->sizes, 4);
    add_numbers(out, "", call->y->sizes, 4);
    add_numbers(out, " stride", call->p->stride, 2);
    add_numbers(out, " padding", call->p->padding, 2);
    add_numbers(out, " dilation", call->p->dilation, 2);
    add_numbers(out, " groups", &call->p->groups, 1);
    vs_text_addf(out, " contiguous %s%s%s", eng_workspace_is_plain(call->x) ? "x" : "",
                 eng_workspace_is_plain(call->w) ? "w" : "",
                 eng_workspace_is_plain(call->y) ? "y" : "");
}

static struct eng_measured *find(const struct eng_workspaces *workspaces, const char *key)
{
    struct vs_probe probe = vs_probe(vs_hash_text(key));

    while (vs_table_next(&workspaces->by_key, &probe))
        if (strcmp(workspaces->measured[probe.item]->key, key) == 0)
            return workspaces->measured[probe.item];
    return NULL;
}

static struct eng_measured *add(struct eng_workspaces *workspaces, const char *key, size_t len)
{
    struct eng_measured *m = vs_calloc(1, sizeof(*m));

    m->key = vs_alloc(len + 1);
    memcpy(m->key, key, len);
    m->key[len] = '\0';
    vs_table_add(&workspaces->by_key, vs_hash_text(m->key), workspaces->count);
    workspaces->measured =
        vs_grow(workspaces->measured, workspaces->count, &workspaces->cap, sizeof(m));
    workspaces->measured[workspaces->count++] = m;
    return m;
}

struct eng_measured *eng_measured_find(struct eng_workspaces *workspaces,
                                       const struct eng_conv_call *call)
{
    key_make(call, &workspaces->key);
    return find(workspaces, vs_text_get(&workspaces->key));
}

struct eng_measured *eng_measured_add(struct eng_workspaces *workspaces,
                                      const struct eng_conv_call *call)
{
    const char *key;

    key_make(call, &workspaces->key);
    key = vs_text_get(&workspaces->key);
    return add(workspaces, key, strlen(key));
}

/* Reads "1024 512 0" up to the end of the line. */
static int ways_read(const char *text, const char *end, struct eng_conv_way *out)
{
    int n = 0;

    while (text < end && n < ENG_CONV_WAYS) {
        char *after;
        uint64_t bytes = strtoull(text, &after, 10);

        if (after == text || after > end || bytes > MOST_BYTES)
            break;
        out[n++] = (struct eng_conv_way){bytes, 0};
        text = after;
    }
    return n;
}

static void line_read(struct eng_workspaces *workspaces, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    struct eng_conv_way ways[ENG_CONV_WAYS];
    struct eng_measured *m;
    int n = colon ? ways_read(colon + 1, line + len, ways) : 0;

    if (len > 4 && !memcmp(line, "gpu ", 4))
        workspaces->capability = atoi(line + 4);
    if (!n)
        return;
    m = add(workspaces, line, (size_t)(colon - line));
    memcpy(m->ways, ways, sizeof(m->ways));
    m->count = n;
}

struct eng_workspaces *eng_workspaces_new(int capability, const char *measured)
{
    struct eng_workspaces *workspaces = vs_calloc(1, sizeof(*workspaces));

    workspaces->capability = capability;
    while (measured && *measured) {
        size_t len = strcspn(measured, "\n");

        line_read(workspaces, measured, len);
        measured += len + (measured[len] == '\n');
    }
    return workspaces;
}

void eng_workspaces_free(struct eng_workspaces *workspaces)
{
    if (!workspaces)
        return;
    for (size_t i = 0; i < workspaces->count; i++) {
        vs_free(workspaces->measured[i]->key);
        vs_free(workspaces->measured[i]);
    }
    vs_free(workspaces->measured);
    vs_table_release(&workspaces->by_key);
    vs_free(workspaces->unmeasured);
    vs_free(workspaces->shortages);
    vs_text_release(&workspaces->shortage_text);
    vs_text_release(&workspaces->key);
    vs_free(workspaces);
}

static char *measured_text(const struct eng_workspaces *workspaces)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "gpu %d\n", workspaces->capability);
    for (size_t i = 0; i < workspaces->count; i++) {
        const struct eng_measured *m = workspaces->measured[i];

        vs_text_addf(&text, "%s:", m->key);
        for (int k = 0; k < m->count; k++)
            vs_text_addf(&text, " %" PRIu64, m->ways[k].bytes);
        vs_text_add_char(&text, '\n');
    }
    return vs_text_take(&text);
}

static char *unmeasured_text(const struct eng_workspaces *workspaces)
{
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < workspaces->unmeasured_count; i++)
        vs_text_addf(&text, "%s%" PRIu32, i ? "," : "", workspaces->unmeasured[i]);
    return vs_text_take(&text);
}

struct eng_workspaces_notes eng_workspaces_notes_make(const struct eng *e)
{
    struct eng_workspaces_notes notes = {NULL, NULL, NULL};

    if (!eng_workspaces_in_force(e))
        return notes;
    notes.measured = measured_text(e->workspaces);
    if (e->workspaces->unmeasured_count)
        notes.unmeasured = unmeasured_text(e->workspaces);
    if (e->workspaces->shortage_count)
        notes.shortages = vs_strdup(vs_text_get(&e->workspaces->shortage_text));
    return notes;
}

void eng_workspaces_notes_release(struct eng_workspaces_notes *notes)
{
    vs_free(notes->measured);
    vs_free(notes->unmeasured);
    vs_free(notes->shortages);
    memset(notes, 0, sizeof(*notes));
}
