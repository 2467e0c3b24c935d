/*
 * tui/names.c - see names.h.
 *
 * Must not know:  drawing.
 * Invariant:      a block has the same name in every view.
 */
#include "tui/names.h"

#include <inttypes.h>
#include <string.h>

#include "replay/inspect/block_name.h"
#include "replay/inspect/block_text.h"
#include "replay/report/report.h"
#include "replay/trace/scripts.h"

/* Width in which it is worth beginning a line of code. */
#define CODE_MIN_W 10

static struct rpl_lifetime life_of(struct rpl_index *index, uint64_t id)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_lifetime life;

    memset(&life, 0, sizeof(life));
    if (rpl_lifetime_get(index, id, &life, &err))
        memset(&life, 0, sizeof(life));
    return life;
}

struct rpl_lifetime tui_block_life(const struct tui_run *run, uint64_t id)
{
    return life_of(run->index, id);
}

void tui_block_name(const struct rpl_cursor *cursor, const struct rpl_block *block,
                    struct vs_text *out)
{
    const struct rpl_trace *trace = rpl_index_trace(rpl_cursor_index(cursor));
    struct rpl_lifetime life = life_of(rpl_cursor_index(cursor), block->id);

    if (!life.name && rpl_block_name(cursor, block, &life, out))
        vs_text_add(out, ", ");
    rpl_block_text(trace, block, life.name, out);
}

void tui_block_short(const struct rpl_cursor *cursor, const struct rpl_block *block,
                     const struct rpl_lifetime *life, struct vs_text *out)
{
    if (!rpl_block_name(cursor, block, life, out))
        rpl_block_origin(rpl_index_trace(rpl_cursor_index(cursor)), block, out);
}

void tui_block_anywhere(const struct tui_run *run, uint64_t id, struct vs_text *out)
{
    const struct rpl_block *alive = rpl_live_block(rpl_cursor_live(run->cursor), id);
    const struct rpl_lifetime life = life_of(run->index, id);
    struct rpl_block block;

    if (alive) {
        tui_block_name(run->cursor, alive, out);
    } else if (life.id) {
        memset(&block, 0, sizeof(block));
        block.id = id;
        block.tensor = life.tensor;
        block.category = VS_CAT_OTHER;
        block.alloc_location = life.location;
        rpl_block_text(run->trace, &block, life.name, out);
    }
}

bool tui_block_is_done(const struct tui_run *run, const struct rpl_block *block,
                       const struct rpl_lifetime *life, uint64_t at)
{
    if (rpl_block_is_permanent(block) || !life->id || life->last_use_seq > at ||
        !rpl_trace_has_uses(run->trace))
        return false;
    return life->free_seq || life->alloc_seq < run->last_step;
}

const struct rpl_block *tui_block_largest(const struct tui_run *run)
{
    const struct rpl_live *live = rpl_cursor_live(run->cursor);
    const struct rpl_block *best = NULL;

    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *block = &live->blocks[i];

        if (!best || block->bytes > best->bytes ||
            (block->bytes == best->bytes && block->id < best->id))
            best = block;
    }
    return best;
}

void tui_peak_text(const struct rpl_trace *trace, const struct rpl_run *run, struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(trace, run->location);
    const char *module = rpl_trace_string(trace, location->module);
    const char *op = rpl_trace_string(trace, location->op);

    if (run->step >= 0)
        vs_text_addf(out, "step %" PRId64 " ", run->step);
    vs_text_addf(out, "%s, %s", vs_phase_name(run->phase), *op ? op : rpl_no_op_text(trace));
    if (*module)
        vs_text_addf(out, " of %s", module);
    if (location->line)
        vs_text_addf(out, ", line %" PRIu32, location->line);
    if (run->is_recompute)
        vs_text_add(out, ", recomputed");
}

void tui_derived_text(const struct tui_run *run, struct vs_text *out)
{
    uint64_t last = 0;

    if (!rpl_trace_meta(run->trace, "derived_from"))
        return;
    vs_text_addf(out, "%sphases, categories derived", out->len ? "  " : "");
    if (rpl_trace_meta_uint(run->trace, "start_events", &last) && last)
        vs_text_addf(out, "; pre-existing blocks up to @%" PRIu64, last);
}

/* ---- where ---- */

/* The line of code is left out where fewer than CODE_MIN_W of `w` cells are left for it. */
static void add_line(const struct tui_app *app, const struct rpl_here *here, int w,
                     struct vs_text *out)
{
    size_t len;
    const char *line = rpl_function_source(tui_app_run(app)->trace, here->func, here->line, &len);

    if (!here->line)
        return;
    /* an imported trace has the file in its function's name, so the line number needs that name */
    if (!rpl_trace_source_text(tui_app_run(app)->trace))
        vs_text_addf(out, "  %s:%" PRIu32, here->func, here->line);
    else
        vs_text_addf(out, "  line %" PRIu32, here->line);
    if (len && tui_text_width(vs_text_get(out)) + 2 + CODE_MIN_W <= w)
        vs_text_addf(out, ": %.*s", (int)len, line);
}

void tui_where_text(const struct tui_app *app, int w, struct vs_text *out)
{
    const struct tui_run *run = tui_app_run(app);
    struct rpl_here here = rpl_cursor_here(run->cursor);
    struct vs_text did = {NULL, 0, 0};
    bool is_op;

    vs_text_addf(out, "%" PRIu64 "/%" PRIu64, app->at, run->events);
    if (!app->at)
        return;
    rpl_event_text(run->cursor, &here.event, &did);
    is_op = !did.len;
    if (did.len)
        vs_text_addf(out, "  %s", vs_text_get(&did));
    else
        vs_text_add(out, here.event.kind == VS_EV_OP_BEGIN ? "  begin of" : "  end of");
    vs_text_release(&did);
    if (*here.op)
        vs_text_addf(out, "%s%s", is_op ? " " : "  ", here.op);
    if (*here.module)
        vs_text_addf(out, " in %s", here.module);
    if (here.is_recompute)
        vs_text_add(out, " (recomputed)");
    add_line(app, &here, w, out);
}
