/*
 * replay/report/parameters.c - see parameters.h.
 *
 * Must not know:  how the figures are shown.
 * Invariant:      rows are in the order of the model until they are sorted at the end.
 */
#include "replay/report/parameters.h"

#include <stdbool.h>
#include <string.h>

#include "base/dtype.h"
#include "base/mem.h"
#include "replay/state/live.h"

/* The row of a module, added if there is none. Parameters of one module follow each other. */
static struct rpl_parameters_row *row_of(struct rpl_parameters *out, const char *name)
{
    const char *dot = strrchr(name, '.');
    const size_t len = dot ? (size_t)(dot - name) : 0;

    for (size_t i = out->row_count; i-- > 0;)
        if (strncmp(out->rows[i].module, name, len) == 0 && out->rows[i].module[len] == '\0')
            return &out->rows[i];
    out->rows = vs_grow(out->rows, out->row_count, &out->row_cap, sizeof(*out->rows));
    out->rows[out->row_count] = (struct rpl_parameters_row){.module = vs_strndup(name, len)};
    return &out->rows[out->row_count++];
}

static void block_add(struct rpl_parameters *out, const struct rpl_block *block, uint8_t dtype,
                      const char *name)
{
    const uint64_t count = block->requested / vs_dtype_bytes((enum vs_dtype)dtype);
    struct rpl_parameters_row *row = row_of(out, name);

    row->count += count;
    row->bytes += block->requested;
    out->count += count;
    out->bytes += block->requested;
}

/* The parameters among the live blocks, in the order in which tensors were named: that of the model. */
static void blocks_add(struct rpl_parameters *out, const struct rpl_trace *trace,
                       const struct rpl_live *live)
{
    bool *is_counted = vs_calloc(live->block_count, sizeof(*is_counted));
    struct vs_tensor_desc desc;

    for (uint32_t id = 1; id <= rpl_trace_tensor_count(trace); id++) {
        const struct rpl_block *block;

        if (!rpl_trace_tensor(trace, id, &desc) || !desc.block || !desc.name)
            continue;
        block = rpl_live_block(live, desc.block);
        if (!block || block->category != VS_CAT_PARAMETER || is_counted[block - live->blocks])
            continue;
        is_counted[block - live->blocks] = true;
        block_add(out, block, desc.dtype, rpl_trace_string(trace, desc.name));
    }
    for (size_t i = 0; i < live->block_count; i++)
        if (live->blocks[i].category == VS_CAT_PARAMETER && !is_counted[i] &&
            rpl_trace_tensor(trace, live->blocks[i].tensor, &desc))
            block_add(out, &live->blocks[i], desc.dtype, "");
    vs_free(is_counted);
}

/* Insertion keeps equal rows in their order; there are as many as modules with parameters. */
static void rows_sort(struct rpl_parameters *out)
{
    for (size_t i = 1; i < out->row_count; i++) {
        const struct rpl_parameters_row row = out->rows[i];
        size_t k = i;

        for (; k > 0 && out->rows[k - 1].count < row.count; k--)
            out->rows[k] = out->rows[k - 1];
        out->rows[k] = row;
    }
}

enum vs_status rpl_parameters_fill(struct rpl_parameters *out, struct rpl_trace *trace,
                                   struct vs_error *err)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    const uint64_t events = rpl_trace_event_count(trace);
    const struct vs_event *event;
    struct rpl_live live;
    enum vs_status st = VS_OK;

    rpl_live_init(&live);
    if (events && !rpl_trace_is_imported(trace)) {
        rpl_scan_init(scan, trace, 1, events);
        while (!st && (event = rpl_scan_next(scan, err)) != NULL) {
            if (event->kind == VS_EV_STEP && vs_event_step(event) >= 0)
                break;
            st = rpl_live_apply(&live, scan->seq, event, err);
        }
        if (!st)
            st = scan->status;
    }
    if (!st && live.block_count) {
        blocks_add(out, trace, &live);
        rows_sort(out);
    }
    rpl_live_release(&live);
    vs_free(scan);
    return st;
}

void rpl_parameters_release(struct rpl_parameters *parameters)
{
    for (size_t i = 0; i < parameters->row_count; i++)
        vs_free(parameters->rows[i].module);
    vs_free(parameters->rows);
    memset(parameters, 0, sizeof(*parameters));
}

uint64_t rpl_parameters_below(const struct rpl_parameters *parameters, const char *path)
{
    const size_t len = strlen(path);
    uint64_t count = 0;

    for (size_t i = 0; i < parameters->row_count; i++) {
        const char *module = parameters->rows[i].module;

        if (!len || (strncmp(module, path, len) == 0 && (!module[len] || module[len] == '.')))
            count += parameters->rows[i].count;
    }
    return count;
}
