/*
 * recording/memlist.c - see memlist.h.
 *
 * Must not know:  the line formats: see memlist_compact.c and memlist_csv.c.
 */
#include "recording/memlist.h"

#include <string.h>

#include "base/mem.h"
#include "recording/file_bytes.h"
#include "recording/memlist_internal.h"
#include "recording/snapshot.h"
#include "recording/snapshot_html.h"

static bool is_compact(const char *text)
{
    return strncmp(text, REC_MEMLIST_TITLE "\n", sizeof(REC_MEMLIST_TITLE)) == 0;
}

enum vs_status rec_memlist_parse(char *text, size_t len, int64_t device, struct vs_memlist *out,
                                 struct vs_error *err)
{
    if (rec_html_is(text, len)) {
        enum vs_status st = rec_html_unpack(text, len, &len, err);

        if (!st && !rec_snapshot_is(text, len))
            st = vs_fail(err, VS_E_FORMAT, "the page contains no memory snapshot");
        if (st)
            return st;
    }
    if (rec_snapshot_is(text, len))
        return rec_snapshot_read(text, len, device, out, err);
    if (memchr(text, 0, len))
        return vs_fail(
            err, VS_E_FORMAT,
            "this is not a list of memory events; docs/internals/fidelity.md describes one");
    if (is_compact(text))
        return rec_memlist_compact(text, out, err);
    return rec_memlist_csv(text, out, err);
}

static enum vs_status whole_check(const char *bytes, size_t len, struct vs_error *err)
{
    if (rec_snapshot_is(bytes, len) || is_compact(bytes) || rec_html_is(bytes, len))
        return VS_OK;
    return vs_fail(err, VS_E_FORMAT,
                   "this is neither a memory snapshot of PyTorch (written by "
                   "torch.cuda.memory._dump_snapshot) nor a page that contains one");
}

static enum vs_status read_from(const char *path, int64_t device, bool is_whole,
                                struct vs_memlist *out, struct vs_error *err)
{
    char *bytes;
    size_t len;
    enum vs_status st = rec_file_bytes_read(path, &bytes, &len, err);

    if (st)
        goto out;
    if (is_whole)
        st = whole_check(bytes, len, err);
    if (!st)
        st = rec_memlist_parse(bytes, len, device, out, err);
    if (st)
        vs_error_prefix(err, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
out:
    vs_free(bytes);
    return st;
}

static void lists_release(struct vs_memlist **lists, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        vs_memlist_release(&(*lists)[i]);
    vs_free(*lists);
    *lists = NULL;
    *count = 0;
}

enum vs_status rec_memlist_read_devices(const char *path, struct vs_memlist **out, size_t *count,
                                        struct vs_error *err)
{
    char *bytes;
    size_t len;
    enum vs_status st = rec_file_bytes_read(path, &bytes, &len, err);

    *out = NULL;
    *count = 0;
    if (st)
        goto out;
    st = whole_check(bytes, len, err);
    if (!st && rec_html_is(bytes, len))
        st = rec_html_unpack(bytes, len, &len, err);
    if (!st && rec_snapshot_is(bytes, len)) {
        st = rec_snapshot_read_all(bytes, len, out, count, err);
    } else if (!st) {
        *out = vs_calloc(1, sizeof(**out));
        *count = 1;
        st = rec_memlist_parse(bytes, len, REC_SNAPSHOT_FIRST, *out, err);
    }
    if (st)
        vs_error_prefix(err, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
out:
    vs_free(bytes);
    if (st)
        lists_release(out, count);
    return st;
}

enum vs_status rec_memlist_read(const char *path, int64_t device, struct vs_memlist *out,
                                struct vs_error *err)
{
    return read_from(path, device, false, out, err);
}

enum vs_status rec_memlist_read_whole(const char *path, int64_t device, struct vs_memlist *out,
                                      struct vs_error *err)
{
    return read_from(path, device, true, out, err);
}
