/*
 * recording/file_bytes.h - all of a file's bytes in memory, unpacked where it is compressed with gzip.
 *
 * For:            recording/memlist.c.
 * Must not know:  what is in them.
 * Invariant:      a file is read whole or refused; files come from strangers.
 */
#ifndef REC_FILE_BYTES_H
#define REC_FILE_BYTES_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"

/*
 * The file at `path`; "-" is standard input. *out is the caller's, to be freed with vs_free, NULL on failure;
 * (*out)[*len] is a NUL. Of a packed file the packed bytes are in memory beside the others while it is unpacked. At
 * most 64 GiB.
 *
 * VS_E_NOT_FOUND, VS_E_IO: also where it is damaged or cut off; VS_E_FORMAT: it is too large.
 */
VS_MUST_USE enum vs_status rec_file_bytes_read(const char *path, char **out, size_t *len,
                                               struct vs_error *err);

#endif
