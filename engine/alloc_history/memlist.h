/*
 * engine/alloc_history/memlist.h - converts a list of memory events into the structures of record.h.
 *
 * For:            replaying lists that recording/ reads from files.
 * Must not know:  files.
 * Invariant:      all is converted except names and source locations; event kinds that the allocator does not have are
 *                 skipped.
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

/* Converts a list. VS_E_VALUE: settings that the allocator rejects. The caller releases `out`, also after a failure. */
VS_MUST_USE enum vs_status eng_record_of_list(const struct vs_memlist *list, struct eng_record *out,
                                              struct vs_error *err);
void eng_record_release(struct eng_record *record);

/*
 * The peaks of torch.cuda.memory_stats() over the list, `allocated` in bytes of blocks, computed by replaying the list
 * through the allocator. VS_E_DAMAGED, VS_E_VALUE: it cannot be replayed; `err` names the event.
 */
struct eng_record_peaks {
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
};
VS_MUST_USE enum vs_status eng_record_peaks_of(const struct vs_memlist *list,
                                               struct eng_record_peaks *out, struct vs_error *err);

#endif
