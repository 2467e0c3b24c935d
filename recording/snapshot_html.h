/*
 * recording/snapshot_html.h - the page of torch.cuda._memory_viz (trace_plot, segment_plot, profile_plot), which
 * holds a snapshot.
 *
 * For:            recording/memlist.c.
 * Must not know:  what a snapshot is.
 * Invariant:      nothing of the page is looked at but the text that was packed into it.
 */
#ifndef REC_SNAPSHOT_HTML_H
#define REC_SNAPSHOT_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"

/* Does it begin like a page? */
bool rec_html_is(const char *text, size_t len);

/*
 * What stands as base64 in the page, unpacked, into text[0 … *out_len - 1], with a NUL behind it. O(len), no memory.
 * VS_E_FORMAT: nothing does, or it is damaged or cut off; the text says where. VS_E_UNSUPPORTED: the page holds
 * several snapshots.
 */
VS_MUST_USE enum vs_status rec_html_unpack(char *text, size_t len, size_t *out_len,
                                           struct vs_error *err);

#endif
