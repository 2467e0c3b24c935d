/*
 * tui/names.c - see names.h.
 *
 * Must not know:  drawing.
 * Invariant:      a block has the name that the report gives it.
 */
#include "tui/names.h"

#include <string.h>

#include "replay/inspect/block_text.h"

struct rpl_lifetime tui_block_life(const struct tui_run *run, uint64_t id)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_lifetime life;

    memset(&life, 0, sizeof(life));
    if (rpl_lifetime_get(run->index, id, &life, &err))
        memset(&life, 0, sizeof(life));
    return life;
}

void tui_block_name(const struct tui_run *run, const struct rpl_block *block,
                    const struct rpl_lifetime *life, struct vs_text *out)
{
    uint32_t name = life ? life->name : tui_block_life(run, block->id).name;

    rpl_block_text(run->trace, block, name, out);
}

/*
 * A name for a block that no op allocated: the function that allocated it, its name in front of its file's; otherwise
 * the text of its category.
 */
static void add_site(const struct tui_run *run, const struct rpl_block *block,
                     const struct vs_location *location, struct vs_text *out)
{
    const char *func = rpl_trace_string(run->trace, location->func);
    const char *name = strrchr(func, ':');

    if (rpl_trace_is_imported(run->trace) && !*func && block->category == VS_CAT_OTHER)
        vs_text_add(out, "no stack recorded");
    else if (!rpl_trace_is_imported(run->trace) || !*func)
        vs_text_add(out, vs_category_text((enum vs_category)block->category));
    else if (name)
        vs_text_addf(out, "%s  %.*s", name + 1, (int)(name - func), func);
    else
        vs_text_add(out, func);
}

void tui_block_short(const struct tui_run *run, const struct rpl_block *block,
                     const struct rpl_lifetime *life, struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(run->trace, block->alloc_location);
    const char *op = rpl_trace_string(run->trace, location->op);
    const char *module = rpl_trace_string(run->trace, location->module);

    if (life->name)
        vs_text_add(out, rpl_trace_string(run->trace, life->name));
    else if (!*op)
        add_site(run, block, location, out);
    else
        vs_text_addf(out, "%s%s%s%s", module, *module ? " " : "", op,
                     !block->tensor && block->category == VS_CAT_WORKSPACE ? " workspace" : "");
}

bool tui_block_is_done(const struct tui_run *run, const struct rpl_block *block,
                       const struct rpl_lifetime *life, uint64_t at)
{
    if (rpl_block_is_permanent(block) || !life->id || life->last_use_seq > at ||
        rpl_trace_is_imported(run->trace))
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
