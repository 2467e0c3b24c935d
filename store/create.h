/*
 * store/create.h - an empty trace at a path, whole from its first moment.
 *
 * For:            store/writer.c.
 * Must not know:  rows.
 * Invariant:      the path holds either what was there before or a valid trace, at every moment.
 */
#ifndef STO_CREATE_H
#define STO_CREATE_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/error.h"

/*
 * Make an empty trace at `path`: beside it under another name first, then renamed.
 *
 * is_forced  replace a file that is there. Without it, VS_E_EXISTS.
 * VS_E_IO: the folder is missing, full, not writable, or `path` is no regular file. Nothing is left behind on failure.
 */
VS_MUST_USE enum vs_status sto_create(const char *path, bool is_forced, struct vs_error *err);

#endif
