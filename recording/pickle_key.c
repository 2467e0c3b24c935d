/*
 * recording/pickle_key.c - the keys of a pickle's dicts, each with a number.
 *
 * Must not know:  dicts.
 */
#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "recording/pickle_internal.h"

bool rec_slots_double(struct rec_pickle *p, struct rec_slots *slots)
{
    size_t count = slots->count ? slots->count * 2 : 128;

    if (!rec_pickle_take(p, (count - slots->count) * sizeof(*slots->at)))
        return false;
    vs_free(slots->at);
    slots->at = vs_calloc(count, sizeof(*slots->at));
    slots->count = count;
    return true;
}

void rec_slots_put(struct rec_slots *slots, uint64_t hash, size_t number)
{
    size_t at = hash & (slots->count - 1);

    while (slots->at[at])
        at = (at + 1) & (slots->count - 1);
    slots->at[at] = (uint32_t)number + 1;
}

/* REC_NO_KEY: there is no such key yet. */
static uint32_t find(const struct rec_pickle *p, const char *text, size_t len, uint64_t hash)
{
    const struct rec_slots *slots = &p->key_slots;
    size_t at = hash & (slots->count - 1);

    for (; slots->count && slots->at[at]; at = (at + 1) & (slots->count - 1)) {
        const struct rec_key *key = &p->keys[slots->at[at] - 1];
        size_t key_len;
        const char *there = rec_value_text(p, key->text, &key_len);

        if (key->hash == hash && key_len == len && memcmp(there, text, len) == 0)
            return slots->at[at] - 1;
    }
    return REC_NO_KEY;
}

static inline size_t seen_at(struct rec_value text)
{
    static_assert(KEYS_SEEN == 1 << (64 - 54), "the upper bits of a product");

    return (text.bits >> (TAG_BITS + TEXT_LEN_BITS)) * UINT64_C(0x9E3779B97F4A7C15) >> 54;
}

static bool look_up(struct rec_pickle *p, struct rec_value text, uint32_t *out)
{
    size_t len;
    const char *name = rec_value_text(p, text, &len);
    uint64_t hash = vs_hash_bytes(name, len);

    *out = find(p, name, len, hash);
    if (*out != REC_NO_KEY)
        return true;
    if (p->key_count >= REC_NO_KEY - 1 ||
        !rec_pickle_grow(p, &p->keys, p->key_count, &p->key_cap, sizeof(*p->keys)))
        return false;
    if (p->key_count * 2 >= p->key_slots.count) {
        if (!rec_slots_double(p, &p->key_slots))
            return false;
        for (size_t i = 0; i < p->key_count; i++)
            rec_slots_put(&p->key_slots, p->keys[i].hash, i);
    }
    *out = (uint32_t)p->key_count;
    p->keys[p->key_count++] = (struct rec_key){hash, text};
    rec_slots_put(&p->key_slots, hash, *out);
    return true;
}

bool rec_key_add(struct rec_pickle *p, struct rec_value text, uint32_t *out)
{
    struct rec_key_seen *seen = &p->key_seen[seen_at(text)];

    if (seen->text != text.bits) {
        if (!look_up(p, text, out))
            return false;
        *seen = (struct rec_key_seen){text.bits, *out};
    }
    *out = seen->number;
    return true;
}

uint32_t rec_key_number(const struct rec_pickle *p, struct rec_value text)
{
    const struct rec_key_seen *seen = &p->key_seen[seen_at(text)];
    const char *name;
    size_t len;

    if (seen->text == text.bits)
        return seen->number;
    name = rec_value_text(p, text, &len);
    return find(p, name, len, vs_hash_bytes(name, len));
}

uint32_t rec_pickle_key(const struct rec_pickle *p, const char *name)
{
    return find(p, name, strlen(name), vs_hash_bytes(name, strlen(name)));
}
