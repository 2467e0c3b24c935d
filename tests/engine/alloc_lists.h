/*
 * tests/engine/alloc_lists.h - the allocator lists of tests/golden/alloc: what real PyTorch runs recorded.
 *
 * For:            tests that replay them. The format is described in tests/oracle/snapshot_lists.py, which writes it.
 * Must not know:  the allocator.
 * Invariant:      a list that was read holds exactly the events and the state of its snapshot.
 */
#ifndef TESTS_ENGINE_ALLOC_LISTS_H
#define TESTS_ENGINE_ALLOC_LISTS_H

#include "engine/alloc_record.h"

#define ALLOC_LISTS_DIR "tests/golden/alloc"

struct alloc_list {
    struct eng_alloc_conf conf;
    struct eng_record_state final;
    struct eng_record_event *events;
    size_t event_count;
    size_t event_cap;
};

/* VS_E_IO, VS_E_FORMAT: `err` names the file and the line. */
VS_MUST_USE enum vs_status alloc_list_read(const char *path, struct alloc_list *out,
                                           struct vs_error *err);
void alloc_list_release(struct alloc_list *list);

#define ALLOC_FACT_NONE UINT64_MAX

/* One row of facts.tsv: figures computed without this allocator. ALLOC_FACT_NONE where the table has "-". */
struct alloc_facts {
    char file[64];
    uint64_t device;
    uint64_t events;
    uint64_t allocs;
    uint64_t segments;
    uint64_t blocks;
    uint64_t reserved;
    uint64_t allocated;
    uint64_t peak_allocated;
    uint64_t peak_requested;
    uint64_t peak_reserved;
    bool is_start_empty;
};

/* Row `idx` (from 0) of facts.tsv. VS_E_NOT_FOUND: there are fewer rows. */
VS_MUST_USE enum vs_status alloc_facts_read(size_t idx, struct alloc_facts *out,
                                            struct vs_error *err);

#endif
