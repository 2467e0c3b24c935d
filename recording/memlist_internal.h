/*
 * recording/memlist_internal.h - the formats behind memlist.h.
 *
 * For:            recording/memlist*.c only.
 * Must not know:  files.
 * Invariant:      `text` ends with a NUL at text[len] and may be changed while it is read.
 */
#ifndef REC_MEMLIST_INTERNAL_H
#define REC_MEMLIST_INTERNAL_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/recorded/memlist.h"

#define REC_MEMLIST_TITLE "vramscope allocator list 1"

/* VS_E_FORMAT: "line N: …"; the caller puts the file before it. */
VS_MUST_USE enum vs_status rec_memlist_compact(char *text, struct vs_memlist *out,
                                               struct vs_error *err);
VS_MUST_USE enum vs_status rec_memlist_csv(char *text, struct vs_memlist *out,
                                           struct vs_error *err);

#endif
