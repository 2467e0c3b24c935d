/*
 * engine/alloc_history/memlist.h - a list of memory events in the allocator's own words.
 *
 * For:            replaying lists that store/ read from files.
 * Must not know:  files.
 * Invariant:      nothing is lost but names and places; kinds the allocator does not have are skipped.
 */
#ifndef ENG_ALLOC_MEMLIST_H
#define ENG_ALLOC_MEMLIST_H

#include "base/recorded/memlist.h"
#include "engine/alloc/conf.h"
#include "engine/alloc_history/record.h"

/* Zero-initialised: empty. */
struct eng_record {
    struct eng_alloc_conf conf;
    struct eng_record_state final;
    struct eng_record_event *events;
    size_t event_count, event_cap;
};

/* VS_E_VALUE: settings the allocator refuses. Release `out`, also after a failure. */
VS_MUST_USE enum vs_status eng_record_of_list(const struct vs_memlist *list, struct eng_record *out,
                                              struct vs_error *err);
void eng_record_release(struct eng_record *record);

/*
 * What the device's own counters said over the list: the peaks of torch.cuda.memory_stats(), allocated counting blocks. Found by
 * replaying it through the allocator. VS_E_DAMAGED, VS_E_VALUE: it cannot be replayed; `err` names the event.
 */
struct eng_record_peaks {
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
};
VS_MUST_USE enum vs_status eng_record_peaks_of(const struct vs_memlist *list,
                                               struct eng_record_peaks *out, struct vs_error *err);

#endif
