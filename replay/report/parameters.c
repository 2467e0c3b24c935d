/*
 * replay/report/parameters.c - see parameters.h.
 *
 * Must not know:  how the figures are shown.
 * Invariant:      rows are in the order of the model until they are sorted at the end.
 */
#include "replay/report/parameters.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "base/dtype.h"
#include "base/mem.h"
#include "replay/state/live.h"
#include "replay/trace/trace_internal.h"

/* Rows of each list of the text. */
#define ROWS_SHOWN 6

/* The row of a module, added if there is none. Parameters of one module follow each other. */
static struct rpl_parameters_row *row_find(struct rpl_parameters *out, const char *module,
                                           size_t len)
{
    for (size_t i = out->row_count; i-- > 0;)
        if (strncmp(out->rows[i].module, module, len) == 0 && out->rows[i].module[len] == '\0')
            return &out->rows[i];
    out->rows = vs_grow(out->rows, out->row_count, &out->row_cap, sizeof(*out->rows));
    out->rows[out->row_count] = (struct rpl_parameters_row){.module = vs_strndup(module, len)};
    return &out->rows[out->row_count++];
}

static void block_add(struct rpl_parameters *out, const struct rpl_block *block, uint8_t dtype,
                      const char *name)
{
    const uint64_t count = block->requested / vs_dtype_bytes((enum vs_dtype)dtype);
    const char *dot = strrchr(name, '.');
    struct rpl_parameters_row *row = row_find(out, name, dot ? (size_t)(dot - name) : 0);

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
    uint64_t number;
    uint32_t id = 0;
    uint32_t name;

    while (rpl_trace_tensor_named(trace, &id, &name, &number)) {
        const struct rpl_block *block = number ? rpl_live_block(live, number) : NULL;

        if (!block || block->category != VS_CAT_PARAMETER || is_counted[block - live->blocks] ||
            !rpl_trace_tensor(trace, id, &desc))
            continue;
        is_counted[block - live->blocks] = true;
        block_add(out, block, desc.dtype, rpl_trace_string(trace, name));
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

/* ---- as text and JSON ---- */

static void row_text(const struct rpl_parameters_row *row, uint64_t all, int width,
                     struct vs_text *out)
{
    char count[VS_BYTES_TEXT_MAX];
    char bytes[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "  %-*s  %14s  %5.1f %%  %10s\n", width,
                 *row->module ? row->module : "(the model itself)",
                 vs_bytes_exact_text(row->count, count), 100.0 * (double)row->count / (double)all,
                 vs_bytes_text(row->bytes, bytes));
}

static void rows_text(const struct rpl_parameters *list, uint64_t all, struct vs_text *out)
{
    const size_t shown = list->row_count <= ROWS_SHOWN ? list->row_count : ROWS_SHOWN - 1;
    int width = 12;

    for (size_t i = 0; i < shown; i++)
        if ((int)strlen(list->rows[i].module) > width)
            width = (int)strlen(list->rows[i].module);
    for (size_t i = 0; i < shown; i++)
        row_text(&list->rows[i], all, width, out);
    if (shown < list->row_count)
        vs_text_addf(out, "  and %zu more\n", list->row_count - shown);
}

/* The rows added up by the first name of their paths. */
static void parts_fill(const struct rpl_parameters *parameters, struct rpl_parameters *out)
{
    for (size_t i = 0; i < parameters->row_count; i++) {
        const struct rpl_parameters_row *from = &parameters->rows[i];
        const size_t len = strcspn(from->module, ".");
        struct rpl_parameters_row *to = row_find(out, from->module, len);

        to->count += from->count;
        to->bytes += from->bytes;
    }
    rows_sort(out);
}

void rpl_parameters_text(const struct rpl_parameters *parameters, struct vs_text *out)
{
    struct rpl_parameters parts = {.row_count = 0};
    char count[VS_BYTES_TEXT_MAX];
    char bytes[VS_BYTES_TEXT_MAX];

    if (!parameters->count)
        return;
    vs_text_addf(out, "\nParameters: %s, %s\n", vs_bytes_exact_text(parameters->count, count),
                 vs_bytes_text(parameters->bytes, bytes));
    parts_fill(parameters, &parts);
    if (parts.row_count > 1 && parts.row_count < parameters->row_count) {
        rows_text(&parts, parameters->count, out);
        vs_text_add(out, "the modules with the most\n");
    }
    rows_text(parameters, parameters->count, out);
    rpl_parameters_release(&parts);
}

void rpl_parameters_json(const struct rpl_parameters *parameters, struct vs_json *json)
{
    vs_json_key(json, "parameters_by_module");
    vs_json_array(json);
    for (size_t i = 0; i < parameters->row_count; i++) {
        vs_json_object_flat(json);
        vs_json_put_string(json, "module", parameters->rows[i].module);
        vs_json_put_uint(json, "parameters", parameters->rows[i].count);
        vs_json_put_uint(json, "bytes", parameters->rows[i].bytes);
        vs_json_end(json);
    }
    vs_json_end(json);
}
