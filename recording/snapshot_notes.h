/*
 * recording/snapshot_notes.h - what the program noted itself while it was recorded: record_function ranges and
 * user_metadata.
 *
 * For:            recording/snapshot.c.
 * Must not know:  what the notes mean.
 * Invariant:      the list's notes are in order of time.
 */
#ifndef REC_SNAPSHOT_NOTES_H
#define REC_SNAPSHOT_NOTES_H

#include "base/attr.h"
#include "base/recorded/memlist.h"
#include "recording/pickle.h"

/*
 * Zero-initialise, then set pickle and list and call _begin. last: the text of the event before; string of the list.
 * last_value: what that came from.
 */
struct rec_notes {
    const struct rec_pickle *pickle;
    struct vs_memlist *list;
    uint32_t key_annotations, key_name, key_stage, key_time;
    uint32_t last;
    struct rec_value last_value;
};

void rec_notes_begin(struct rec_notes *notes);
/*
 * The text attached to an event (NULL: none); where it is another one than before, one range ends and another begins
 * there.
 */
void rec_notes_event(struct rec_notes *notes, const struct rec_value *text, uint64_t time_us);
/*
 * The ranges of the whole snapshot, after its events: annotations are the process's, whichever device they name.
 * False: they are not what PyTorch writes. At most `left` are taken.
 */
VS_MUST_USE bool rec_notes_read(struct rec_notes *notes, struct rec_value top, uint64_t left);

#endif
