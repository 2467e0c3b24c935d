/*
 * recording/snapshot_notes.h - annotations by the recorded program: record_function ranges and user_metadata.
 *
 * For:            recording/snapshot.c.
 * Must not know:  the meaning of annotations.
 * Invariant:      the notes of a list are in order of time.
 */
#ifndef REC_SNAPSHOT_NOTES_H
#define REC_SNAPSHOT_NOTES_H

#include "base/attr.h"
#include "base/recorded/memlist.h"
#include "recording/pickle.h"

/*
 * Zero-initialise, set pickle and list and call rec_notes_begin(). last: text of the previous event, a string of the
 * list; last_value: the value it came from.
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
 * Process the text attached to an event (NULL: none). If it differs from that of the previous event, the previous range
 * ends and a new one begins.
 */
void rec_notes_event(struct rec_notes *notes, const struct rec_value *text, uint64_t time_us);
/*
 * Read the annotations of the whole snapshot, after its events: they belong to the process, whichever device they name.
 * At most `left` are read. False: they are not what PyTorch writes.
 */
VS_MUST_USE bool rec_notes_read(struct rec_notes *notes, struct rec_value top, uint64_t left);

#endif
