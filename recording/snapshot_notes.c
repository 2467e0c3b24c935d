/*
 * recording/snapshot_notes.c - see snapshot_notes.h.
 */
#include "recording/snapshot_notes.h"

#include <stdlib.h>

void rec_notes_begin(struct rec_notes *notes)
{
    notes->key_annotations = rec_pickle_key(notes->pickle, "external_annotations");
    notes->key_name = rec_pickle_key(notes->pickle, "name");
    notes->key_stage = rec_pickle_key(notes->pickle, "stage");
    notes->key_time = rec_pickle_key(notes->pickle, "time_us");
}

static void add(struct rec_notes *notes, uint64_t time_us, uint32_t name, bool is_end)
{
    vs_memlist_add_note(notes->list,
                        (struct vs_mem_note){.time_us = time_us, .name = name, .is_end = is_end});
}

void rec_notes_event(struct rec_notes *notes, const struct rec_value *value, uint64_t time_us)
{
    const char *text = NULL;
    size_t len = 0;
    uint32_t name;

    if (value && rec_value_same(notes->last_value, *value))
        return;
    if (value)
        text = rec_value_text(notes->pickle, *value, &len);
    notes->last_value = value ? *value : (struct rec_value){0};
    name = text ? vs_memlist_string(notes->list, text, len) : 0;
    if (name == notes->last)
        return;
    if (notes->last)
        add(notes, time_us, notes->last, true);
    if (name)
        add(notes, time_us, name, false);
    notes->last = name;
}

static bool note_read(struct rec_notes *notes, struct rec_value v)
{
    struct rec_value name, stage, time;
    const char *text;
    size_t len;
    uint64_t time_us;

    if (!rec_value_get(notes->pickle, v, notes->key_name, &name) ||
        !rec_value_get(notes->pickle, v, notes->key_stage, &stage) ||
        !rec_value_get(notes->pickle, v, notes->key_time, &time))
        return false;
    text = rec_value_text(notes->pickle, name, &len);
    if (!text || !rec_value_int(notes->pickle, time, &time_us))
        return false;
    add(notes, time_us, vs_memlist_string(notes->list, text, len),
        rec_value_is_text(notes->pickle, stage, "END"));
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

bool rec_notes_read(struct rec_notes *notes, struct rec_value top, uint64_t left)
{
    struct vs_memlist *list = notes->list;
    struct rec_value all;
    size_t count;

    if (rec_value_get(notes->pickle, top, notes->key_annotations, &all)) {
        count = rec_value_count(notes->pickle, all);
        if (rec_value_type(all) != REC_LIST || count > left)
            return false;
        for (size_t i = 0; i < count; i++)
            if (!note_read(notes, rec_value_at(notes->pickle, all, i)))
                return false;
    }
    for (size_t i = 0; i < list->note_count; i++)
        list->notes[i].order = (uint32_t)i;
    if (list->note_count)
        qsort(list->notes, list->note_count, sizeof(*list->notes), by_time);
    return true;
}
