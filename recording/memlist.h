/*
 * recording/memlist.h - reads lists of memory events: what a PyTorch program did on a real GPU.
 *
 * For:            `vramscope match`, tests that hold the engine and the allocator against recordings.
 * Must not know:  the engine, what is done with a list.
 * Invariant:      a list is read whole or refused with the line that is wrong; files come from strangers.
 *
 * Plain or gzip-compressed, told apart by how they begin:
 *
 * - PyTorch's memory snapshot, a pickle; recording/snapshot.h. Also inside the page that torch.cuda._memory_viz makes
 *   of it.
 * - "vramscope allocator list 1", the compact one of tests/golden/alloc; tests/oracle/snapshot_lists.py describes and
 *   writes it.
 * - Comma- or tab-separated with a header line. Columns, in any order: `kind` (alloc; free, which is free_requested
 *   and free_completed in one; free_requested, free_completed, segment_alloc, segment_free, segment_map,
 *   segment_unmap, oom, snapshot), `bytes`, and `id` (any text that names the allocation a free belongs to) or
 *   `address` (decimal or 0x…; reused after a free). Optional: `class` (tensor, workspace, reduction, sort, scratch),
 *   `op`, `function`, `file`, `line`, `stream`. Other columns are skipped, and lines that begin with #. A value may
 *   stand in double quotes, a quote in it doubled.
 */
#ifndef REC_MEMLIST_H
#define REC_MEMLIST_H

#include "base/attr.h"
#include "base/error.h"
#include "base/recorded/memlist.h"
#include "recording/snapshot.h"

/*
 * Read the file at `path`; "-" is standard input. device: which one of a snapshot, or -1: the only one it has
 * something of. *out is zeroed or released before; the caller releases it, also after a failure.
 * VS_E_NOT_FOUND, VS_E_IO; VS_E_FORMAT: it is no such list; the text names file and line. VS_E_VALUE: the device
 * is not there, or has to be chosen.
 */
VS_MUST_USE enum vs_status rec_memlist_read(const char *path, int64_t device,
                                            struct vs_memlist *out, struct vs_error *err);

/*
 * The same of a list that also says what the device held at the end, so that all that happened can be told from it: a
 * snapshot or a compact list; device may be REC_SNAPSHOT_FIRST. VS_E_FORMAT: it is something else.
 */
VS_MUST_USE enum vs_status rec_memlist_read_whole(const char *path, int64_t device,
                                                  struct vs_memlist *out, struct vs_error *err);

/*
 * The same of all devices that a snapshot has something of, in their order; at least one list. *out is the caller's:
 * each list is released, then it is freed. *count 0 on failure.
 */
VS_MUST_USE enum vs_status rec_memlist_read_devices(const char *path, struct vs_memlist **out,
                                                    size_t *count, struct vs_error *err);

/* The same of bytes in memory, unpacked; text[len] is a NUL, and they may be changed while they are read. */
VS_MUST_USE enum vs_status rec_memlist_parse(char *text, size_t len, int64_t device,
                                             struct vs_memlist *out, struct vs_error *err);

#endif
