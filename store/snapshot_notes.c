/*
 * store/snapshot_notes.c - see snapshot_notes.h.
 */
#include "store/snapshot_notes.h"

#include <stdlib.h>

void sto_notes_begin(struct sto_notes *notes)
{
    notes->key_annotations = sto_pickle_key(notes->pickle, "external_annotations");
    notes->key_name = sto_pickle_key(notes->pickle, "name");
    notes->key_stage = sto_pickle_key(notes->pickle, "stage");
    notes->key_time = sto_pickle_key(notes->pickle, "time_us");
}

static void add(struct sto_notes *notes, uint64_t time_us, uint32_t name, bool is_end)
{
    vs_memlist_add_note(notes->list,
                        (struct vs_mem_note){.time_us = time_us, .name = name, .is_end = is_end});
}

void sto_notes_event(struct sto_notes *notes, const struct sto_value *value, uint64_t time_us)
{
    const char *text = NULL;
    size_t len = 0;
    uint32_t name;

    if (value && sto_value_same(notes->last_value, *value))
        return;
    if (value)
        text = sto_value_text(notes->pickle, *value, &len);
    notes->last_value = value ? *value : (struct sto_value){0};
    name = text ? vs_memlist_string(notes->list, text, len) : 0;
    if (name == notes->last)
        return;
    if (notes->last)
        add(notes, time_us, notes->last, true);
    if (name)
        add(notes, time_us, name, false);
    notes->last = name;
}

static bool note_read(struct sto_notes *notes, struct sto_value v)
{
    struct sto_value name, stage, time;
    const char *text;
    size_t len;
    uint64_t time_us;

    if (!sto_value_get(notes->pickle, v, notes->key_name, &name) ||
        !sto_value_get(notes->pickle, v, notes->key_stage, &stage) ||
        !sto_value_get(notes->pickle, v, notes->key_time, &time))
        return false;
    text = sto_value_text(notes->pickle, name, &len);
    if (!text || !sto_value_int(notes->pickle, time, &time_us))
        return false;
    add(notes, time_us, vs_memlist_string(notes->list, text, len),
        sto_value_is_text(notes->pickle, stage, "END"));
    return true;
}

static int by_time(const void *a, const void *b)
{
    const struct vs_mem_note *x = a;
    const struct vs_mem_note *y = b;

    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

bool sto_notes_read(struct sto_notes *notes, struct sto_value top, uint64_t left)
{
    struct vs_memlist *list = notes->list;
    struct sto_value all;
    size_t count;

    if (sto_value_get(notes->pickle, top, notes->key_annotations, &all)) {
        count = sto_value_count(notes->pickle, all);
        if (sto_value_type(all) != STO_LIST || count > left)
            return false;
        for (size_t i = 0; i < count; i++)
            if (!note_read(notes, sto_value_at(notes->pickle, all, i)))
                return false;
    }
    for (size_t i = 0; i < list->note_count; i++)
        list->notes[i].order = (uint32_t)i;
    if (list->note_count)
        qsort(list->notes, list->note_count, sizeof(*list->notes), by_time);
    return true;
}
