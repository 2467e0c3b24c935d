/*
 * export/gzip.c - see gzip.h.
 *
 * Must not know:  what is written.
 * Invariant:      all output of zlib is written, also if it fills the buffer several times.
 */
#include "export/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/error.h"
#include "base/mem.h"

/* 15 bits of window, and 16: a gzip header, not zlib's own. */
#define WINDOW_BITS (15 + 16)
#define MEMORY_LEVEL 8
#define PART_BYTES 65536

struct gzip {
    FILE *to;
    z_stream z;
    unsigned char part[PART_BYTES];
};

/* Compress the pending input. False: the output cannot be written; errno says why. */
static bool deflate_all(struct gzip *gzip, int flush)
{
    int status;

    do {
        size_t made;

        gzip->z.next_out = gzip->part;
        gzip->z.avail_out = PART_BYTES;
        status = deflate(&gzip->z, flush);
        VS_ASSERT(status != Z_STREAM_ERROR);
        made = PART_BYTES - gzip->z.avail_out;
        errno = 0;
        if (fwrite(gzip->part, 1, made, gzip->to) != made) {
            errno = errno ? errno : EIO;
            return false;
        }
    } while (gzip->z.avail_out == 0 || (flush == Z_FINISH && status != Z_STREAM_END));
    return true;
}

/* For fopencookie: returning 0 is a failure. */
static ssize_t on_write(void *user, const char *bytes, size_t len)
{
    struct gzip *gzip = user;
    size_t part = len < INT_MAX ? len : INT_MAX;

    gzip->z.next_in = (const unsigned char *)bytes;
    gzip->z.avail_in = (unsigned)part;
    return deflate_all(gzip, Z_NO_FLUSH) ? (ssize_t)part : 0;
}

static int on_close(void *user)
{
    struct gzip *gzip = user;
    bool ok;

    gzip->z.avail_in = 0;
    ok = deflate_all(gzip, Z_FINISH) && fflush(gzip->to) == 0;
    deflateEnd(&gzip->z);
    vs_free(gzip);
    return ok ? 0 : -1;
}

FILE *exp_gzip_open(FILE *to)
{
    static const cookie_io_functions_t CALLS = {.write = on_write, .close = on_close};
    struct gzip *gzip = vs_calloc(1, sizeof(*gzip));
    FILE *file = NULL;

    gzip->to = to;
    if (deflateInit2(&gzip->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        file = fopencookie(gzip, "w", CALLS);
    else
        errno = ENOMEM;
    if (!file) {
        deflateEnd(&gzip->z);
        vs_free(gzip);
    }
    return file;
}
