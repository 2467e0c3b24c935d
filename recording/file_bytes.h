/*
 * recording/file_bytes.h - reads a whole file into memory, decompressing gzip.
 *
 * For:            recording/memlist.c.
 * Must not know:  the contents.
 * Invariant:      a file is read completely or refused. Files are untrusted.
 */
#ifndef REC_FILE_BYTES_H
#define REC_FILE_BYTES_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"

/*
 * Read the file at `path`; "-" is standard input. *out is owned by the caller (vs_free), NULL on failure; (*out)[*len]
 * is a NUL. While a gzip file is decompressed, its compressed bytes are in memory too. At most 64 GiB.
 *
 * VS_E_NOT_FOUND. VS_E_IO: it cannot be read, or the gzip data are damaged or truncated. VS_E_FORMAT: it is too large.
 */
VS_MUST_USE enum vs_status rec_file_bytes_read(const char *path, char **out, size_t *len,
                                               struct vs_error *err);

#endif
