/*
 * recording/snapshot_between.c - see snapshot_between.h.
 */
#include "recording/snapshot_between.h"

#include <string.h>

#include "base/dtype.h"
#include "base/mem.h"

#define COLUMNS 7
#define KINDS_MAX 64

/* Positions in the tuples. */
enum { KINDS, HAS_SAVES, DEVICES, BETWEEN_COUNT };
enum { CONTEXTS, NAMES, ROWS, DEVICE_COUNT };
enum { OP, MODULE, PHASE, EVENT, IS_OWN, CONTEXT_COUNT };
enum { OPS, UNKNOWN, UNKNOWN_NAMES, ARITHMETIC_COUNT };

/* kinds: by number in the file, an enum vs_mem_did_kind, or VS_MEM_DID_COUNT. names: string ids. */
struct reading {
    struct rec_pickle *pickle;
    struct vs_memlist *list;
    uint8_t kinds[KINDS_MAX];
    size_t kind_count;
    struct rec_value names;
};

static uint32_t string_of(struct reading *r, struct rec_value value)
{
    size_t len;
    const char *text = rec_value_text(r->pickle, value, &len);

    return text ? vs_memlist_string(r->list, text, len) : 0;
}

static void kinds_read(struct reading *r, struct rec_value kinds)
{
    r->kind_count = rec_value_count(r->pickle, kinds);
    if (r->kind_count > KINDS_MAX)
        r->kind_count = KINDS_MAX;
    for (size_t i = 0; i < r->kind_count; i++) {
        r->kinds[i] = VS_MEM_DID_COUNT;
        for (size_t k = 0; k < VS_MEM_DID_COUNT; k++)
            if (rec_value_is_text(r->pickle, rec_value_at(r->pickle, kinds, i),
                                  vs_mem_did_name((enum vs_mem_did_kind)k)))
                r->kinds[i] = (uint8_t)k;
    }
}

static bool context_read(struct reading *r, struct rec_value value)
{
    struct vs_mem_context out = {.op = 0};
    struct rec_value module;
    uint64_t event;
    size_t len;

    if (rec_value_count(r->pickle, value) != CONTEXT_COUNT ||
        !rec_value_int(r->pickle, rec_value_at(r->pickle, value, EVENT), &event) ||
        !rec_value_bool(rec_value_at(r->pickle, value, IS_OWN), &out.is_own))
        return false;
    module = rec_value_at(r->pickle, value, MODULE);
    out.op = string_of(r, rec_value_at(r->pickle, value, OP));
    out.module = string_of(r, module);
    out.has_module = rec_value_text(r->pickle, module, &len) != NULL;
    out.event = event < r->list->event_count ? (uint32_t)event + 1 : 0;
    for (size_t p = 0; p < VS_PHASE_COUNT; p++)
        if (rec_value_is_text(r->pickle, rec_value_at(r->pickle, value, PHASE),
                              vs_phase_name((enum vs_phase)p)))
            out.phase = (uint8_t)(p + 1);
    r->list->contexts = vs_grow(r->list->contexts, r->list->context_count, &r->list->context_cap,
                                sizeof(*r->list->contexts));
    r->list->contexts[r->list->context_count++] = out;
    return true;
}

static bool contexts_read(struct reading *r, struct rec_value contexts)
{
    for (size_t i = 0; i < rec_value_count(r->pickle, contexts); i++)
        if (!context_read(r, rec_value_at(r->pickle, contexts, i)))
            return false;
    return true;
}

/* The text of name `number`; NULL: there is none. */
static const char *name_of(const struct reading *r, uint64_t number, size_t *len)
{
    return number < rec_value_count(r->pickle, r->names)
               ? rec_value_text(r->pickle, rec_value_at(r->pickle, r->names, (size_t)number), len)
               : NULL;
}

static bool dtype_of(const struct reading *r, uint64_t number, uint8_t *out)
{
    if (number >= rec_value_count(r->pickle, r->names))
        return false;
    for (size_t d = 0; d < VS_DTYPE_COUNT; d++)
        if (rec_value_is_text(r->pickle, rec_value_at(r->pickle, r->names, (size_t)number),
                              vs_dtype_name((enum vs_dtype)d))) {
            *out = (uint8_t)d;
            return true;
        }
    return false;
}

/* An event that allocated a block. */
static bool block_of(const struct reading *r, uint64_t number, uint32_t *out)
{
    *out = (uint32_t)number;
    return number < r->list->event_count && r->list->events[number].kind == VS_MEM_ALLOC;
}

/* A count, or 0 where there is none. */
static uint64_t count_of(uint64_t number)
{
    return number <= INT64_MAX ? number : 0;
}

/* Fill in what depends on the kind; false: it is not as described. */
static bool about_read(const struct reading *r, const uint64_t *at, struct vs_mem_did *did)
{
    const char *name;
    size_t len;

    switch ((enum vs_mem_did_kind)did->kind) {
    case VS_MEM_DID_OP_BEGIN:
        did->node = at[0];
        did->role = (uint8_t)at[1];
        did->flops = count_of(at[2]);
        did->overwritten_bytes = count_of(at[3]);
        return at[1] <= VS_OP_RECOMPUTE && at[0] <= UINT32_MAX;
    case VS_MEM_DID_OP_END:
        did->node = at[0];
        did->role = (uint8_t)at[1];
        did->ops = at[2] < UINT32_MAX ? (uint32_t)at[2] : 0;
        did->flops = count_of(at[3]);
        return at[1] <= VS_OP_RECOMPUTE && at[0] <= UINT32_MAX;
    case VS_MEM_DID_SAVE:
    case VS_MEM_DID_UNSAVE:
        did->node = at[1];
        did->is_input = at[2] == 1;
        did->stays = at[3] == 1;
        return block_of(r, at[0], &did->block) && at[1] <= UINT32_MAX;
    case VS_MEM_DID_CAST:
        did->from = at[1] < r->list->event_count ? (uint32_t)at[1] + 1 : 0;
        return block_of(r, at[0], &did->block) && dtype_of(r, at[2], &did->from_dtype) &&
               dtype_of(r, at[3], &did->to_dtype);
    case VS_MEM_DID_RERUN_BEGIN:
    case VS_MEM_DID_RERUN_END:
        name = name_of(r, at[0], &len);
        did->name = name ? vs_memlist_string(r->list, name, len) : 0;
        return name != NULL;
    case VS_MEM_DID_GRADIENT:
    case VS_MEM_DID_UNGRADIENT:
        name = name_of(r, at[1], &len);
        did->name = name ? vs_memlist_string(r->list, name, len) : 0;
        return name && block_of(r, at[0], &did->block);
    case VS_MEM_DID_USE:
    case VS_MEM_DID_CACHE:
    case VS_MEM_DID_UNCACHE:
        return block_of(r, at[0], &did->block);
    case VS_MEM_DID_COUNT:
        break;
    }
    return false;
}

static void row_read(const struct reading *r, const uint64_t *row, uint32_t *before)
{
    struct vs_memlist *list = r->list;
    struct vs_mem_did did = {.node = 0};

    if (row[0] >= r->kind_count || r->kinds[row[0]] == VS_MEM_DID_COUNT ||
        row[1] > list->event_count || row[2] >= list->context_count)
        return;
    did.kind = r->kinds[row[0]];
    did.context = (uint32_t)row[2];
    if (!about_read(r, row + 3, &did))
        return;
    if (row[1] > *before)
        *before = (uint32_t)row[1];
    did.before = *before;
    list->did = vs_grow(list->did, list->did_count, &list->did_cap, sizeof(*list->did));
    list->did[list->did_count++] = did;
}

static void rows_read(const struct reading *r, const char *bytes, size_t len)
{
    uint32_t before = 0;

    for (size_t i = 0; i + COLUMNS * 8 <= len; i += COLUMNS * 8) {
        uint64_t row[COLUMNS] = {0};

        for (size_t b = 0; b < sizeof(row); b++)
            row[b / 8] |= (uint64_t)(unsigned char)bytes[i + b] << b % 8 * 8;
        row_read(r, row, &before);
    }
}

static void arithmetic_read(struct reading *r, struct rec_value top)
{
    struct vs_mem_arithmetic out = {.is_there = true};
    struct rec_value value;

    if (!rec_value_get(r->pickle, top, rec_pickle_key(r->pickle, "arithmetic"), &value) ||
        rec_value_count(r->pickle, value) != ARITHMETIC_COUNT ||
        !rec_value_int(r->pickle, rec_value_at(r->pickle, value, OPS), &out.ops) ||
        !rec_value_int(r->pickle, rec_value_at(r->pickle, value, UNKNOWN), &out.unknown))
        return;
    out.names = string_of(r, rec_value_at(r->pickle, value, UNKNOWN_NAMES));
    r->list->arithmetic = out;
}

void rec_between_read(struct rec_pickle *pickle, struct rec_value top, struct vs_memlist *list)
{
    struct reading r = {.pickle = pickle, .list = list};
    struct rec_value value;
    struct rec_value devices;
    struct rec_value device;
    bool has_saves = false;
    const char *bytes;
    size_t len;

    if (list->other_count || list->event_count >= UINT32_MAX ||
        !rec_value_get(pickle, top, rec_pickle_key(pickle, "between"), &value) ||
        rec_value_count(pickle, value) != BETWEEN_COUNT)
        return;
    devices = rec_value_at(pickle, value, DEVICES);
    if (list->device >= rec_value_count(pickle, devices))
        return;
    device = rec_value_at(pickle, devices, (size_t)list->device);
    if (rec_value_count(pickle, device) != DEVICE_COUNT)
        return;
    if (!rec_value_bool(rec_value_at(pickle, value, HAS_SAVES), &has_saves))
        return;
    kinds_read(&r, rec_value_at(pickle, value, KINDS));
    r.names = rec_value_at(pickle, device, NAMES);
    bytes = rec_value_text(pickle, rec_value_at(pickle, device, ROWS), &len);
    if (!bytes || !contexts_read(&r, rec_value_at(pickle, device, CONTEXTS)))
        return;
    rows_read(&r, bytes, len);
    arithmetic_read(&r, top);
    if (rec_value_get(pickle, top, rec_pickle_key(pickle, "saves_unknown"), &value))
        list->saves_unknown = string_of(&r, value);
    list->has_saves = has_saves;
}
