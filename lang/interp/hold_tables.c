/*
 * lang/interp/hold_tables.c - the two tables behind lang/interp/hold.c: what items of containers are called, and which names hold a parameter.
 *
 * For:            lang/interp/hold_tables.h.
 * Must not know:  containers, events.
 * Invariant:      the table of names is never more than half full.
 */
#include "lang/interp/hold_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "lang/interp/vm.h"

#define FIRST_SIZE 256
#define CONTAINER_MAX 100 /* bytes of its name in that of an item */
#define NUMBER_MAX 14     /* of what follows it: "[4294967295]" */

/* ---- names of items ---- */

static size_t hash_of(const char *container, const struct lang_string *word)
{
    uint64_t h = (uint64_t)(uintptr_t)container * UINT64_C(0x9e3779b97f4a7c15) ^
                 (uint64_t)(uintptr_t)word * UINT64_C(0xff51afd7ed558ccd);

    return (size_t)(h >> 32);
}

static struct lang_item_name *name_slot(const struct lang_item_names *names, const char *container,
                                        const struct lang_string *word)
{
    size_t at = hash_of(container, word) & (names->size - 1);

    while (names->slots[at].container != NULL &&
           (names->slots[at].container != container || names->slots[at].word != word))
        at = (at + 1) & (names->size - 1);
    return &names->slots[at];
}

static void names_grow(struct lang_item_names *names)
{
    struct lang_item_names old = *names;

    names->size = old.size ? old.size * 2 : FIRST_SIZE;
    names->slots = vs_calloc(names->size, sizeof(*names->slots));
    for (size_t i = 0; i < old.size; i++) {
        const struct lang_item_name *s = &old.slots[i];

        if (s->container != NULL)
            *name_slot(names, s->container, s->word) = *s;
    }
    vs_free(old.slots);
}

/* The entry of this container and word, made where there is none. */
static struct lang_item_name *name_get(struct lang_vm *vm, const char *container,
                                       const struct lang_string *word)
{
    struct lang_item_names *names = &vm->item_names;
    struct lang_item_name *slot;

    if (names->count * 2 >= names->size)
        names_grow(names);
    slot = name_slot(names, container, word);
    if (slot->container == NULL) {
        slot->container = container;
        slot->word = word;
        names->count++;
    }
    return slot;
}

static const char *interned(struct lang_vm *vm, const char *text, int len)
{
    return lang_intern(vm, text, (size_t)len)->text;
}

/*
 * "container[i]". A list of all parameters needs thousands: their digits are written by hand, into one block, and as a container and
 * a number stand here once only, the texts need not be looked up to be one pointer each.
 */
static void add_numbers(struct lang_item_names *names, struct lang_item_name *slot, uint32_t count)
{
    size_t prefix = strnlen(slot->container, CONTAINER_MAX);
    char *at;

    if (count > slot->number_cap) {
        slot->number_cap = count < 8 ? 8 : count + count / 2;
        slot->by_number = vs_realloc(slot->by_number, slot->number_cap, sizeof(*slot->by_number));
    }
    if (names->texts == NULL)
        names->texts = vs_arena_new();
    at = vs_arena_alloc(names->texts, (count - slot->number_count) * (prefix + NUMBER_MAX));
    for (uint32_t i = slot->number_count; i < count; i++) {
        char *digits = at + prefix + 1;

        slot->by_number[i] = (struct eng_name){.text = at};
        memcpy(at, slot->container, prefix);
        at[prefix] = '[';
        at = digits + 1;
        for (uint32_t rest = i; rest > 9; rest /= 10)
            at++;
        for (uint32_t rest = i, d = (uint32_t)(at - digits); d-- > 0; rest /= 10)
            digits[d] = (char)('0' + rest % 10);
        *at++ = ']';
        *at++ = '\0';
    }
    slot->number_count = count;
}

struct eng_name *lang_item_numbers(struct lang_vm *vm, const char *container, uint32_t count)
{
    struct lang_item_name *slot = name_get(vm, container, NULL);

    if (slot->number_count < count)
        add_numbers(&vm->item_names, slot, count);
    return slot->by_number;
}

const char *lang_item_name(struct lang_vm *vm, const char *container, struct lang_value key)
{
    char buf[160];
    struct lang_item_name *slot;

    if (lang_is_numbered(key))
        return lang_item_numbers(vm, container, (uint32_t)key.as.i + 1)[key.as.i].text;
    if (lang_is_int(key))
        return interned(vm, buf,
                        snprintf(buf, sizeof(buf), "%.100s[%" PRId64 "]", container, key.as.i));
    if (key.kind != LANG_STR)
        return interned(vm, buf, snprintf(buf, sizeof(buf), "%.100s[...]", container));
    slot = name_get(vm, container, lang_intern_str(vm, key.as.str));
    if (slot->by_word == NULL)
        slot->by_word = interned(
            vm, buf, snprintf(buf, sizeof(buf), "%.60s['%.60s']", container, slot->word->text));
    return slot->by_word;
}

/* ---- who holds a parameter ---- */

void lang_places_add(struct lang_tensor_places *places, struct eng_tensor *t,
                     const struct lang_tensor_place *place)
{
    uint32_t at = places->unused;

    if (at != 0) {
        places->unused = places->all[at - 1].next;
    } else {
        places->all = vs_grow(places->all, places->count, &places->cap, sizeof(*places->all));
        at = (uint32_t)++places->count;
    }
    places->all[at - 1] = *place;
    places->all[at - 1].next = t->user;
    t->user = at;
}

void lang_places_remove(struct lang_tensor_places *places, struct eng_tensor *t,
                        const struct lang_tensor_place *place)
{
    for (uint32_t *link = &t->user, at; (at = *link) != 0; link = &places->all[at - 1].next) {
        struct lang_tensor_place *p = &places->all[at - 1];

        if (p->name != place->name || p->scope != place->scope || p->holder != place->holder)
            continue;
        *link = p->next;
        p->next = places->unused;
        places->unused = at;
        return;
    }
}

uint32_t lang_places_of(const struct lang_tensor_places *places, const struct eng_tensor *t,
                        struct lang_tensor_place **out)
{
    uint32_t count = 0;
    uint32_t i;

    for (uint32_t at = t->user; at != 0; at = places->all[at - 1].next)
        count++;
    *out = vs_alloc(count * sizeof(**out));
    i = count;
    for (uint32_t at = t->user; at != 0; at = places->all[at - 1].next)
        (*out)[--i] = places->all[at - 1];
    return count;
}

void lang_hold_tables_release(struct lang_vm *vm)
{
    for (size_t i = 0; i < vm->item_names.size; i++)
        vs_free(vm->item_names.slots[i].by_number);
    vs_free(vm->item_names.slots);
    vs_arena_free(vm->item_names.texts);
    vs_free(vm->places.all);
}
