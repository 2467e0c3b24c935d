/*
 * import/between.c - see between.h.
 */
#include "import/between.h"

#include <string.h>

#include "base/mem.h"

void imp_between_init(struct imp_between *between, struct imp_import *import,
                      const struct vs_memlist *list)
{
    *between = (struct imp_between){.import = import, .list = list};
    for (size_t i = 0; i < import->event_count; i++)
        between->block_count += import->events[i].kind == VS_EV_ALLOC;
    between->blocks = vs_calloc(between->block_count + 1, sizeof(*between->blocks));
    between->block_of = vs_calloc(list->event_count + 1, sizeof(*between->block_of));
}

void imp_between_release(struct imp_between *between)
{
    vs_free(between->blocks);
    vs_free(between->block_of);
    memset(between, 0, sizeof(*between));
}

static struct imp_between_block *block_get(struct imp_between *b, uint64_t block)
{
    return block && block <= b->block_count ? &b->blocks[block - 1] : NULL;
}

void imp_between_note(struct imp_between *between, size_t at, const struct vs_event *event)
{
    struct imp_between_block *block = block_get(between, vs_event_block(event));

    if (!block)
        return;
    if (event->kind == VS_EV_ALLOC) {
        *block = (struct imp_between_block){
            .tensor = event->alloc.tensor, .category = event->alloc.category, .is_alive = true};
        if (at != SIZE_MAX)
            between->block_of[at] = event->alloc.block;
    } else if (event->kind == VS_EV_FREE) {
        block->is_alive = false;
    }
}

/* A change of the category, if it is one. */
static size_t category_change(struct imp_between_block *block, uint64_t id,
                              enum vs_category category, struct vs_event *out)
{
    if (block->category == category)
        return 0;
    block->category = (uint8_t)category;
    *out = (struct vs_event){.kind = VS_EV_CATEGORY,
                             .category = {.block = id, .category = (uint8_t)category}};
    return 1;
}

static size_t by_savers(struct imp_between_block *block, uint64_t id, struct vs_event *out)
{
    const bool is_changed = block->category == VS_CAT_ACTIVATION ||
                            block->category == VS_CAT_TEMPORARY ||
                            block->category == VS_CAT_SAVED || block->category == VS_CAT_CHECKPOINT;

    if (!is_changed)
        return 0;
    return category_change(block, id,
                           block->saves == block->inputs ? VS_CAT_CHECKPOINT : VS_CAT_SAVED, out);
}

static struct vs_event save_event(const struct vs_mem_did *did,
                                  const struct imp_between_block *block, uint64_t id)
{
    return (struct vs_event){
        .kind = did->kind == VS_MEM_DID_SAVE ? VS_EV_SAVE : VS_EV_UNSAVE,
        .save = {.block = id,
                 .tensor = block->tensor,
                 .node = did->node,
                 .is_checkpoint_input = did->is_input},
    };
}

static size_t save(const struct vs_mem_did *did, struct imp_between_block *block, uint64_t id,
                   struct vs_event *out)
{
    size_t count;

    block->saves++;
    block->inputs += did->is_input;
    count = by_savers(block, id, out);
    out[count++] = save_event(did, block, id);
    return count;
}

static size_t unsave(const struct vs_mem_did *did, struct imp_between_block *block, uint64_t id,
                     struct vs_event *out)
{
    if (!block->saves || block->inputs < did->is_input)
        return 0;
    block->saves--;
    block->inputs -= did->is_input;
    out[0] = save_event(did, block, id);
    if (block->saves)
        return 1 + by_savers(block, id, out + 1);
    if (did->stays && (block->category == VS_CAT_SAVED || block->category == VS_CAT_CHECKPOINT))
        return 1 + category_change(block, id, VS_CAT_ACTIVATION, out + 1);
    return 1;
}

static struct vs_event hold_event(const struct imp_between *b, const struct vs_mem_did *did,
                                  const struct imp_between_block *block, uint64_t id)
{
    const bool is_grad = did->kind == VS_MEM_DID_GRADIENT || did->kind == VS_MEM_DID_UNGRADIENT;
    const bool is_drop = did->kind == VS_MEM_DID_UNGRADIENT || did->kind == VS_MEM_DID_UNCACHE;

    return (struct vs_event){
        .kind = is_drop ? VS_EV_DROP : VS_EV_HOLD,
        .hold = {.block = id,
                 .tensor = block->tensor,
                 .name = imp_string(b->import, vs_memlist_text(b->list, did->name)),
                 .holder = is_grad ? VS_HOLD_GRAD : VS_HOLD_CACHE},
    };
}

static size_t gradient(const struct imp_between *b, const struct vs_mem_did *did,
                       struct imp_between_block *block, uint64_t id, struct vs_event *out)
{
    size_t count = 0;

    if (block->category != VS_CAT_PARAMETER)
        count = category_change(block, id, VS_CAT_GRADIENT, out);
    out[count++] = hold_event(b, did, block, id);
    return count;
}

static struct vs_event op_event(const struct imp_between *b, const struct vs_mem_did *did)
{
    const struct vs_mem_context *context = &b->list->contexts[did->context];

    return (struct vs_event){
        .kind = did->kind == VS_MEM_DID_OP_BEGIN ? VS_EV_OP_BEGIN : VS_EV_OP_END,
        .op = {.name = imp_string(b->import, vs_memlist_text(b->list, context->op)),
               .node = did->node,
               .flops = did->flops,
               .overwritten_bytes = did->overwritten_bytes,
               .role = did->role},
    };
}

static struct vs_event cast_event(const struct imp_between *b, const struct vs_mem_did *did,
                                  uint64_t id)
{
    return (struct vs_event){.kind = VS_EV_CAST,
                             .cast = {.block = id,
                                      .from_block = did->from ? b->block_of[did->from - 1] : 0,
                                      .from_dtype = did->from_dtype,
                                      .to_dtype = did->to_dtype}};
}

static struct vs_event use_event(const struct imp_between *b, const struct vs_mem_did *did,
                                 const struct imp_between_block *block, uint64_t id)
{
    const uint32_t op = b->list->contexts[did->context].op;

    return (struct vs_event){.kind = VS_EV_USE,
                             .use = {.block = id,
                                     .tensor = block->tensor,
                                     .op = imp_string(b->import, vs_memlist_text(b->list, op))}};
}

static struct vs_event rerun_event(const struct imp_between *b, const struct vs_mem_did *did)
{
    return (struct vs_event){
        .kind = did->kind == VS_MEM_DID_RERUN_BEGIN ? VS_EV_RECOMPUTE_BEGIN : VS_EV_RECOMPUTE_END,
        .recompute = {.name = imp_string(b->import, vs_memlist_text(b->list, did->name))}};
}

static size_t block_events(struct imp_between *b, const struct vs_mem_did *did,
                           struct vs_event out[IMP_BETWEEN_MAX])
{
    const uint64_t id = b->block_of[did->block];
    struct imp_between_block *block = block_get(b, id);

    if (!block || !block->is_alive)
        return 0;
    switch ((enum vs_mem_did_kind)did->kind) {
    case VS_MEM_DID_SAVE:
        return save(did, block, id, out);
    case VS_MEM_DID_UNSAVE:
        return unsave(did, block, id, out);
    case VS_MEM_DID_GRADIENT:
        return gradient(b, did, block, id, out);
    case VS_MEM_DID_UNGRADIENT:
    case VS_MEM_DID_CACHE:
    case VS_MEM_DID_UNCACHE:
        out[0] = hold_event(b, did, block, id);
        return 1;
    case VS_MEM_DID_CAST:
        out[0] = cast_event(b, did, id);
        return 1;
    case VS_MEM_DID_USE:
        out[0] = use_event(b, did, block, id);
        return 1;
    case VS_MEM_DID_OP_BEGIN:
    case VS_MEM_DID_OP_END:
    case VS_MEM_DID_RERUN_BEGIN:
    case VS_MEM_DID_RERUN_END:
    case VS_MEM_DID_COUNT:
        break;
    }
    return 0;
}

size_t imp_between_events(struct imp_between *between, const struct vs_mem_did *did,
                          struct vs_event out[IMP_BETWEEN_MAX])
{
    switch ((enum vs_mem_did_kind)did->kind) {
    case VS_MEM_DID_OP_BEGIN:
    case VS_MEM_DID_OP_END:
        out[0] = op_event(between, did);
        return 1;
    case VS_MEM_DID_RERUN_BEGIN:
    case VS_MEM_DID_RERUN_END:
        out[0] = rerun_event(between, did);
        return 1;
    case VS_MEM_DID_USE:
    case VS_MEM_DID_SAVE:
    case VS_MEM_DID_UNSAVE:
    case VS_MEM_DID_GRADIENT:
    case VS_MEM_DID_UNGRADIENT:
    case VS_MEM_DID_CAST:
    case VS_MEM_DID_CACHE:
    case VS_MEM_DID_UNCACHE:
    case VS_MEM_DID_COUNT:
        break;
    }
    return block_events(between, did, out);
}

uint8_t *imp_between_flags(const struct vs_memlist *list)
{
    uint8_t *flags = vs_calloc(list->event_count + 1, sizeof(*flags));

    for (size_t i = 0; i < list->did_count; i++) {
        if (list->did[i].kind == VS_MEM_DID_CAST)
            flags[list->did[i].block] |= IMP_BETWEEN_CAST;
        else if (list->did[i].kind == VS_MEM_DID_GRADIENT)
            flags[list->did[i].block] |= IMP_BETWEEN_GRADIENT;
    }
    return flags;
}
