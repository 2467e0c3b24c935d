/*
 * recording/memlist.h - reads lists of memory events: recordings of PyTorch programs on a GPU.
 *
 * For:            `vramscope match`, `vramscope import`, tests that compare the engine and the allocator with
 *                 recordings.
 * Must not know:  the engine, how a list is used.
 * Invariant:      a list is read completely or refused with the number of the invalid line. Files are untrusted.
 *
 * Formats, plain or compressed with gzip, distinguished by their first bytes:
 *
 * - PyTorch's memory snapshot, a pickle: see recording/snapshot.h. Also inside an HTML page written by
 * torch.cuda._memory_viz. - "vramscope allocator list 1", the compact format of tests/golden/alloc, described and
 * written by tests/oracle/snapshot_lists.py. - Comma- or tab-separated values with a header line. Columns, in any
 * order: `kind` (alloc; free, which is free_requested and free_completed in one; free_requested, free_completed,
 * segment_alloc, segment_free, segment_map, segment_unmap, oom, snapshot), `bytes`, and `id` (any text that identifies
 * the allocation that a free refers to) or `address` (decimal or 0x…; may be reused after a free). Optional: `class`
 * (tensor, workspace, reduction, sort, scratch), `op`, `function`, `file`, `line`, `stream`. Other columns and lines
 * that begin with # are skipped. A value may be in double quotes, with a quote in it doubled.
 */
#ifndef REC_MEMLIST_H
#define REC_MEMLIST_H

#include "base/attr.h"
#include "base/error.h"
#include "base/recorded/memlist.h"
#include "recording/snapshot.h"

/*
 * Read the list in the file at `path`; "-" is standard input. device: the device of a snapshot, or -1: the only one
 * that has events or segments. *out must be zeroed or released; the caller releases it, also after a failure.
 * VS_E_NOT_FOUND, VS_E_IO: see rec_file_bytes_read(). VS_E_FORMAT: not a valid list; the text names file and line.
 * VS_E_VALUE: there is no such device, or several of which none is chosen.
 */
VS_MUST_USE enum vs_status rec_memlist_read(const char *path, int64_t device,
                                            struct vs_memlist *out, struct vs_error *err);

/*
 * The same for a list that includes the device's state at the end, from which the whole history can be derived: a
 * snapshot or a compact list. device may be REC_SNAPSHOT_FIRST. VS_E_FORMAT: it is another kind of list.
 */
VS_MUST_USE enum vs_status rec_memlist_read_whole(const char *path, int64_t device,
                                                  struct vs_memlist *out, struct vs_error *err);

/*
 * The same for all devices of a snapshot that have events or segments, in order; at least one list. The caller releases
 * each list and frees *out. *count is 0 on failure.
 */
VS_MUST_USE enum vs_status rec_memlist_read_devices(const char *path, struct vs_memlist **out,
                                                    size_t *count, struct vs_error *err);

/* The same for bytes in memory, not compressed; text[len] must be a NUL. The text may be modified. */
VS_MUST_USE enum vs_status rec_memlist_parse(char *text, size_t len, int64_t device,
                                             struct vs_memlist *out, struct vs_error *err);

#endif
