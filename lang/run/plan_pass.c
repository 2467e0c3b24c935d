/*
 * lang/run/plan_pass.c - see plan_pass.h.
 *
 * Must not know:  stages, placements of checkpoints.
 * Invariant:      re-runs of checkpoints belong to the section whose backward they are made for, and add no marks.
 */
#include "lang/run/plan_pass.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

void lang_pass_release(struct lang_pass *pass)
{
    for (size_t i = 0; i < pass->mark_count; i++)
        vs_free(pass->marks[i].path);
    vs_free(pass->marks);
    vs_free(pass->sections);
    vs_free(pass->reads);
    vs_free(pass->frees);
    vs_free(pass->nodes);
    vs_free(pass->bytes);
    vs_free(pass->owner);
    memset(pass, 0, sizeof(*pass));
}

uint64_t lang_pass_bytes(const struct lang_pass *pass, uint64_t block)
{
    return block < pass->block_count ? pass->bytes[block] : 0;
}

/* ---- marks ---- */

static struct lang_pass_tensor tensor_of(const struct eng_tensor *t)
{
    if (!t)
        return (struct lang_pass_tensor){0};
    return (struct lang_pass_tensor){t->born, t->storage->block_id, t->version->value};
}

static void pass_begin(struct lang_pass *pass)
{
    for (size_t i = 0; i < pass->mark_count; i++)
        vs_free(pass->marks[i].path);
    pass->mark_count = 0;
    pass->section_count = 0;
    pass->read_count = 0;
    pass->free_count = 0;
    pass->node_count = 0;
    for (size_t i = 0; i < pass->block_count; i++)
        pass->owner[i] = 0;
    pass->is_forward = true;
    pass->is_backward = false;
}

static void section_begin(struct lang_pass *pass)
{
    if (pass->section_count > 0)
        pass->sections[pass->section_count - 1].end = pass->alive;
    pass->sections =
        vs_grow(pass->sections, pass->section_count, &pass->section_cap, sizeof(*pass->sections));
    pass->at = (uint32_t)pass->section_count;
    pass->sections[pass->section_count++] =
        (struct lang_pass_section){.start = pass->alive, .peak = pass->alive, .end = pass->alive};
}

static void mark_add(struct lang_pass *pass, struct lang_pass_mark mark)
{
    pass->marks = vs_grow(pass->marks, pass->mark_count, &pass->mark_cap, sizeof(*pass->marks));
    pass->marks[pass->mark_count++] = mark;
    section_begin(pass);
}

void lang_pass_enter(struct lang_pass *pass, const char *path, const struct eng_tensor *input)
{
    if (pass->recompute > 0)
        return;
    if (pass->depth++ == 0)
        pass_begin(pass);
    if (pass->is_forward)
        mark_add(pass, (struct lang_pass_mark){.path = vs_strdup(path), .input = tensor_of(input)});
}

void lang_pass_exit(struct lang_pass *pass, const struct eng_tensor *input,
                    const struct eng_tensor *output)
{
    if (pass->recompute > 0)
        return;
    pass->depth--;
    if (pass->is_forward)
        mark_add(pass,
                 (struct lang_pass_mark){.input = tensor_of(input), .output = tensor_of(output)});
}

/* ---- blocks ---- */

static struct lang_pass_section *section_at(struct lang_pass *pass)
{
    return pass->section_count > 0 && (pass->is_forward || pass->is_backward)
               ? &pass->sections[pass->at]
               : NULL;
}

static void block_put(struct lang_pass *pass, uint64_t block, uint64_t bytes)
{
    if (block >= pass->block_count) {
        size_t count = (size_t)block * 2 + 64;

        pass->bytes = vs_realloc(pass->bytes, count, sizeof(*pass->bytes));
        pass->owner = vs_realloc(pass->owner, count, sizeof(*pass->owner));
        for (size_t i = pass->block_count; i < count; i++) {
            pass->bytes[i] = 0;
            pass->owner[i] = 0;
        }
        pass->block_count = count;
    }
    pass->bytes[block] = bytes;
}

static void on_alloc(struct lang_pass *pass, const struct vs_event *ev)
{
    struct lang_pass_section *section = section_at(pass);

    block_put(pass, ev->alloc.block, ev->alloc.block_bytes);
    pass->alive += ev->alloc.block_bytes;
    pass->written += ev->alloc.requested_bytes;
    if (section && pass->is_forward && pass->alive > section->peak)
        section->peak = pass->alive;
    if (section && pass->is_backward) {
        pass->owner[ev->alloc.block] = pass->at + 1;
        if (pass->alive > section->back_peak)
            section->back_peak = pass->alive;
    }
}

static void on_free(struct lang_pass *pass, const struct vs_event *ev)
{
    pass->alive -= ev->free.block_bytes;
    if (ev->free.block < pass->block_count)
        pass->owner[ev->free.block] = 0;
    if (!pass->is_forward || pass->section_count == 0)
        return;
    pass->frees = vs_grow(pass->frees, pass->free_count, &pass->free_cap, sizeof(*pass->frees));
    pass->frees[pass->free_count++] = (struct lang_pass_event){ev->free.block, pass->at};
}

/* ---- ops ---- */

static void on_use(struct lang_pass *pass, const struct vs_event *ev)
{
    pass->read += lang_pass_bytes(pass, ev->use.block);
    if (!pass->is_forward || pass->section_count == 0)
        return;
    pass->reads = vs_grow(pass->reads, pass->read_count, &pass->read_cap, sizeof(*pass->reads));
    pass->reads[pass->read_count++] = (struct lang_pass_event){ev->use.block, pass->at};
}

/* The section that a backward node belongs to; the current one where it was made before the pass. */
static uint32_t section_of(const struct lang_pass *pass, uint64_t node)
{
    size_t low = 0;
    size_t high = pass->node_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (pass->nodes[mid].node <= node)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 ? pass->nodes[low - 1].section : pass->at;
}

static void backward_end(struct lang_pass *pass)
{
    for (size_t i = 0; pass->is_backward && i < pass->block_count; i++) {
        if (pass->owner[i])
            pass->sections[pass->owner[i] - 1].gradients += pass->bytes[i];
    }
    pass->is_backward = false;
}

static void node_note(struct lang_pass *pass, uint64_t node)
{
    if (pass->node_count > 0 && pass->nodes[pass->node_count - 1].section == pass->at)
        return;
    pass->nodes = vs_grow(pass->nodes, pass->node_count, &pass->node_cap, sizeof(*pass->nodes));
    pass->nodes[pass->node_count++] = (struct lang_pass_node){node, pass->at};
}

/*
 * A custom function saves when its ops are done, and a checkpoint when its function begins: no op is open then, and all
 * ops before it are needed.
 */
static void on_save(struct lang_pass *pass, const struct vs_event *ev)
{
    struct lang_pass_section *section = section_at(pass);

    if (pass->open_ops > 0) {
        pass->is_late_save |= pass->written > 0;
        pass->is_early_save |= pass->written == 0;
    } else if (section && pass->is_forward) {
        section->is_saving = true;
        section->tail = 0;
        section->tail_flops = 0;
        section->saved_tail = 0;
        section->saved_tail_flops = 0;
        if (ev->save.node)
            node_note(pass, ev->save.node);
    }
}

static void on_op_begin(struct lang_pass *pass, const struct vs_event *ev)
{
    pass->open_ops++;
    if (ev->op.role == VS_OP_BACKWARD) {
        if (pass->is_forward && pass->section_count > 0) {
            pass->sections[pass->section_count - 1].end = pass->alive;
            pass->is_forward = false;
            pass->is_backward = true;
        }
        if (pass->is_backward && ev->op.node)
            pass->at = section_of(pass, ev->op.node);
        if (pass->is_backward && pass->alive > pass->sections[pass->at].back_peak)
            pass->sections[pass->at].back_peak = pass->alive;
    } else if (ev->op.role == VS_OP_FORWARD && pass->is_backward && pass->recompute == 0) {
        backward_end(pass);
    } else if (pass->is_forward && ev->op.node && pass->section_count > 0) {
        node_note(pass, ev->op.node);
    }
    pass->before = pass->alive;
    pass->read = 0;
    pass->written = 0;
    pass->is_late_save = false;
    pass->is_early_save = false;
}

/* Ops whose results checkpoint=selective keeps (lang/prelude/selective.py), by their names in op.def. */
static bool is_kept_by_selective(uint64_t name)
{
    static const char *const NAMES[] = {"mm",
                                        "addmm",
                                        "bmm",
                                        "baddbmm",
                                        "_convolution",
                                        "_scaled_dot_product_flash_attention",
                                        "_scaled_dot_product_efficient_attention",
                                        "_upsample_bilinear2d"};

    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        if (name == ((uint32_t)vs_hash_text(NAMES[i]) | 1))
            return true;
    }
    return false;
}

static void on_op_end(struct lang_pass *pass, const struct vs_event *ev)
{
    struct lang_pass_section *section = section_at(pass);
    double cost = (double)ev->op.flops;
    bool is_kept;

    pass->open_ops--;
    if (ev->op.role == VS_OP_FORWARD)
        pass->ops_hash = vs_hash_mix(vs_hash_mix(pass->ops_hash, ev->op.name), ev->op.flops);
    if (!section || !pass->is_forward)
        return;
    /* Views and ops in place allocate nothing. */
    if (pass->written > 0)
        cost += LANG_PLAN_BYTE_COST * (double)(pass->read + pass->written);
    is_kept = is_kept_by_selective(ev->op.name);
    section->ops++;
    section->cost += cost;
    section->flops += (double)ev->op.flops;
    if (is_kept) {
        section->saved += pass->alive > pass->before ? pass->alive - pass->before : 0;
        section->saved_cost += cost;
        section->saved_flops += (double)ev->op.flops;
    }
    if (pass->is_late_save || pass->is_early_save) {
        section->is_saving = true;
        section->tail = 0;
        section->tail_flops = 0;
        section->saved_tail = 0;
        section->saved_tail_flops = 0;
    }
    if (pass->is_late_save)
        return;
    section->tail += cost;
    section->tail_flops += (double)ev->op.flops;
    if (is_kept) {
        section->saved_tail += cost;
        section->saved_tail_flops += (double)ev->op.flops;
    }
}

/* ---- the observer ---- */

static void on_event(void *user, const struct vs_event *ev)
{
    struct lang_pass *pass = user;

    switch ((enum vs_event_kind)ev->kind) {
    case VS_EV_ALLOC:
        on_alloc(pass, ev);
        break;
    case VS_EV_FREE:
        on_free(pass, ev);
        break;
    case VS_EV_USE:
        on_use(pass, ev);
        break;
    case VS_EV_SAVE:
        on_save(pass, ev);
        break;
    case VS_EV_OP_BEGIN:
        on_op_begin(pass, ev);
        break;
    case VS_EV_OP_END:
        on_op_end(pass, ev);
        break;
    case VS_EV_RECOMPUTE_BEGIN:
        pass->recompute++;
        break;
    case VS_EV_RECOMPUTE_END:
        pass->recompute--;
        break;
    case VS_EV_PHASE:
        if (ev->phase.phase == VS_PHASE_OPTIMIZER)
            backward_end(pass);
        break;
    case VS_EV_ANY_SEGMENT:
    case VS_EV_ANY_AMP:
    case VS_EV_OOM:
    case VS_EV_UNSAVE:
    case VS_EV_HOLD:
    case VS_EV_DROP:
    case VS_EV_CATEGORY:
    case VS_EV_STEP:
    case VS_EV_FREE_COMPLETED:
    case VS_EVENT_KIND_COUNT:
        break;
    }
}

/* Ids only have to be equal for equal texts, in every run alike: ops_hash is made of them. */
static uint32_t on_string(void *user, const char *text)
{
    (void)user;
    return (uint32_t)vs_hash_text(text) | 1;
}

/* Locations are not looked at. */
static uint32_t on_location(void *user, const struct vs_location *location)
{
    (void)user, (void)location;
    return 1;
}

static void on_tensor(void *user, const struct vs_tensor_desc *desc)
{
    (void)user, (void)desc;
}

struct eng_observer lang_pass_observer(struct lang_pass *pass)
{
    return (struct eng_observer){pass, on_event, on_string, on_location, on_tensor};
}
