/*
 * recording/snapshot_html.h - extracts the snapshot from an HTML page of torch.cuda._memory_viz (trace_plot,
 * segment_plot, profile_plot).
 *
 * For:            recording/memlist.c.
 * Must not know:  the format of a snapshot.
 * Invariant:      only the embedded base64 text of the page is interpreted.
 */
#ifndef REC_SNAPSHOT_HTML_H
#define REC_SNAPSHOT_HTML_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"

/* Whether the text begins like an HTML page. */
bool rec_html_is(const char *text, size_t len);

/*
 * Decode the base64 text of the page in place, into text[0 … *out_len - 1], followed by a NUL. O(len), no allocation.
 * VS_E_FORMAT: there is none, or it is damaged or truncated; the text says where. VS_E_UNSUPPORTED: the page contains
 * several snapshots.
 */
VS_MUST_USE enum vs_status rec_html_unpack(char *text, size_t len, size_t *out_len,
                                           struct vs_error *err);

#endif
