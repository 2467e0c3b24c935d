/*
 * tests/engine/alloc_lists.h - the allocator lists of tests/golden/alloc, recorded from real PyTorch runs.
 *
 * For:            tests that replay them. The format is described in tests/oracle/snapshot_lists.py, which writes it.
 * Must not know:  the allocator.
 * Invariant:      a list that was read has exactly the events and the state of its snapshot.
 */
#ifndef TESTS_ENGINE_ALLOC_LISTS_H
#define TESTS_ENGINE_ALLOC_LISTS_H

#include "engine/alloc_history/memlist.h"

#define ALLOC_LISTS_DIR "tests/golden/alloc"

/* VS_E_IO, VS_E_FORMAT: `err` names the file and the line. Release with eng_record_release. */
VS_MUST_USE enum vs_status alloc_list_read(const char *path, struct eng_record *out,
                                           struct vs_error *err);

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
