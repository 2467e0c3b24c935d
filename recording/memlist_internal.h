/*
 * recording/memlist_internal.h - the line formats of memlist.h.
 *
 * For:            recording/memlist*.c.
 * Must not know:  files.
 * Invariant:      `text` ends with a NUL at text[len] and may be modified.
 */
#ifndef REC_MEMLIST_INTERNAL_H
#define REC_MEMLIST_INTERNAL_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/recorded/memlist.h"

#define REC_MEMLIST_TITLE "vramscope allocator list 1"

/* VS_E_FORMAT: the text begins with "line N: "; the caller prepends the file. */
VS_MUST_USE enum vs_status rec_memlist_compact(char *text, struct vs_memlist *out,
                                               struct vs_error *err);
VS_MUST_USE enum vs_status rec_memlist_csv(char *text, struct vs_memlist *out,
                                           struct vs_error *err);

#endif
