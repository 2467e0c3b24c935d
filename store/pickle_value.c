/*
 * store/pickle_value.c - see pickle_internal.h: making and reading values.
 *
 * Must not know:  opcodes; pickle_packed.c reads them again.
 */
#include <string.h>

#include "store/pickle_packed.h"
#include "store/pickle_shape.h"

/* ---- the budget ---- */

bool sto_pickle_take(struct sto_pickle *p, uint64_t bytes)
{
    if (bytes > p->budget - p->used)
        return false;
    p->used += bytes;
    return true;
}

bool sto_pickle_more(struct sto_pickle *p, void *vec, size_t *cap, size_t elem_size)
{
    size_t more = *cap ? *cap / 2 : 64;
    void *grown;

    if (!sto_pickle_take(p, (uint64_t)more * elem_size))
        return false;
    memcpy(&grown, vec, sizeof(grown));
    grown = vs_realloc(grown, *cap + more, elem_size);
    memcpy(vec, &grown, sizeof(grown));
    *cap += more;
    return true;
}

/* ---- numbers and texts ---- */

bool sto_pickle_int(struct sto_pickle *p, int64_t n, struct sto_value *out)
{
    if (n >= -INT_LIMIT && n < INT_LIMIT) {
        *out = sto_value_of(TAG_INT, (uint64_t)n);
        return true;
    }
    return sto_pickle_big(p, (struct sto_big){(uint64_t)n, true}, out);
}

bool sto_pickle_big(struct sto_pickle *p, struct sto_big big, struct sto_value *out)
{
    if (!sto_pickle_grow(p, &p->bigs, p->big_count, &p->big_cap, sizeof(*p->bigs)))
        return false;
    p->bigs[p->big_count] = big;
    *out = sto_value_of(TAG_BIG, p->big_count++);
    return true;
}

bool sto_pickle_float(struct sto_pickle *p, double d, struct sto_value *out)
{
    if (!sto_pickle_grow(p, &p->floats, p->float_count, &p->float_cap, sizeof(*p->floats)))
        return false;
    p->floats[p->float_count] = d;
    *out = sto_value_of(TAG_FLOAT, p->float_count++);
    return true;
}

const char *sto_value_text(const struct sto_pickle *p, struct sto_value v, size_t *len)
{
    uint64_t at = PAYLOAD_OF(v) >> TEXT_LEN_BITS;

    *len = 0;
    if (TAG_OF(v) != TAG_TEXT)
        return NULL;
    *len = PAYLOAD_OF(v) & TEXT_LEN_MAX;
    return at < p->bytes_len ? p->bytes + at : p->side + (at - p->bytes_len);
}

bool sto_value_is_text(const struct sto_pickle *p, struct sto_value v, const char *text)
{
    size_t len;
    const char *found = sto_value_text(p, v, &len);

    return found && len == strlen(text) && memcmp(found, text, len) == 0;
}

/* ---- lists, tuples, dicts ---- */

static bool box_new(struct sto_pickle *p, uint32_t *out)
{
    if (p->box_count >= UINT32_MAX ||
        !sto_pickle_grow(p, &p->boxes, p->box_count, &p->box_cap, sizeof(*p->boxes)))
        return false;
    memset(&p->boxes[p->box_count], 0, sizeof(*p->boxes));
    *out = (uint32_t)p->box_count++;
    return true;
}

bool sto_pickle_box(struct sto_pickle *p, enum sto_tag tag, struct sto_value *out)
{
    uint32_t number = 0;

    if (tag == TAG_DICT) {
        if (p->dict_count >= UINT32_MAX ||
            !sto_pickle_grow(p, &p->dicts, p->dict_count, &p->dict_cap, sizeof(*p->dicts)))
            return false;
        p->dicts[p->dict_count] = 0;
        *out = sto_value_of(tag, p->dict_count++);
        return true;
    }
    if (!box_new(p, &number))
        return false;
    *out = sto_value_of(tag, number);
    return true;
}

/* NULL: it is no list, tuple or dict, or a packed one. */
static inline struct sto_box *box_of(const struct sto_pickle *p, struct sto_value v)
{
    if (TAG_OF(v) < TAG_LIST)
        return NULL;
    if (TAG_OF(v) != TAG_DICT)
        return &p->boxes[PAYLOAD_OF(v)];
    return p->dicts[PAYLOAD_OF(v)] & DICT_BOXED ? &p->boxes[(uint32_t)p->dicts[PAYLOAD_OF(v)]]
                                                : NULL;
}

/* Where the first key of a packed dict stands; 0: it is empty, or no packed dict. */
static uint64_t packed_at(const struct sto_pickle *p, struct sto_value v)
{
    if (TAG_OF(v) != TAG_DICT || p->dicts[PAYLOAD_OF(v)] & DICT_BOXED)
        return 0;
    return p->dicts[PAYLOAD_OF(v)] & DICT_AT_MAX;
}

/* Behind the values of a dict. */
static uint32_t *keys_of(const struct sto_box *box)
{
    return (uint32_t *)(void *)((uint64_t *)box->items + box->cap);
}

static uint64_t box_bytes(uint64_t cap, bool is_narrow, bool has_keys)
{
    uint64_t each = (is_narrow ? 4u : 8u) + (has_keys ? 4u : 0u);

    return (cap * each + 7) & ~UINT64_C(7);
}

static inline struct sto_value item_at(const struct sto_box *box, size_t i)
{
    if (box->is_narrow)
        return sto_value_of(TAG_DICT, ((const uint32_t *)box->items)[i]);
    return (struct sto_value){((const uint64_t *)box->items)[i]};
}

static inline void item_set(struct sto_box *box, size_t i, struct sto_value v)
{
    if (box->is_narrow)
        ((uint32_t *)box->items)[i] = (uint32_t)PAYLOAD_OF(v);
    else
        ((uint64_t *)box->items)[i] = v.bits;
}

/* Room for `need` in all, and as narrow as that. Exactly as much the first time, because most are filled at once. */
static bool box_grow(struct sto_pickle *p, struct sto_box *box, uint64_t need, bool is_narrow,
                     bool has_keys)
{
    struct sto_box grown = *box; /* what is shared is never grown in place: it has no room */
    uint64_t cap = box->cap ? (uint64_t)box->cap * 2 : need;

    if (need <= box->cap && is_narrow == box->is_narrow)
        return true;
    if (cap < need)
        cap = need;
    if (cap > UINT32_MAX || !sto_pickle_take(p, box_bytes(cap, is_narrow, has_keys)))
        return false;
    grown.cap = (uint32_t)cap;
    grown.is_narrow = is_narrow;
    grown.list = 0;
    grown.items = cap >= OWN_CAP ? vs_alloc(box_bytes(cap, is_narrow, has_keys))
                                 : vs_arena_alloc(p->arena, box_bytes(cap, is_narrow, has_keys));
    for (size_t i = 0; i < box->count; i++) {
        item_set(&grown, i, item_at(box, i));
        if (has_keys)
            keys_of(&grown)[i] = keys_of(box)[i];
    }
    if (box->cap >= OWN_CAP) {
        vs_free(box->items);
        p->used -= box_bytes(box->cap, box->is_narrow, has_keys);
    }
    *box = grown;
    return true;
}

bool sto_pickle_append(struct sto_pickle *p, struct sto_value v, const struct sto_slot *items,
                       size_t count)
{
    struct sto_box *box = box_of(p, v);
    bool is_narrow = count && (box->is_narrow || !box->count);

    for (size_t i = 0; i < count && is_narrow; i++)
        is_narrow = TAG_OF(items[i].value) == TAG_DICT;
    if (!count)
        return true;
    if (!box_grow(p, box, (uint64_t)box->count + count, is_narrow, false))
        return false;
    for (size_t i = 0; i < count; i++)
        item_set(box, box->count++, items[i].value);
    return true;
}

static bool pair_add(struct sto_pickle *p, struct sto_box *box, struct sto_value key,
                     struct sto_value value)
{
    uint32_t number = 0;

    if (!box_grow(p, box, (uint64_t)box->count + 1, false, true) || !sto_key_add(p, key, &number))
        return false;
    keys_of(box)[box->count] = number;
    item_set(box, box->count++, value);
    return true;
}

/* The dict, packed so far, in a box; with room for `need` in all. */
static bool unpack(struct sto_pickle *p, struct sto_value v, uint64_t need)
{
    uint64_t *dict = &p->dicts[PAYLOAD_OF(v)];
    uint64_t at = packed_at(p, v);
    const uint32_t mark = sto_value_mark(p, v);
    struct sto_value key, value;
    uint32_t number;

    if (!box_new(p, &number))
        return false;
    if (!box_grow(p, &p->boxes[number], need, false, true))
        return false;
    while (at && sto_packed_next(p, &at, &key, &value))
        if (!pair_add(p, &p->boxes[number], key, value))
            return false;
    p->boxes[number].mark = mark;
    *dict = DICT_BOXED | number;
    return true;
}

bool sto_pickle_set(struct sto_pickle *p, struct sto_value v, const struct sto_slot *pairs,
                    size_t count)
{
    struct sto_box *box = box_of(p, v);

    if (!box && !unpack(p, v, sto_value_count(p, v) + count))
        return false;
    box = box_of(p, v);
    if (!box_grow(p, box, (uint64_t)box->count + count, false, true))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!pair_add(p, box, pairs[2 * i].value, pairs[2 * i + 1].value))
            return false;
    return true;
}

bool sto_pickle_pack(struct sto_pickle *p, struct sto_value v, const struct sto_slot *pairs,
                     size_t count, uint64_t end, bool *no_memory)
{
    *no_memory = false;
    if (p->dicts[PAYLOAD_OF(v)] & (DICT_BOXED | DICT_AT_MAX) ||
        !sto_packed_check(p, pairs, count, end, no_memory))
        return false;
    p->dicts[PAYLOAD_OF(v)] |= pairs[0].at;
    return true;
}

/* ---- reading ---- */

enum sto_value_type sto_value_type(struct sto_value v)
{
    switch (TAG_OF(v)) {
    case TAG_PLAIN:
        return PAYLOAD_OF(v) == PLAIN_NONE ? STO_NONE : STO_BOOL;
    case TAG_INT:
    case TAG_BIG:
        return STO_INT;
    case TAG_FLOAT:
        return STO_FLOAT;
    case TAG_TEXT:
        return STO_TEXT;
    case TAG_LIST:
        return STO_LIST;
    case TAG_TUPLE:
        return STO_TUPLE;
    case TAG_DICT:
        break;
    }
    return STO_DICT;
}

bool sto_value_bool(struct sto_value v, bool *out)
{
    *out = TAG_OF(v) == TAG_PLAIN && PAYLOAD_OF(v) == PLAIN_TRUE;
    return TAG_OF(v) == TAG_PLAIN && PAYLOAD_OF(v) != PLAIN_NONE;
}

bool sto_value_int(const struct sto_pickle *p, struct sto_value v, uint64_t *out)
{
    if (TAG_OF(v) == TAG_INT) {
        *out = (PAYLOAD_OF(v) ^ (uint64_t)INT_LIMIT) - (uint64_t)INT_LIMIT;
        return true;
    }
    if (TAG_OF(v) != TAG_BIG || !p->bigs[PAYLOAD_OF(v)].fits)
        return false;
    *out = p->bigs[PAYLOAD_OF(v)].bits;
    return true;
}

bool sto_value_float(const struct sto_pickle *p, struct sto_value v, double *out)
{
    if (TAG_OF(v) != TAG_FLOAT)
        return false;
    *out = p->floats[PAYLOAD_OF(v)];
    return true;
}

/* The `i`-th pair of a packed dict. */
static void pair_at(const struct sto_pickle *p, uint64_t at, size_t i, struct sto_value *key,
                    struct sto_value *value)
{
    bool is_there = at != 0;

    for (size_t j = 0; j <= i && is_there; j++)
        is_there = sto_packed_next(p, &at, key, value);
    VS_ASSERT(is_there);
}

size_t sto_value_count(const struct sto_pickle *p, struct sto_value v)
{
    const struct sto_box *box = box_of(p, v);
    uint64_t at = packed_at(p, v);
    struct sto_value key, value;
    size_t count = box ? box->count : 0;

    while (at && sto_packed_next(p, &at, &key, &value))
        count++;
    return count;
}

struct sto_value sto_value_at(const struct sto_pickle *p, struct sto_value v, size_t i)
{
    const struct sto_box *box = box_of(p, v);
    struct sto_value key, value;

    if (!box) {
        pair_at(p, packed_at(p, v), i, &key, &value);
        return value;
    }
    VS_ASSERT(i < box->count);
    return item_at(box, i);
}

size_t sto_value_items(const struct sto_pickle *p, struct sto_value v, size_t from,
                       struct sto_value *out, size_t max)
{
    const struct sto_box *box = TAG_OF(v) == TAG_DICT ? NULL : box_of(p, v);
    size_t count = box && from < box->count ? box->count - from : 0;

    count = count < max ? count : max;
    for (size_t i = 0; i < count; i++)
        out[i] = item_at(box, from + i);
    return count;
}

const char *sto_value_key(const struct sto_pickle *p, struct sto_value v, size_t i, size_t *len)
{
    const struct sto_box *box = box_of(p, v);
    struct sto_value key, value;

    VS_ASSERT(TAG_OF(v) == TAG_DICT && (!box || i < box->count));
    if (box)
        key = p->keys[keys_of(box)[i]].text;
    else
        pair_at(p, packed_at(p, v), i, &key, &value);
    return sto_value_text(p, key, len);
}

bool sto_value_get(const struct sto_pickle *p, struct sto_value v, uint32_t key,
                   struct sto_value *out)
{
    const struct sto_box *box = box_of(p, v);
    uint64_t at = packed_at(p, v);
    struct sto_value name, value;
    bool is_found = false;

    if (TAG_OF(v) != TAG_DICT || key == STO_NO_KEY)
        return false;
    while (at && sto_packed_next(p, &at, &name, &value))
        if (sto_key_number(p, name) == key) {
            *out = value;
            is_found = true;
        }
    for (size_t i = box ? box->count : 0; i-- > 0;)
        if (keys_of(box)[i] == key) {
            *out = item_at(box, i);
            return true;
        }
    return is_found;
}

/* ---- a row ---- */

struct sto_columns {
    size_t key_count;
    uint8_t of_key[]; /* the column and one */
};

struct sto_columns *sto_columns_new(const struct sto_pickle *p, const char *const *names,
                                    size_t count)
{
    struct sto_columns *columns = vs_calloc(1, sizeof(*columns) + p->key_count);

    VS_ASSERT(count < STO_COLUMNS_MAX);
    columns->key_count = p->key_count;
    for (size_t i = 0; i < count; i++) {
        uint32_t key = sto_pickle_key(p, names[i]);

        if (key != STO_NO_KEY)
            columns->of_key[key] = (uint8_t)(i + 1);
    }
    return columns;
}

void sto_columns_free(struct sto_columns *columns)
{
    vs_free(columns);
}

uint64_t sto_value_row(const struct sto_pickle *p, struct sto_value v,
                       const struct sto_columns *columns, struct sto_value *out)
{
    const struct sto_box *box = box_of(p, v);
    uint64_t at = packed_at(p, v);
    uint64_t found = 0;
    struct sto_value name, value;

    if (at && sto_shape_row(p, at, columns->of_key, out, &found))
        return found;
    found = 0;
    while (at && sto_packed_next(p, &at, &name, &value)) {
        uint8_t column = columns->of_key[sto_key_number(p, name)];

        if (column) {
            out[column - 1] = value;
            found |= UINT64_C(1) << (column - 1);
        }
    }
    for (size_t i = 0; box && TAG_OF(v) == TAG_DICT && i < box->count; i++) {
        uint8_t column = columns->of_key[keys_of(box)[i]];

        if (column) {
            out[column - 1] = item_at(box, i);
            found |= UINT64_C(1) << (column - 1);
        }
    }
    return found;
}

/* ---- marks ---- */

uint32_t sto_value_mark(const struct sto_pickle *p, struct sto_value v)
{
    const struct sto_box *box = box_of(p, v);

    if (TAG_OF(v) == TAG_DICT && !box)
        return (uint32_t)(p->dicts[PAYLOAD_OF(v)] >> DICT_AT_BITS);
    if (box && box->list)
        return p->lists[box->list - 1].mark;
    return box ? box->mark : 0;
}

void sto_value_mark_set(struct sto_pickle *p, struct sto_value v, uint32_t mark)
{
    struct sto_box *box = box_of(p, v);
    uint64_t *dict;

    if (box && box->list) {
        p->lists[box->list - 1].mark = mark;
    } else if (box) {
        box->mark = mark;
    } else if (TAG_OF(v) == TAG_DICT && mark <= DICT_MARK_MAX) {
        dict = &p->dicts[PAYLOAD_OF(v)];
        *dict = (*dict & DICT_AT_MAX) | (uint64_t)mark << DICT_AT_BITS;
    }
}

struct sto_value sto_pickle_top(const struct sto_pickle *p)
{
    return p->top;
}

void sto_pickle_free(struct sto_pickle *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->box_count; i++)
        if (p->boxes[i].cap >= OWN_CAP)
            vs_free(p->boxes[i].items);
    vs_arena_free(p->arena);
    vs_free(p->side);
    vs_free(p->memo);
    vs_free(p->boxes);
    vs_free(p->dicts);
    vs_free(p->nested);
    vs_free(p->nested_next);
    vs_free(p->shapes);
    vs_free(p->lists);
    vs_free(p->list_slots.at);
    vs_free(p->bigs);
    vs_free(p->floats);
    vs_free(p->keys);
    vs_free(p->key_slots.at);
    vs_free(p);
}
