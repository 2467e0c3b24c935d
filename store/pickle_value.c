/*
 * store/pickle_value.c - see pickle_internal.h: making and reading values.
 *
 * Must not know:  opcodes.
 */
#include <string.h>

#include "store/pickle_internal.h"

static struct sto_value value_of(enum sto_tag tag, uint64_t payload)
{
    return (struct sto_value){payload << TAG_BITS | (uint64_t)tag};
}

/* ---- the budget ---- */

bool sto_pickle_take(struct sto_pickle *p, uint64_t bytes)
{
    if (bytes > p->budget - p->used)
        return false;
    p->used += bytes;
    return true;
}

bool sto_pickle_grow(struct sto_pickle *p, void *vec, size_t count, size_t *cap, size_t elem_size)
{
    size_t more = *cap ? *cap : 64;
    void *grown;

    if (count < *cap)
        return true;
    if (!sto_pickle_take(p, (uint64_t)more * elem_size))
        return false;
    /* vec is the address of a pointer to whatever the elements are */
    memcpy(&grown, vec, sizeof(grown));
    grown = vs_realloc(grown, *cap + more, elem_size);
    memcpy(vec, &grown, sizeof(grown));
    *cap += more;
    return true;
}

/* ---- numbers and texts ---- */

bool sto_pickle_int(struct sto_pickle *p, int64_t n, struct sto_value *out)
{
    const int64_t limit = INT64_C(1) << (63 - TAG_BITS);

    if (n >= -limit && n < limit) {
        *out = value_of(TAG_INT, (uint64_t)n);
        return true;
    }
    return sto_pickle_big(p, (struct sto_big){(uint64_t)n, true}, out);
}

bool sto_pickle_big(struct sto_pickle *p, struct sto_big big, struct sto_value *out)
{
    if (!sto_pickle_grow(p, &p->bigs, p->big_count, &p->big_cap, sizeof(*p->bigs)))
        return false;
    p->bigs[p->big_count] = big;
    *out = value_of(TAG_BIG, p->big_count++);
    return true;
}

bool sto_pickle_float(struct sto_pickle *p, double d, struct sto_value *out)
{
    if (!sto_pickle_grow(p, &p->floats, p->float_count, &p->float_cap, sizeof(*p->floats)))
        return false;
    p->floats[p->float_count] = d;
    *out = value_of(TAG_FLOAT, p->float_count++);
    return true;
}

struct sto_value sto_pickle_text_at(uint64_t at, uint64_t len)
{
    VS_ASSERT(at <= TEXT_AT_MAX && len <= TEXT_LEN_MAX);
    return value_of(TAG_TEXT, at << TEXT_LEN_BITS | len);
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

/* ---- keys ---- */

static uint64_t hash_of(const char *text, size_t len)
{
    uint64_t hash = UINT64_C(1469598103934665603);

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return hash ^ hash >> 32;
}

/* Twice as many, empty. */
static bool slots_double(struct sto_pickle *p, struct sto_slots *slots)
{
    size_t count = slots->count ? slots->count * 2 : 128;

    if (!sto_pickle_take(p, (count - slots->count) * sizeof(*slots->at)))
        return false;
    vs_free(slots->at);
    slots->at = vs_calloc(count, sizeof(*slots->at));
    slots->count = count;
    return true;
}

static void slot_put(struct sto_slots *slots, uint64_t hash, size_t number)
{
    size_t at = hash & (slots->count - 1);

    while (slots->at[at])
        at = (at + 1) & (slots->count - 1);
    slots->at[at] = (uint32_t)number + 1;
}

/* STO_NO_KEY: there is no such key yet. */
static uint32_t key_find(const struct sto_pickle *p, const char *text, size_t len, uint64_t hash)
{
    const struct sto_slots *slots = &p->key_slots;
    size_t at = hash & (slots->count - 1);

    for (; slots->count && slots->at[at]; at = (at + 1) & (slots->count - 1)) {
        const struct sto_key *key = &p->keys[slots->at[at] - 1];
        size_t key_len;
        const char *there = sto_value_text(p, key->text, &key_len);

        if (key->hash == hash && key_len == len && memcmp(there, text, len) == 0)
            return slots->at[at] - 1;
    }
    return STO_NO_KEY;
}

static bool key_look_up(struct sto_pickle *p, struct sto_value text, uint32_t *out)
{
    size_t len;
    const char *name = sto_value_text(p, text, &len);
    uint64_t hash = hash_of(name, len);

    *out = key_find(p, name, len, hash);
    if (*out != STO_NO_KEY)
        return true;
    if (p->key_count >= STO_NO_KEY - 1 ||
        !sto_pickle_grow(p, &p->keys, p->key_count, &p->key_cap, sizeof(*p->keys)))
        return false;
    if (p->key_count * 2 >= p->key_slots.count) {
        if (!slots_double(p, &p->key_slots))
            return false;
        for (size_t i = 0; i < p->key_count; i++)
            slot_put(&p->key_slots, p->keys[i].hash, i);
    }
    *out = (uint32_t)p->key_count;
    p->keys[p->key_count++] = (struct sto_key){hash, text};
    slot_put(&p->key_slots, hash, *out);
    return true;
}

static bool key_number(struct sto_pickle *p, struct sto_value text, uint32_t *out)
{
    struct sto_key_seen *seen = &p->key_seen[(text.bits >> (TAG_BITS + TEXT_LEN_BITS)) % KEYS_SEEN];

    if (seen->text != text.bits) {
        if (!key_look_up(p, text, out))
            return false;
        *seen = (struct sto_key_seen){text.bits, *out};
    }
    *out = seen->number;
    return true;
}

uint32_t sto_pickle_key(const struct sto_pickle *p, const char *name)
{
    return key_find(p, name, strlen(name), hash_of(name, strlen(name)));
}

/* ---- shapes ---- */

static bool shape_find(const struct sto_pickle *p, const uint32_t *keys, size_t count,
                       uint64_t hash, uint32_t *out)
{
    const struct sto_slots *slots = &p->shape_slots;
    size_t at = hash & (slots->count - 1);

    for (; slots->count && slots->at[at]; at = (at + 1) & (slots->count - 1)) {
        const struct sto_shape *shape = &p->shapes[slots->at[at] - 1];

        *out = slots->at[at] - 1;
        if (shape->hash == hash && shape->count == count &&
            (!count || memcmp(p->shape_keys + shape->first, keys, count * sizeof(*keys)) == 0))
            return true;
    }
    return false;
}

static bool shape_of(struct sto_pickle *p, const uint32_t *keys, size_t count, uint32_t *out)
{
    uint64_t hash = count;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ keys[i]) * UINT64_C(0x9E3779B97F4A7C15);
    hash ^= hash >> 32;
    if (shape_find(p, keys, count, hash, out))
        return true;
    if (p->shape_key_count > UINT32_MAX - count || p->shape_count >= SHAPE_NONE - 1 ||
        !sto_pickle_grow(p, &p->shapes, p->shape_count, &p->shape_cap, sizeof(*p->shapes)))
        return false;
    if (p->shape_count * 2 >= p->shape_slots.count) {
        if (!slots_double(p, &p->shape_slots))
            return false;
        for (size_t i = 0; i < p->shape_count; i++)
            slot_put(&p->shape_slots, p->shapes[i].hash, i);
    }
    *out = (uint32_t)p->shape_count;
    p->shapes[p->shape_count] =
        (struct sto_shape){hash, (uint32_t)p->shape_key_count, (uint32_t)count};
    for (size_t i = 0; i < count; i++) {
        if (!sto_pickle_grow(p, &p->shape_keys, p->shape_key_count, &p->shape_key_cap,
                             sizeof(*p->shape_keys)))
            return false;
        p->shape_keys[p->shape_key_count++] = keys[i];
    }
    p->shape_count++;
    slot_put(&p->shape_slots, hash, *out);
    return true;
}

/* ---- lists, tuples, dicts ---- */

bool sto_pickle_box(struct sto_pickle *p, enum sto_tag tag, struct sto_value *out)
{
    struct sto_box *box;

    if (!sto_pickle_grow(p, &p->boxes, p->box_count, &p->box_cap, sizeof(*p->boxes)))
        return false;
    box = &p->boxes[p->box_count];
    memset(box, 0, sizeof(*box));
    if (tag == TAG_DICT && !shape_of(p, NULL, 0, &box->shape))
        return false;
    *out = value_of(tag, p->box_count++);
    return true;
}

static struct sto_box *box_of(const struct sto_pickle *p, struct sto_value v)
{
    return TAG_OF(v) >= TAG_LIST ? &p->boxes[PAYLOAD_OF(v)] : NULL;
}

/* Behind the values; both are only ever reached through their own type. */
static uint32_t *own_keys(const struct sto_box *box)
{
    return (uint32_t *)(void *)(box->items + box->cap);
}

static uint32_t key_at(const struct sto_pickle *p, const struct sto_box *box, size_t i)
{
    return box->shape == SHAPE_NONE ? own_keys(box)[i]
                                    : p->shape_keys[p->shapes[box->shape].first + i];
}

static uint64_t box_bytes(uint64_t cap, bool has_keys)
{
    return (cap * (sizeof(uint64_t) + (has_keys ? sizeof(uint32_t) : 0)) + 7) & ~UINT64_C(7);
}

/*
 * Room for `need` in all; has_keys: and for keys of its own. Exactly as much the first time, because most are filled at once.
 */
static bool box_grow(struct sto_pickle *p, struct sto_box *box, uint64_t need, bool has_keys)
{
    const bool had_keys = box->shape == SHAPE_NONE && box->cap;
    struct sto_box grown = *box;
    uint64_t cap = box->cap ? (uint64_t)box->cap * 2 : need;

    if (need <= box->cap && has_keys == had_keys)
        return true;
    if (cap < need)
        cap = need;
    if (cap > UINT32_MAX || !sto_pickle_take(p, box_bytes(cap, has_keys)))
        return false;
    grown.cap = (uint32_t)cap;
    grown.items = cap >= OWN_CAP ? vs_alloc(box_bytes(cap, has_keys))
                                 : vs_arena_alloc(p->arena, box_bytes(cap, has_keys));
    for (size_t i = 0; i < box->count; i++) {
        grown.items[i] = box->items[i];
        if (has_keys)
            own_keys(&grown)[i] = key_at(p, box, i);
    }
    if (box->cap >= OWN_CAP) {
        vs_free(box->items);
        p->used -= box_bytes(box->cap, had_keys);
    }
    *box = grown;
    return true;
}

bool sto_pickle_append(struct sto_pickle *p, struct sto_value v, const struct sto_value *items,
                       size_t count)
{
    struct sto_box *box = box_of(p, v);

    if (!box_grow(p, box, (uint64_t)box->count + count, false))
        return false;
    for (size_t i = 0; i < count; i++)
        box->items[box->count++] = items[i].bits;
    return true;
}

/* A dict that is small even with `count` more: its new shape. */
static bool set_small(struct sto_pickle *p, struct sto_box *box, const struct sto_value *pairs,
                      size_t count)
{
    uint32_t keys[SHAPE_KEYS_MAX];
    size_t all = box->count;

    for (size_t i = 0; i < all; i++)
        keys[i] = key_at(p, box, i);
    for (size_t i = 0; i < count; i++)
        if (!key_number(p, pairs[2 * i], &keys[all++]))
            return false;
    if (!box_grow(p, box, all, false) || !shape_of(p, keys, all, &box->shape))
        return false;
    for (size_t i = 0; i < count; i++)
        box->items[box->count++] = pairs[2 * i + 1].bits;
    return true;
}

bool sto_pickle_set(struct sto_pickle *p, struct sto_value v, const struct sto_value *pairs,
                    size_t count)
{
    struct sto_box *box = box_of(p, v);

    if (box->shape != SHAPE_NONE && box->count + count <= SHAPE_KEYS_MAX)
        return set_small(p, box, pairs, count);
    if (!box_grow(p, box, (uint64_t)box->count + count, true))
        return false;
    box->shape = SHAPE_NONE;
    for (size_t i = 0; i < count; i++) {
        uint32_t key = 0;

        if (!key_number(p, pairs[2 * i], &key))
            return false;
        own_keys(box)[box->count] = key;
        box->items[box->count++] = pairs[2 * i + 1].bits;
    }
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
    *out = PAYLOAD_OF(v) == PLAIN_TRUE;
    return TAG_OF(v) == TAG_PLAIN && PAYLOAD_OF(v) != PLAIN_NONE;
}

bool sto_value_int(const struct sto_pickle *p, struct sto_value v, uint64_t *out)
{
    const uint64_t sign = UINT64_C(1) << (63 - TAG_BITS);

    if (TAG_OF(v) == TAG_INT) {
        *out = (PAYLOAD_OF(v) ^ sign) - sign;
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

size_t sto_value_count(const struct sto_pickle *p, struct sto_value v)
{
    const struct sto_box *box = box_of(p, v);

    return box ? box->count : 0;
}

struct sto_value sto_value_at(const struct sto_pickle *p, struct sto_value v, size_t i)
{
    const struct sto_box *box = box_of(p, v);

    VS_ASSERT(box && i < box->count);
    return (struct sto_value){box->items[i]};
}

const char *sto_value_key(const struct sto_pickle *p, struct sto_value v, size_t i, size_t *len)
{
    const struct sto_box *box = box_of(p, v);

    VS_ASSERT(box && TAG_OF(v) == TAG_DICT && i < box->count);
    return sto_value_text(p, p->keys[key_at(p, box, i)].text, len);
}

bool sto_value_get(const struct sto_pickle *p, struct sto_value v, uint32_t key,
                   struct sto_value *out)
{
    const struct sto_box *box = box_of(p, v);

    if (TAG_OF(v) != TAG_DICT || key == STO_NO_KEY)
        return false;
    for (size_t i = box->count; i-- > 0;)
        if (key_at(p, box, i) == key) {
            out->bits = box->items[i];
            return true;
        }
    return false;
}

uint32_t sto_value_mark(const struct sto_pickle *p, struct sto_value v)
{
    const struct sto_box *box = box_of(p, v);

    return box ? box->mark : 0;
}

void sto_value_mark_set(struct sto_pickle *p, struct sto_value v, uint32_t mark)
{
    struct sto_box *box = box_of(p, v);

    if (box)
        box->mark = mark;
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
    vs_free(p->boxes);
    vs_free(p->bigs);
    vs_free(p->floats);
    vs_free(p->keys);
    vs_free(p->key_slots.at);
    vs_free(p->shapes);
    vs_free(p->shape_keys);
    vs_free(p->shape_slots.at);
    vs_free(p);
}
