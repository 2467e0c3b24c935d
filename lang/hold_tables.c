/*
 * lang/hold_tables.c - the two tables behind lang/hold.c: what items of containers are called, and which names hold a parameter.
 *
 * For:            lang/hold_tables.h.
 * Must not know:  containers, events.
 * Invariant:      both grow so that they are never more than half full.
 */
#include "lang/hold_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "lang/vm.h"

#define FIRST_SIZE 256

static size_t hash_of(const void *a, uint64_t b)
{
    uint64_t h =
        ((uint64_t)(uintptr_t)a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);

    return (size_t)(h ^ h >> 32);
}

/* ---- names of items ---- */

static struct lang_item_name *name_slot(const struct lang_item_names *names, const char *container,
                                        int64_t number, const struct lang_string *word)
{
    size_t mask = names->size - 1;
    size_t at = hash_of(container, word != NULL ? (uintptr_t)word : (uint64_t)number) & mask;

    while (names->slots[at].text != NULL &&
           (names->slots[at].container != container || names->slots[at].number != number ||
            names->slots[at].word != word))
        at = (at + 1) & mask;
    return &names->slots[at];
}

static void names_grow(struct lang_item_names *names)
{
    struct lang_item_names old = *names;

    names->size = old.size ? old.size * 2 : FIRST_SIZE;
    names->slots = vs_calloc(names->size, sizeof(*names->slots));
    for (size_t i = 0; i < old.size; i++) {
        const struct lang_item_name *s = &old.slots[i];

        if (s->text != NULL)
            *name_slot(names, s->container, s->number, s->word) = *s;
    }
    vs_free(old.slots);
}

static const char *name_make(struct lang_vm *vm, const char *container, int64_t number,
                             const struct lang_string *word)
{
    char buf[160];
    int len;

    if (word != NULL)
        len = snprintf(buf, sizeof(buf), "%.60s['%.60s']", container, word->text);
    else if (number != INT64_MIN)
        len = snprintf(buf, sizeof(buf), "%.100s[%" PRId64 "]", container, number);
    else
        len = snprintf(buf, sizeof(buf), "%.100s[...]", container);
    return lang_intern(vm, buf, (size_t)len)->text;
}

const char *lang_item_name(struct lang_vm *vm, const char *container, struct lang_value key)
{
    struct lang_item_names *names = &vm->item_names;
    int64_t number = lang_is_int(key) ? key.as.i : INT64_MIN;
    const struct lang_string *word = key.kind == LANG_STR ? lang_intern_str(vm, key.as.str) : NULL;
    struct lang_item_name *slot;

    if (names->count * 2 >= names->size)
        names_grow(names);
    slot = name_slot(names, container, number, word);
    if (slot->text == NULL) {
        *slot = (struct lang_item_name){container, number, word,
                                        name_make(vm, container, number, word)};
        names->count++;
    }
    return slot->text;
}

/* ---- who holds a parameter ---- */

static uint32_t *chain_of(const struct lang_tensor_places *places, const struct eng_tensor *t)
{
    return &places->chains[hash_of(t, 0) & (places->chain_count - 1)];
}

/* The link that ends the chain. */
static uint32_t *chain_end(struct lang_tensor_places *places, const struct eng_tensor *t)
{
    uint32_t *link = chain_of(places, t);

    while (*link != 0)
        link = &places->all[*link - 1].next;
    return link;
}

static void places_grow(struct lang_tensor_places *places)
{
    uint32_t *old = places->chains;
    size_t old_count = places->chain_count;

    places->chain_count = old_count ? old_count * 2 : FIRST_SIZE;
    places->chains = vs_calloc(places->chain_count, sizeof(*places->chains));
    for (size_t i = 0; i < old_count; i++) {
        for (uint32_t at = old[i], next; at != 0; at = next) {
            struct lang_tensor_place *p = &places->all[at - 1];

            next = p->next;
            p->next = 0;
            *chain_end(places, p->tensor) = at;
        }
    }
    vs_free(old);
}

void lang_places_add(struct lang_tensor_places *places, const struct lang_tensor_place *place)
{
    uint32_t at = places->unused;

    if (places->live * 2 >= places->chain_count)
        places_grow(places);
    if (at != 0) {
        places->unused = places->all[at - 1].next;
    } else {
        places->all = vs_grow(places->all, places->count, &places->cap, sizeof(*places->all));
        at = (uint32_t)++places->count;
    }
    places->all[at - 1] = *place;
    places->all[at - 1].next = 0;
    *chain_end(places, place->tensor) = at;
    places->live++;
}

void lang_places_remove(struct lang_tensor_places *places, const struct lang_tensor_place *place)
{
    if (places->live == 0)
        return;
    for (uint32_t *link = chain_of(places, place->tensor); *link != 0;) {
        struct lang_tensor_place *p = &places->all[*link - 1];
        uint32_t at = *link;

        if (p->tensor != place->tensor || p->holder != place->holder || p->name != place->name ||
            p->scope != place->scope) {
            link = &p->next;
            continue;
        }
        *link = p->next;
        p->next = places->unused;
        places->unused = at;
        places->live--;
        return;
    }
}

const struct lang_tensor_place *lang_places_next(const struct lang_tensor_places *places,
                                                 const struct eng_tensor *t,
                                                 const struct lang_tensor_place *before)
{
    uint32_t at = 0;

    if (before != NULL)
        at = before->next;
    else if (places->live > 0)
        at = *chain_of(places, t);
    while (at != 0 && places->all[at - 1].tensor != t)
        at = places->all[at - 1].next;
    return at != 0 ? &places->all[at - 1] : NULL;
}

void lang_hold_tables_release(struct lang_vm *vm)
{
    vs_free(vm->item_names.slots);
    vs_free(vm->places.all);
    vs_free(vm->places.chains);
}
