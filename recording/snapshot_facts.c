/*
 * recording/snapshot_facts.c - see snapshot_facts.h.
 */
#include "recording/snapshot_facts.h"

#include <string.h>

#include "base/dtype.h"
#include "base/mem.h"

/* Positions in the tuple. */
enum { OP, MODULE, PHASE, CATEGORY, NAME, DTYPE, SIZES, STRIDES, FIELD_COUNT };

void rec_facts_begin(struct rec_facts *facts)
{
    facts->list_count = facts->count;
}

void rec_facts_release(struct rec_facts *facts)
{
    vs_free(facts->ids);
    vs_free(facts->categories);
}

static struct rec_value field(const struct rec_facts *facts, struct rec_value value, size_t i)
{
    return rec_value_at(facts->pickle, value, i);
}

static uint32_t string_of(struct rec_facts *facts, struct rec_value value)
{
    size_t len;
    const char *text = rec_value_text(facts->pickle, value, &len);

    return text ? vs_memlist_string(facts->list, text, len) : 0;
}

static uint8_t phase_of(const struct rec_facts *facts, struct rec_value value)
{
    for (size_t p = 0; p < VS_PHASE_COUNT; p++)
        if (rec_value_is_text(facts->pickle, value, vs_phase_name((enum vs_phase)p)))
            return (uint8_t)(p + 1);
    return 0;
}

static uint8_t category_of(const struct rec_facts *facts, struct rec_value value)
{
    for (size_t c = 0; c < VS_CATEGORY_COUNT; c++)
        if (rec_value_is_text(facts->pickle, value, vs_category_name((enum vs_category)c)))
            return (uint8_t)(c + 1);
    return 0;
}

/* False: not `count` numbers from 0 to 2^63 - 1. */
static bool numbers_read(const struct rec_facts *facts, struct rec_value value, size_t count,
                         int64_t *out)
{
    if (rec_value_count(facts->pickle, value) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t number;

        if (!rec_value_int(facts->pickle, rec_value_at(facts->pickle, value, i), &number) ||
            number > INT64_MAX)
            return false;
        out[i] = (int64_t)number;
    }
    return true;
}

static bool tensor_read(const struct rec_facts *facts, struct rec_value value,
                        struct vs_tensor_desc *out)
{
    const size_t ndim = rec_value_count(facts->pickle, field(facts, value, SIZES));

    if (ndim > VS_MAX_DIMS)
        return false;
    for (size_t d = 0; d < VS_DTYPE_COUNT; d++)
        if (rec_value_is_text(facts->pickle, field(facts, value, DTYPE),
                              vs_dtype_name((enum vs_dtype)d))) {
            out->dtype = (uint8_t)d;
            out->ndim = (uint8_t)ndim;
            return numbers_read(facts, field(facts, value, SIZES), ndim, out->sizes) &&
                   numbers_read(facts, field(facts, value, STRIDES), ndim, out->strides);
        }
    return false;
}

/* Returns the id of the facts. */
static uint32_t facts_read(struct rec_facts *facts, struct rec_value value)
{
    const struct rec_value module = field(facts, value, MODULE);
    struct vs_mem_facts out = {.op = 0};
    size_t len;

    out.op = string_of(facts, field(facts, value, OP));
    out.module = string_of(facts, module);
    out.has_module = rec_value_text(facts->pickle, module, &len) != NULL;
    out.name = string_of(facts, field(facts, value, NAME));
    out.phase = phase_of(facts, field(facts, value, PHASE));
    out.makes_graph = rec_value_is_text(facts->pickle, field(facts, value, PHASE), "graph");
    out.has_tensor = tensor_read(facts, value, &out.tensor);
    if (!out.has_tensor)
        memset(&out.tensor, 0, sizeof(out.tensor));
    return vs_memlist_add_facts(facts->list, &out);
}

void rec_facts_event(struct rec_facts *facts, struct rec_value value, struct vs_mem_event *event)
{
    size_t mark = rec_value_mark(facts->pickle, value);

    if (rec_value_type(value) != REC_TUPLE || rec_value_count(facts->pickle, value) != FIELD_COUNT)
        return;
    if (mark <= facts->list_count || mark > facts->count) {
        facts->ids = vs_grow(facts->ids, facts->count, &facts->id_cap, sizeof(*facts->ids));
        facts->categories = vs_grow(facts->categories, facts->count, &facts->category_cap,
                                    sizeof(*facts->categories));
        facts->ids[facts->count] = facts_read(facts, value);
        facts->categories[facts->count] = category_of(facts, field(facts, value, CATEGORY));
        mark = ++facts->count;
        rec_value_mark_set(facts->pickle, value, (uint32_t)mark);
    }
    event->facts = facts->ids[mark - 1];
    if (facts->list->facts[event->facts - 1].op)
        event->op = facts->list->facts[event->facts - 1].op;
    if (event->kind == VS_MEM_ALLOC && facts->categories[mark - 1])
        event->category = facts->categories[mark - 1];
}

void rec_observed_read(struct rec_facts *facts, struct rec_value top)
{
    struct vs_mem_observed out = {.is_there = true};
    uint64_t *const NUMBERS[] = {&out.matched, &out.total, &out.own, &out.collected};
    const size_t count = sizeof(NUMBERS) / sizeof(NUMBERS[0]);
    struct rec_value value;

    if (!rec_value_get(facts->pickle, top, rec_pickle_key(facts->pickle, "observed"), &value) ||
        rec_value_count(facts->pickle, value) != count + 1)
        return;
    for (size_t i = 0; i < count; i++)
        if (!rec_value_int(facts->pickle, field(facts, value, i), NUMBERS[i]))
            return;
    out.ended = string_of(facts, field(facts, value, count));
    facts->list->observed = out;
}
