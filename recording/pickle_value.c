/*
 * recording/pickle_value.c - see pickle_internal.h: making and reading values.
 *
 * Must not know:  opcodes; pickle_packed.c reads them again.
 */
#include <string.h>

#include "recording/pickle_packed.h"
#include "recording/pickle_shape.h"

/* ---- the budget ---- */

bool rec_pickle_take(struct rec_pickle *p, uint64_t bytes)
{
    if (bytes > p->budget - p->used)
        return false;
    p->used += bytes;
    return true;
}

bool rec_pickle_more(struct rec_pickle *p, void *vec, size_t *cap, size_t elem_size)
{
    size_t more = *cap ? *cap / 2 : 64;
    void *grown;

    if (!rec_pickle_take(p, (uint64_t)more * elem_size))
        return false;
    memcpy(&grown, vec, sizeof(grown));
    grown = vs_realloc(grown, *cap + more, elem_size);
    memcpy(vec, &grown, sizeof(grown));
    *cap += more;
    return true;
}

/* ---- numbers and texts ---- */

bool rec_pickle_int(struct rec_pickle *p, int64_t n, struct rec_value *out)
{
    if (n >= -INT_LIMIT && n < INT_LIMIT) {
        *out = rec_value_of(TAG_INT, (uint64_t)n);
        return true;
    }
    return rec_pickle_big(p, (struct rec_big){(uint64_t)n, true}, out);
}

bool rec_pickle_big(struct rec_pickle *p, struct rec_big big, struct rec_value *out)
{
    if (!rec_pickle_grow(p, &p->bigs, p->big_count, &p->big_cap, sizeof(*p->bigs)))
        return false;
    p->bigs[p->big_count] = big;
    *out = rec_value_of(TAG_BIG, p->big_count++);
    return true;
}

bool rec_pickle_float(struct rec_pickle *p, double d, struct rec_value *out)
{
    if (!rec_pickle_grow(p, &p->floats, p->float_count, &p->float_cap, sizeof(*p->floats)))
        return false;
    p->floats[p->float_count] = d;
    *out = rec_value_of(TAG_FLOAT, p->float_count++);
    return true;
}

const char *rec_value_text(const struct rec_pickle *p, struct rec_value v, size_t *len)
{
    uint64_t at = PAYLOAD_OF(v) >> TEXT_LEN_BITS;

    *len = 0;
    if (TAG_OF(v) != TAG_TEXT)
        return NULL;
    *len = PAYLOAD_OF(v) & TEXT_LEN_MAX;
    return at < p->bytes_len ? p->bytes + at : p->side + (at - p->bytes_len);
}

bool rec_value_is_text(const struct rec_pickle *p, struct rec_value v, const char *text)
{
    size_t len;
    const char *found = rec_value_text(p, v, &len);

    return found && len == strlen(text) && memcmp(found, text, len) == 0;
}

/* ---- lists, tuples, dicts ---- */

static bool box_new(struct rec_pickle *p, uint32_t *out)
{
    if (p->box_count >= UINT32_MAX ||
        !rec_pickle_grow(p, &p->boxes, p->box_count, &p->box_cap, sizeof(*p->boxes)))
        return false;
    memset(&p->boxes[p->box_count], 0, sizeof(*p->boxes));
    *out = (uint32_t)p->box_count++;
    return true;
}

bool rec_pickle_box(struct rec_pickle *p, enum rec_tag tag, struct rec_value *out)
{
    uint32_t number = 0;

    if (tag == TAG_DICT) {
        if (p->dict_count >= UINT32_MAX ||
            !rec_pickle_grow(p, &p->dicts, p->dict_count, &p->dict_cap, sizeof(*p->dicts)))
            return false;
        p->dicts[p->dict_count] = 0;
        *out = rec_value_of(tag, p->dict_count++);
        return true;
    }
    if (!box_new(p, &number))
        return false;
    *out = rec_value_of(tag, number);
    return true;
}

/* NULL: it is no list, tuple or dict, or a packed one. */
static inline struct rec_box *box_of(const struct rec_pickle *p, struct rec_value v)
{
    if (TAG_OF(v) < TAG_LIST)
        return NULL;
    if (TAG_OF(v) != TAG_DICT)
        return &p->boxes[PAYLOAD_OF(v)];
    return p->dicts[PAYLOAD_OF(v)] & DICT_BOXED ? &p->boxes[(uint32_t)p->dicts[PAYLOAD_OF(v)]]
                                                : NULL;
}

/* Where the first key of a packed dict stands; 0: it is empty, or no packed dict. */
static uint64_t packed_at(const struct rec_pickle *p, struct rec_value v)
{
    if (TAG_OF(v) != TAG_DICT || p->dicts[PAYLOAD_OF(v)] & DICT_BOXED)
        return 0;
    return p->dicts[PAYLOAD_OF(v)] & DICT_AT_MAX;
}

/* Behind the values of a dict. */
static uint32_t *keys_of(const struct rec_box *box)
{
    return (uint32_t *)(void *)((uint64_t *)box->items + box->cap);
}

static uint64_t box_bytes(uint64_t cap, bool is_narrow, bool has_keys)
{
    uint64_t each = (is_narrow ? 4u : 8u) + (has_keys ? 4u : 0u);

    return (cap * each + 7) & ~UINT64_C(7);
}

static inline struct rec_value item_at(const struct rec_box *box, size_t i)
{
    if (box->is_narrow)
        return rec_value_of(TAG_DICT, ((const uint32_t *)box->items)[i]);
    return (struct rec_value){((const uint64_t *)box->items)[i]};
}

static inline void item_set(struct rec_box *box, size_t i, struct rec_value v)
{
    if (box->is_narrow)
        ((uint32_t *)box->items)[i] = (uint32_t)PAYLOAD_OF(v);
    else
        ((uint64_t *)box->items)[i] = v.bits;
}

/* Room for `need` in all, and as narrow as that. Exactly as much the first time, because most are filled at once. */
static bool box_grow(struct rec_pickle *p, struct rec_box *box, uint64_t need, bool is_narrow,
                     bool has_keys)
{
    struct rec_box grown = *box; /* what is shared is never grown in place: it has no room */
    uint64_t cap = box->cap ? (uint64_t)box->cap * 2 : need;

    if (need <= box->cap && is_narrow == box->is_narrow)
        return true;
    if (cap < need)
        cap = need;
    if (cap > UINT32_MAX || !rec_pickle_take(p, box_bytes(cap, is_narrow, has_keys)))
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

bool rec_pickle_append(struct rec_pickle *p, struct rec_value v, const struct rec_slot *items,
                       size_t count)
{
    struct rec_box *box = box_of(p, v);
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

static bool pair_add(struct rec_pickle *p, struct rec_box *box, struct rec_value key,
                     struct rec_value value)
{
    uint32_t number = 0;

    if (!box_grow(p, box, (uint64_t)box->count + 1, false, true) || !rec_key_add(p, key, &number))
        return false;
    keys_of(box)[box->count] = number;
    item_set(box, box->count++, value);
    return true;
}

/* The dict, packed so far, in a box; with room for `need` in all. */
static bool unpack(struct rec_pickle *p, struct rec_value v, uint64_t need)
{
    uint64_t *dict = &p->dicts[PAYLOAD_OF(v)];
    uint64_t at = packed_at(p, v);
    const uint32_t mark = rec_value_mark(p, v);
    struct rec_value key, value;
    uint32_t number;

    if (!box_new(p, &number))
        return false;
    if (!box_grow(p, &p->boxes[number], need, false, true))
        return false;
    while (at && rec_packed_next(p, &at, &key, &value))
        if (!pair_add(p, &p->boxes[number], key, value))
            return false;
    p->boxes[number].mark = mark;
    *dict = DICT_BOXED | number;
    return true;
}

bool rec_pickle_set(struct rec_pickle *p, struct rec_value v, const struct rec_slot *pairs,
                    size_t count)
{
    struct rec_box *box = box_of(p, v);

    if (!box && !unpack(p, v, rec_value_count(p, v) + count))
        return false;
    box = box_of(p, v);
    if (!box_grow(p, box, (uint64_t)box->count + count, false, true))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!pair_add(p, box, pairs[2 * i].value, pairs[2 * i + 1].value))
            return false;
    return true;
}

bool rec_pickle_pack(struct rec_pickle *p, struct rec_value v, const struct rec_slot *pairs,
                     size_t count, uint64_t end, bool *no_memory)
{
    *no_memory = false;
    if (p->dicts[PAYLOAD_OF(v)] & (DICT_BOXED | DICT_AT_MAX) ||
        !rec_packed_check(p, pairs, count, end, no_memory))
        return false;
    p->dicts[PAYLOAD_OF(v)] |= pairs[0].at;
    return true;
}

/* ---- reading ---- */

enum rec_value_type rec_value_type(struct rec_value v)
{
    switch (TAG_OF(v)) {
    case TAG_PLAIN:
        return PAYLOAD_OF(v) == PLAIN_NONE ? REC_NONE : REC_BOOL;
    case TAG_INT:
    case TAG_BIG:
        return REC_INT;
    case TAG_FLOAT:
        return REC_FLOAT;
    case TAG_TEXT:
        return REC_TEXT;
    case TAG_LIST:
        return REC_LIST;
    case TAG_TUPLE:
        return REC_TUPLE;
    case TAG_DICT:
        break;
    }
    return REC_DICT;
}

bool rec_value_bool(struct rec_value v, bool *out)
{
    *out = TAG_OF(v) == TAG_PLAIN && PAYLOAD_OF(v) == PLAIN_TRUE;
    return TAG_OF(v) == TAG_PLAIN && PAYLOAD_OF(v) != PLAIN_NONE;
}

bool rec_value_int(const struct rec_pickle *p, struct rec_value v, uint64_t *out)
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

bool rec_value_float(const struct rec_pickle *p, struct rec_value v, double *out)
{
    if (TAG_OF(v) != TAG_FLOAT)
        return false;
    *out = p->floats[PAYLOAD_OF(v)];
    return true;
}

/* The `i`-th pair of a packed dict. */
static void pair_at(const struct rec_pickle *p, uint64_t at, size_t i, struct rec_value *key,
                    struct rec_value *value)
{
    bool is_there = at != 0;

    for (size_t j = 0; j <= i && is_there; j++)
        is_there = rec_packed_next(p, &at, key, value);
    VS_ASSERT(is_there);
}

size_t rec_value_count(const struct rec_pickle *p, struct rec_value v)
{
    const struct rec_box *box = box_of(p, v);
    uint64_t at = packed_at(p, v);
    struct rec_value key, value;
    size_t count = box ? box->count : 0;

    while (at && rec_packed_next(p, &at, &key, &value))
        count++;
    return count;
}

struct rec_value rec_value_at(const struct rec_pickle *p, struct rec_value v, size_t i)
{
    const struct rec_box *box = box_of(p, v);
    struct rec_value key, value;

    if (!box) {
        pair_at(p, packed_at(p, v), i, &key, &value);
        return value;
    }
    VS_ASSERT(i < box->count);
    return item_at(box, i);
}

size_t rec_value_items(const struct rec_pickle *p, struct rec_value v, size_t from,
                       struct rec_value *out, size_t max)
{
    const struct rec_box *box = TAG_OF(v) == TAG_DICT ? NULL : box_of(p, v);
    size_t count = box && from < box->count ? box->count - from : 0;

    count = count < max ? count : max;
    for (size_t i = 0; i < count; i++)
        out[i] = item_at(box, from + i);
    return count;
}

const char *rec_value_key(const struct rec_pickle *p, struct rec_value v, size_t i, size_t *len)
{
    const struct rec_box *box = box_of(p, v);
    struct rec_value key, value;

    VS_ASSERT(TAG_OF(v) == TAG_DICT && (!box || i < box->count));
    if (box)
        key = p->keys[keys_of(box)[i]].text;
    else
        pair_at(p, packed_at(p, v), i, &key, &value);
    return rec_value_text(p, key, len);
}

bool rec_value_get(const struct rec_pickle *p, struct rec_value v, uint32_t key,
                   struct rec_value *out)
{
    const struct rec_box *box = box_of(p, v);
    uint64_t at = packed_at(p, v);
    struct rec_value name, value;
    bool is_found = false;

    if (TAG_OF(v) != TAG_DICT || key == REC_NO_KEY)
        return false;
    while (at && rec_packed_next(p, &at, &name, &value))
        if (rec_key_number(p, name) == key) {
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

struct rec_columns {
    size_t key_count;
    uint8_t of_key[]; /* the column and one */
};

struct rec_columns *rec_columns_new(const struct rec_pickle *p, const char *const *names,
                                    size_t count)
{
    struct rec_columns *columns = vs_calloc(1, sizeof(*columns) + p->key_count);

    VS_ASSERT(count < REC_COLUMNS_MAX);
    columns->key_count = p->key_count;
    for (size_t i = 0; i < count; i++) {
        uint32_t key = rec_pickle_key(p, names[i]);

        if (key != REC_NO_KEY)
            columns->of_key[key] = (uint8_t)(i + 1);
    }
    return columns;
}

void rec_columns_free(struct rec_columns *columns)
{
    vs_free(columns);
}

uint64_t rec_value_row(const struct rec_pickle *p, struct rec_value v,
                       const struct rec_columns *columns, struct rec_value *out)
{
    const struct rec_box *box = box_of(p, v);
    uint64_t at = packed_at(p, v);
    uint64_t found = 0;
    struct rec_value name, value;

    if (at && rec_shape_row(p, at, columns->of_key, out, &found))
        return found;
    found = 0;
    while (at && rec_packed_next(p, &at, &name, &value)) {
        uint8_t column = columns->of_key[rec_key_number(p, name)];

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

uint32_t rec_value_mark(const struct rec_pickle *p, struct rec_value v)
{
    const struct rec_box *box = box_of(p, v);

    if (TAG_OF(v) == TAG_DICT && !box)
        return (uint32_t)(p->dicts[PAYLOAD_OF(v)] >> DICT_AT_BITS);
    if (box && box->list)
        return p->lists[box->list - 1].mark;
    return box ? box->mark : 0;
}

void rec_value_mark_set(struct rec_pickle *p, struct rec_value v, uint32_t mark)
{
    struct rec_box *box = box_of(p, v);
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

struct rec_value rec_pickle_top(const struct rec_pickle *p)
{
    return p->top;
}

void rec_pickle_free(struct rec_pickle *p)
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
