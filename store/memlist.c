/*
 * store/memlist.c - see memlist.h.
 *
 * Must not know:  what a line means; memlist_compact.c and memlist_csv.c do.
 */
#include "store/memlist.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "store/memlist_internal.h"

/* More than any recording that is sensibly kept as text. */
#define LIST_BYTES_MAX ((size_t)2 << 30)
#define READ_BYTES 65536

/* The file's bytes, unpacked where it is compressed. */
static enum vs_status file_read(const char *path, struct vs_text *out, struct vs_error *err)
{
    char *buffer;
    gzFile file;
    enum vs_status st = VS_OK;
    int n;

    errno = 0;
    file = gzopen(path, "rb");
    if (!file)
        return vs_fail(err, errno == ENOENT ? VS_E_NOT_FOUND : VS_E_IO, "%s: %s", path,
                       strerror(errno ? errno : ENOMEM));
    buffer = vs_alloc(READ_BYTES);
    while ((n = gzread(file, buffer, READ_BYTES)) > 0 && !st) {
        if (out->len + (size_t)n > LIST_BYTES_MAX)
            st = vs_fail(err, VS_E_FORMAT, "%s: larger than 2 GiB", path);
        else
            vs_text_add_n(out, buffer, (size_t)n);
    }
    if (!st && n < 0)
        st = vs_fail(err, VS_E_IO, "%s: cannot be read: %s", path,
                     errno ? strerror(errno) : "it is damaged");
    gzclose(file);
    vs_free(buffer);
    return st;
}

static enum vs_status text_parse(char *text, size_t len, struct vs_memlist *out,
                                 struct vs_error *err)
{
    if (memchr(text, 0, len))
        return vs_fail(err, VS_E_FORMAT,
                       "this is no list of memory events; docs/fidelity.md says what is");
    if (strncmp(text, STO_MEMLIST_TITLE "\n", sizeof(STO_MEMLIST_TITLE)) == 0)
        return sto_memlist_compact(text, out, err);
    return sto_memlist_csv(text, out, err);
}

enum vs_status sto_memlist_read(const char *path, struct vs_memlist *out, struct vs_error *err)
{
    struct vs_text bytes = {NULL, 0, 0};
    enum vs_status st = file_read(path, &bytes, err);
    size_t len = bytes.len;
    char *text = NULL;

    if (!st) {
        text = vs_text_take(&bytes);
        st = text_parse(text, len, out, err);
        if (st)
            vs_error_prefix(err, "%s", path);
    }
    vs_text_release(&bytes);
    vs_free(text);
    return st;
}
