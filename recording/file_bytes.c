/*
 * recording/file_bytes.c - see file_bytes.h.
 *
 * A gzip file is decompressed in one call of libdeflate if the program was built with it and the size at the end of the
 * file is plausible: this takes a quarter of zlib's time. All other files are decompressed by zlib, which also reports
 * errors in detail.
 */
#include "recording/file_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#ifdef VS_DEFLATE
#include <libdeflate.h>
#endif

#include "base/mem.h"

#define BYTES_MAX (UINT64_C(64) << 30)
#define READ_BYTES ((size_t)1 << 20)
#define LARGE_PAGE ((size_t)2 << 20)

struct bytes {
    char *at;
    size_t len, cap;
};

/* Ask for huge pages: a snapshot of 1 GB has a quarter of a million small pages. */
static void pages_enlarge(const struct bytes *b)
{
    uintptr_t at = ((uintptr_t)b->at + LARGE_PAGE - 1) & ~(uintptr_t)(LARGE_PAGE - 1);
    uintptr_t end = ((uintptr_t)b->at + b->cap) & ~(uintptr_t)(LARGE_PAGE - 1);

    if (end > at)
        madvise((void *)at, end - at, MADV_HUGEPAGE);
}

/* Grow by half, so that at least one byte and the NUL fit. */
static enum vs_status bytes_grow(struct bytes *b, struct vs_error *err)
{
    size_t cap = b->cap + b->cap / 2;

    if (b->len + 2 <= b->cap)
        return VS_OK;
    if (cap < b->len + READ_BYTES)
        cap = b->len + READ_BYTES;
    if (cap > BYTES_MAX)
        return vs_fail(err, VS_E_FORMAT, "larger than 64 GiB");
    b->at = vs_realloc(b->at, cap, 1);
    b->cap = cap;
    pages_enlarge(b);
    return VS_OK;
}

/* Allocate exactly `count` bytes, if the size is known. */
static void bytes_reserve(struct bytes *b, uint64_t count)
{
    if (count > BYTES_MAX - 2)
        return;
    b->cap = (size_t)count + 2;
    b->at = vs_alloc(b->cap);
    pages_enlarge(b);
}

/* ---- reading ---- */

static enum vs_status raw_read(int fd, struct bytes *out, struct vs_error *err)
{
    struct stat about;
    enum vs_status st = VS_OK;
    ssize_t n = 1;

    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0)
        bytes_reserve(out, (uint64_t)about.st_size);
    while (!st && n > 0) {
        st = bytes_grow(out, err);
        if (st)
            break;
        do {
            n = read(fd, out->at + out->len, out->cap - out->len - 1);
        } while (n < 0 && errno == EINTR);
        out->len += n > 0 ? (size_t)n : 0;
        if (n < 0)
            st = vs_fail(err, VS_E_IO, "cannot be read: %s", strerror(errno));
    }
    return st;
}

/* ---- decompression ---- */

static bool is_gzip(const unsigned char *b, size_t len)
{
    return len >= 2 && b[0] == 0x1f && b[1] == 0x8b;
}

/* Decompress in one call. False: several gzip members, damaged data, or built without libdeflate. */
static bool unpack_whole(const struct bytes *packed, struct bytes *out)
{
#ifdef VS_DEFLATE
    const unsigned char *end = (const unsigned char *)packed->at + packed->len;
    const uint64_t most = packed->len * UINT64_C(1032); /* maximum ratio of deflate */
    struct libdeflate_decompressor *unpacker;
    enum libdeflate_result result;
    size_t taken = 0;
    uint64_t size;

    if (packed->len < 18)
        return false;
    size = (uint64_t)end[-4] | (uint64_t)end[-3] << 8 | (uint64_t)end[-2] << 16 |
           (uint64_t)end[-1] << 24;
    unpacker = size > most ? NULL : libdeflate_alloc_decompressor();
    if (!unpacker)
        return false;
    bytes_reserve(out, size);
    result = libdeflate_gzip_decompress_ex(unpacker, packed->at, packed->len, out->at, size, &taken,
                                           &out->len);
    libdeflate_free_decompressor(unpacker);
    if (result == LIBDEFLATE_SUCCESS && taken == packed->len)
        return true;
    vs_free(out->at);
    *out = (struct bytes){NULL, 0, 0};
#else
    (void)packed;
    (void)out;
#endif
    return false;
}

/* Decompress the gzip members one after the other; bytes after the last are ignored. */
static enum vs_status unpack_pieces(const struct bytes *packed, struct bytes *out,
                                    struct vs_error *err)
{
    const unsigned char *end = (const unsigned char *)packed->at + packed->len;
    z_stream z = {.next_in = (Bytef *)packed->at};
    enum vs_status st = VS_OK;
    int code = inflateInit2(&z, 15 + 16);

    while (!st && code == Z_OK) {
        size_t left = (size_t)(end - z.next_in);
        size_t available;

        st = bytes_grow(out, err);
        if (st)
            break;
        available = out->cap - out->len - 1;
        z.avail_in = left > READ_BYTES ? (unsigned)READ_BYTES : (unsigned)left;
        z.avail_out = available > READ_BYTES ? (unsigned)READ_BYTES : (unsigned)available;
        z.next_out = (Bytef *)out->at + out->len;
        code = inflate(&z, Z_NO_FLUSH);
        out->len = (size_t)((char *)z.next_out - out->at);
        if (code == Z_STREAM_END && is_gzip(z.next_in, (size_t)(end - z.next_in)))
            code = inflateReset(&z);
    }
    inflateEnd(&z);
    if (!st && code != Z_STREAM_END)
        st = vs_fail(err, VS_E_IO, "cannot be read: %s",
                     code == Z_BUF_ERROR ? "the compressed file is cut off" : "it is damaged");
    return st;
}

static enum vs_status bytes_read(int fd, struct bytes *out, struct vs_error *err)
{
    enum vs_status st = raw_read(fd, out, err);
    struct bytes packed = *out;

    if (st || !is_gzip((const unsigned char *)out->at, out->len))
        return st;
    *out = (struct bytes){NULL, 0, 0};
    st = unpack_whole(&packed, out) ? VS_OK : unpack_pieces(&packed, out, err);
    vs_free(packed.at);
    return st;
}

enum vs_status rec_file_bytes_read(const char *path, char **out, size_t *len, struct vs_error *err)
{
    struct bytes b = {NULL, 0, 0};
    enum vs_status st;
    int fd;

    *out = NULL;
    *len = 0;
    fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return vs_fail(err, errno == ENOENT ? VS_E_NOT_FOUND : VS_E_IO, "%s: %s", path,
                       strerror(errno));
    st = bytes_read(fd, &b, err);
    close(fd);
    if (st) {
        vs_error_prefix(err, "%s", path);
        vs_free(b.at);
        return st;
    }
    b.at[b.len] = '\0';
    *out = b.at;
    *len = b.len;
    return VS_OK;
}
