/*
 * lang/value/hold_tables.c - the two tables of lang/value/hold.c: the names of containers' items, and the names that
 * hold a parameter.
 *
 * For:            lang/value/hold_tables.h.
 * Must not know:  containers, events.
 * Invariant:      there is one entry for each pair of container and word.
 */
#include "lang/value/hold_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "lang/value/vm.h"

#define CONTAINER_MAX 100 /* bytes of the container's name in the name of an item */
#define NUMBER_MAX 14     /* bytes of the index after it: "[4294967295]" */

/* ---- names of items ---- */

/* The entry of this container and word, added if there is none. Valid until the next one is added. */
static struct lang_item_name *name_get(struct lang_vm *vm, const char *container,
                                       const struct lang_string *word)
{
    const uint64_t hash = vs_hash_mix((uintptr_t)container, (uintptr_t)word);
    struct lang_item_names *names = &vm->item_names;
    struct vs_probe probe = vs_probe(hash);
    struct lang_item_name *item;

    while (vs_table_next(&names->table, &probe)) {
        item = &names->items[probe.item];
        if (item->container == container && item->word == word)
            return item;
    }
    vs_table_add(&names->table, hash, names->count);
    names->items = vs_grow(names->items, names->count, &names->cap, sizeof(*names->items));
    item = &names->items[names->count++];
    *item = (struct lang_item_name){.container = container, .word = word};
    return item;
}

static const char *interned(struct lang_vm *vm, const char *text, int len)
{
    return lang_intern(vm, text, (size_t)len)->text;
}

/*
 * Builds "container[i]". A list of all parameters has thousands of items, so this is a hot path: digits are written
 * directly into one block of memory, and no text is interned, as each pair of container and index is built only once.
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

/* ---- holders of parameters ---- */

void lang_tensor_names_add(struct lang_tensor_names *names, struct eng_tensor *t,
                           const struct lang_tensor_name *name)
{
    uint32_t at = names->unused;

    if (at != 0) {
        names->unused = names->all[at - 1].next;
    } else {
        names->all = vs_grow(names->all, names->count, &names->cap, sizeof(*names->all));
        at = (uint32_t)++names->count;
    }
    names->all[at - 1] = *name;
    names->all[at - 1].next = t->user;
    t->user = at;
}

void lang_tensor_names_remove(struct lang_tensor_names *names, struct eng_tensor *t,
                              const struct lang_tensor_name *name)
{
    for (uint32_t *link = &t->user, at; (at = *link) != 0; link = &names->all[at - 1].next) {
        struct lang_tensor_name *p = &names->all[at - 1];

        if (p->name != name->name || p->scope != name->scope || p->holder != name->holder)
            continue;
        *link = p->next;
        p->next = names->unused;
        names->unused = at;
        return;
    }
}

uint32_t lang_tensor_names_of(const struct lang_tensor_names *names, const struct eng_tensor *t,
                              struct lang_tensor_name **out)
{
    uint32_t count = 0;
    uint32_t i;

    for (uint32_t at = t->user; at != 0; at = names->all[at - 1].next)
        count++;
    *out = vs_alloc(count * sizeof(**out));
    i = count;
    for (uint32_t at = t->user; at != 0; at = names->all[at - 1].next)
        (*out)[--i] = names->all[at - 1];
    return count;
}

void lang_hold_tables_release(struct lang_vm *vm)
{
    for (size_t i = 0; i < vm->item_names.count; i++)
        vs_free(vm->item_names.items[i].by_number);
    vs_free(vm->item_names.items);
    vs_table_release(&vm->item_names.table);
    vs_arena_free(vm->item_names.texts);
    vs_free(vm->tensor_names.all);
}
