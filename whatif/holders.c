/*
 * whatif/holders.c - see holders.h.
 *
 * Must not know:  SQL, Python.
 */
#include "whatif/holders.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/temporary/folder.h"
#include "base/text.h"
#include "replay/index/cursor.h"
#include "replay/trace/found.h"
#include "store/held/held.h"
#include "whatif/recipe.h"
#include "whatif/rerun.h"

#define FIELDS 8 /* of a line: held ADDRESS KIND NAME SCOPE FILE LINE NODE */

enum vs_status wif_holders_check(const struct rpl_trace *trace, struct vs_error *err)
{
    uint64_t before = 0;

    if (!wif_recipe_is_in(trace) || !rpl_found_path(trace))
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "the trace is of no program that vramscope recorded, so it cannot be run "
                       "again to an event");
    if (!rpl_trace_meta(trace, "gpu_played"))
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "the program used a real GPU, where no two runs are alike; recorded with "
                       "--gpu NAME, over a simulated one, it can be run again to an event");
    if (rpl_trace_device_count(trace))
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "the trace has several devices; only a program of one can be run again to "
                       "an event");
    if (rpl_trace_meta_uint(trace, "start_events", &before) && before)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "the trace begins after the program's first events; record with a larger "
                       "--history");
    return VS_OK;
}

/* ---- where to stop ---- */

/*
 * The last alloc, free or oom up to `seq`: which PyTorch reports while it happens; how often it was before, of its
 * address.
 */
struct stop {
    struct vs_event event;
    uint64_t number;
};

static bool has_callback(const struct vs_event *event)
{
    return event->kind == VS_EV_ALLOC || event->kind == VS_EV_FREE || event->kind == VS_EV_OOM;
}

static bool is_alike(const struct vs_event *a, const struct vs_event *b)
{
    return a->kind == b->kind && (a->kind == VS_EV_OOM || a->alloc.address == b->alloc.address);
}

static enum vs_status stop_find(struct rpl_trace *trace, uint64_t seq, struct stop *out,
                                struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const struct vs_event *event;
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    rpl_scan_init(scan, trace, 1, seq);
    while ((event = rpl_scan_next(scan, err)) != NULL)
        if (has_callback(event))
            out->event = *event;
    st = scan->status;
    if (!st && !has_callback(&out->event))
        st = vs_fail(err, VS_E_VALUE, "nothing was allocated up to event %" PRIu64, seq);
    if (!st) {
        rpl_scan_init(scan, trace, 1, seq);
        while ((event = rpl_scan_next(scan, err)) != NULL)
            out->number += is_alike(event, &out->event);
        st = scan->status;
    }
    vs_free(scan);
    return st;
}

/* file: "-" for a prompt. */
static void stop_text(const struct rpl_trace *trace, const struct stop *stop, const char *file,
                      struct vs_text *out)
{
    const char *rank = rpl_trace_meta(trace, "rank");
    const bool is_oom = stop->event.kind == VS_EV_OOM;

    vs_text_addf(out, "%s %" PRIu64 " %" PRIu64 " %s %s",
                 is_oom                            ? "oom"
                 : stop->event.kind == VS_EV_ALLOC ? "alloc"
                                                   : "free",
                 is_oom ? 0 : stop->event.alloc.address, stop->number, rank ? rank : "-", file);
}

/* ---- what was found ---- */

/* texts: what the rows point into; by_address: indices of live->blocks; allocated: bytes that the program says. */
struct found {
    char *texts;
    struct sto_held *rows;
    size_t count;
    size_t cap;
    const struct rpl_live *live;
    struct vs_table by_address;
    bool *is_held;
    uint64_t allocated;
};

static enum vs_status file_read(const char *path, char **out, struct vs_error *err)
{
    FILE *file = fopen(path, "r");
    struct vs_text text = {NULL, 0, 0};
    char buf[4096];
    size_t n;

    *out = NULL;
    if (!file)
        return vs_fail(err, VS_E_IO, "%s: what was found cannot be read", path);
    while ((n = fread(buf, 1, sizeof(buf), file)) > 0)
        vs_text_add_n(&text, buf, n);
    fclose(file);
    *out = vs_text_take(&text);
    return VS_OK;
}

/* Index of the live block at an address; SIZE_MAX: there is none. */
static size_t block_at(const struct found *f, uint64_t address)
{
    struct vs_probe probe = vs_probe(vs_hash_number(address));

    while (vs_table_next(&f->by_address, &probe))
        if (f->live->blocks[probe.item].address == address)
            return probe.item;
    return SIZE_MAX;
}

static enum vs_holder kind_of(const char *name)
{
    for (int k = 0; k < VS_HOLDER_COUNT; k++)
        if (strcmp(vs_holder_name((enum vs_holder)k), name) == 0)
            return (enum vs_holder)k;
    return VS_HOLDER_COUNT;
}

static void row_add(struct found *f, const struct sto_held *row)
{
    f->rows = vs_grow(f->rows, f->count, &f->cap, sizeof(*f->rows));
    f->rows[f->count++] = *row;
}

/* False: the line is none of those that the program writes. */
static bool line_take(struct found *f, char *line)
{
    struct sto_held row = {.scope = ""};
    char *fields[FIELDS];
    size_t at;

    for (size_t i = 0; i < FIELDS; i++)
        if ((fields[i] = strsep(&line, "\t")) == NULL)
            return false;
    at = block_at(f, strtoull(fields[1], NULL, 10));
    row.kind = kind_of(fields[2]);
    if (line || strcmp(fields[0], "held") != 0 || row.kind == VS_HOLDER_COUNT)
        return false;
    if (at == SIZE_MAX) /* the block that is being freed; memory of another device */
        return true;
    f->is_held[at] = true;
    row.block = f->live->blocks[at].id;
    row.name = fields[3];
    row.scope = fields[4];
    row.func = fields[5];
    row.line = (uint32_t)strtoul(fields[6], NULL, 10);
    row.node = strtoull(fields[7], NULL, 10);
    row_add(f, &row);
    return true;
}

static enum vs_status lines_take(struct found *f, struct vs_error *err)
{
    char *rest = f->texts;
    char *line;

    while ((line = strsep(&rest, "\n")) != NULL) {
        if (strncmp(line, "error\t", 6) == 0)
            return vs_fail(err, VS_E_VALUE, "the program could not be examined: %s", line + 6);
        if (strcmp(line, "end") == 0)
            return VS_OK;
        if (strncmp(line, "allocated\t", 10) == 0)
            f->allocated = strtoull(line + 10, NULL, 10);
        else if (!line_take(f, line))
            return vs_fail(err, VS_E_DAMAGED, "what the program wrote cannot be read: %.80s", line);
    }
    return vs_fail(err, VS_E_DAMAGED, "what the program wrote ends early");
}

/* What nothing was found for is held by C++ alone: the running op, the engine of backward, a library. */
static void rest_add(struct found *f, const struct rpl_trace *trace)
{
    for (size_t i = 0; i < f->live->block_count; i++) {
        const struct rpl_block *block = &f->live->blocks[i];
        const struct vs_location *location = rpl_trace_location(trace, block->alloc_location);
        const char *op = rpl_trace_string(trace, location->op);
        const struct sto_held row = {.block = block->id,
                                     .kind = VS_HOLD_CPP,
                                     .name = *op ? op : "its allocation",
                                     .scope = "",
                                     .func = ""};

        if (!f->is_held[i])
            row_add(f, &row);
    }
}

/* The program is stopped before PyTorch frees a block. */
static enum vs_status alike_check(const struct found *f, const struct stop *stop,
                                  struct vs_error *err)
{
    uint64_t expected = f->live->allocated;

    if (stop->event.kind == VS_EV_FREE)
        expected += stop->event.free.block_bytes;
    if (f->allocated == expected)
        return VS_OK;
    return vs_fail(err, VS_E_VALUE,
                   "the program does other things than when it was recorded: %" PRIu64
                   " bytes are allocated there, and %" PRIu64 " were",
                   f->allocated, expected);
}

/* path: of what the program wrote. */
static enum vs_status found_store(struct rpl_index *index, struct rpl_cursor *cursor,
                                  const struct stop *stop, const char *path, struct vs_error *err)
{
    struct rpl_trace *trace = rpl_index_trace(index);
    struct found f = {.live = rpl_cursor_live(cursor)};
    enum vs_status st = file_read(path, &f.texts, err);

    f.is_held = vs_calloc(f.live->block_count + 1, sizeof(*f.is_held));
    for (size_t i = 0; i < f.live->block_count; i++)
        vs_table_add(&f.by_address, vs_hash_number(f.live->blocks[i].address), (uint32_t)i);
    if (!st)
        st = lines_take(&f, err);
    if (!st)
        st = alike_check(&f, stop, err);
    if (!st) {
        rest_add(&f, trace);
        st = sto_held_set(rpl_found_path(trace), rpl_cursor_seq(cursor), (uint32_t)f.live->phase,
                          f.rows, f.count, err);
    }
    vs_free(f.texts);
    vs_free(f.rows);
    vs_free(f.is_held);
    vs_table_release(&f.by_address);
    return st ? st : rpl_trace_refresh(trace, err);
}

/* ---- the whole ---- */

enum vs_status wif_holders_find(struct rpl_index *index, uint64_t seq, rpl_progress_fn *progress,
                                void *user, struct vs_error *err)
{
    struct rpl_trace *trace = rpl_index_trace(index);
    struct rpl_cursor *cursor = rpl_cursor_new(index);
    struct vs_text file = {NULL, 0, 0};
    struct vs_text where = {NULL, 0, 0};
    struct stop stop;
    struct vs_folder folder = {.path = ""};
    enum vs_status st = wif_holders_check(trace, err);

    if (!st)
        st = rpl_cursor_seek(cursor, seq, err);
    if (!st)
        st = stop_find(trace, seq, &stop, err);
    if (!st)
        st = vs_folder_open(&folder, VS_FOLDER_WHATIF, err);
    if (!st) {
        vs_text_addf(&file, "%s/" WIF_RERUN_FOUND, folder.path);
        stop_text(trace, &stop, vs_text_get(&file), &where);
        st = wif_rerun_until(trace, vs_text_get(&where), folder.path, vs_text_get(&file), progress,
                             user, err);
    }
    if (!st)
        st = found_store(index, cursor, &stop, vs_text_get(&file), err);
    vs_folder_release(&folder);
    vs_text_release(&file);
    vs_text_release(&where);
    rpl_cursor_free(cursor);
    return st;
}

enum vs_status wif_holders_prompt(struct rpl_index *index, uint64_t seq, rpl_progress_fn *progress,
                                  void *user, struct vs_error *err)
{
    struct rpl_trace *trace = rpl_index_trace(index);
    struct vs_text where = {NULL, 0, 0};
    struct stop stop;
    struct vs_folder folder = {.path = ""};
    enum vs_status st = wif_holders_check(trace, err);

    if (!st)
        st = stop_find(trace, seq, &stop, err);
    if (!st)
        st = vs_folder_open(&folder, VS_FOLDER_WHATIF, err);
    if (!st) {
        stop_text(trace, &stop, "-", &where);
        st = wif_rerun_here(trace, vs_text_get(&where), folder.path, progress, user, err);
    }
    vs_folder_release(&folder);
    vs_text_release(&where);
    return st;
}
