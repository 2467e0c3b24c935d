/*
 * store/memlist.c - see memlist.h.
 *
 * Must not know:  what a line means; memlist_compact.c and memlist_csv.c do.
 */
#include "store/memlist.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "store/memlist_internal.h"
#include "store/snapshot.h"
#include "store/snapshot_html.h"

#define BYTES_MAX (UINT64_C(64) << 30)
#define READ_BYTES ((size_t)1 << 20)
#define LARGE_PAGE ((size_t)2 << 20)

/* The file's bytes, unpacked where it is compressed, and a NUL behind them. */
struct bytes {
    char *at;
    size_t len, cap;
};

/* Large pages, where the system has them for who asks: a snapshot of a gigabyte has a quarter of a million small ones. */
static void pages_enlarge(const struct bytes *b)
{
    uintptr_t at = ((uintptr_t)b->at + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)b->at + b->cap) & ~(uintptr_t)(LARGE_PAGE - 1);

    if (end > at)
        madvise((void *)at, end - at, MADV_HUGEPAGE);
}

/* Room for a block more. What a plain file holds is known; of a packed one nobody knows. */
static enum vs_status bytes_grow(struct bytes *b, size_t hint, const char *path,
                                 struct vs_error *err)
{
    size_t cap = b->cap ? b->cap + b->cap / 2 : hint;

    if (b->len + READ_BYTES + 1 <= b->cap)
        return VS_OK;
    if (cap < b->len + READ_BYTES + 1)
        cap = b->len + READ_BYTES + 1;
    if (cap > BYTES_MAX)
        return vs_fail(err, VS_E_FORMAT, "%s: larger than 64 GiB", path);
    b->at = vs_realloc(b->at, cap, 1);
    b->cap = cap;
    pages_enlarge(b);
    return VS_OK;
}

/* "-": standard input. errno says why where it is NULL; *hint: how much a plain file holds, 0: nobody knows. */
static gzFile file_open(const char *path, size_t *hint)
{
    struct stat about;
    gzFile file;
    int fd;

    errno = 0;
    fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    file = fstat(fd, &about) ? NULL : gzdopen(fd, "rb");
    if (!file) {
        close(fd);
        return NULL;
    }
    gzbuffer(file, 1 << 17);
    *hint = S_ISREG(about.st_mode) && gzdirect(file) ? (size_t)about.st_size + READ_BYTES + 1 : 0;
    return file;
}

static enum vs_status file_read(const char *path, struct bytes *out, struct vs_error *err)
{
    size_t hint = 0;
    gzFile file = file_open(path, &hint);
    enum vs_status st = VS_OK;
    int code = Z_OK;
    int n = 1;

    if (!file)
        return vs_fail(err, errno == ENOENT ? VS_E_NOT_FOUND : VS_E_IO, "%s: %s", path,
                       strerror(errno ? errno : ENOMEM));
    while (!st && n > 0) {
        st = bytes_grow(out, hint, path, err);
        n = st ? 0 : gzread(file, out->at + out->len, (unsigned)READ_BYTES);
        out->len += n > 0 ? (size_t)n : 0;
    }
    (void)gzerror(file, &code);
    if (!st && (n < 0 || code == Z_BUF_ERROR))
        st = vs_fail(err, VS_E_IO, "%s: cannot be read: %s", path,
                     code == Z_BUF_ERROR ? "the compressed file is cut off"
                     : errno             ? strerror(errno)
                                         : "it is damaged");
    gzclose(file);
    if (!st)
        out->at[out->len] = '\0';
    return st;
}

static bool is_compact(const char *text)
{
    return strncmp(text, STO_MEMLIST_TITLE "\n", sizeof(STO_MEMLIST_TITLE)) == 0;
}

enum vs_status sto_memlist_parse(char *text, size_t len, int64_t device, struct vs_memlist *out,
                                 struct vs_error *err)
{
    if (sto_html_is(text, len)) {
        enum vs_status st = sto_html_unpack(text, len, &len, err);

        if (!st && !sto_snapshot_is(text, len))
            st = vs_fail(err, VS_E_FORMAT, "what the page holds is no memory snapshot");
        if (st)
            return st;
    }
    if (sto_snapshot_is(text, len))
        return sto_snapshot_read(text, len, device, out, err);
    if (memchr(text, 0, len))
        return vs_fail(err, VS_E_FORMAT,
                       "this is no list of memory events; docs/fidelity.md says what is");
    if (is_compact(text))
        return sto_memlist_compact(text, out, err);
    return sto_memlist_csv(text, out, err);
}

static enum vs_status whole_check(const struct bytes *bytes, struct vs_error *err)
{
    if (sto_snapshot_is(bytes->at, bytes->len) || is_compact(bytes->at) ||
        sto_html_is(bytes->at, bytes->len))
        return VS_OK;
    return vs_fail(err, VS_E_FORMAT,
                   "this is no memory snapshot of PyTorch (what "
                   "torch.cuda.memory._dump_snapshot writes), nor a page that holds one");
}

static enum vs_status read_from(const char *path, int64_t device, bool is_whole,
                                struct vs_memlist *out, struct vs_error *err)
{
    struct bytes bytes = {NULL, 0, 0};
    enum vs_status st = file_read(path, &bytes, err);

    if (st)
        goto out;
    if (is_whole)
        st = whole_check(&bytes, err);
    if (!st)
        st = sto_memlist_parse(bytes.at, bytes.len, device, out, err);
    if (st)
        vs_error_prefix(err, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
out:
    vs_free(bytes.at);
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

enum vs_status sto_memlist_read_devices(const char *path, struct vs_memlist **out, size_t *count,
                                        struct vs_error *err)
{
    struct bytes bytes = {NULL, 0, 0};
    enum vs_status st = file_read(path, &bytes, err);

    *out = NULL;
    *count = 0;
    if (st)
        goto out;
    st = whole_check(&bytes, err);
    if (!st && sto_html_is(bytes.at, bytes.len))
        st = sto_html_unpack(bytes.at, bytes.len, &bytes.len, err);
    if (!st && sto_snapshot_is(bytes.at, bytes.len)) {
        st = sto_snapshot_read_all(bytes.at, bytes.len, out, count, err);
    } else if (!st) {
        *out = vs_calloc(1, sizeof(**out));
        *count = 1;
        st = sto_memlist_parse(bytes.at, bytes.len, STO_SNAPSHOT_FIRST, *out, err);
    }
    if (st)
        vs_error_prefix(err, "%s", strcmp(path, "-") == 0 ? "standard input" : path);
out:
    vs_free(bytes.at);
    if (st)
        lists_release(out, count);
    return st;
}

enum vs_status sto_memlist_read(const char *path, int64_t device, struct vs_memlist *out,
                                struct vs_error *err)
{
    return read_from(path, device, false, out, err);
}

enum vs_status sto_memlist_read_whole(const char *path, int64_t device, struct vs_memlist *out,
                                      struct vs_error *err)
{
    return read_from(path, device, true, out, err);
}
