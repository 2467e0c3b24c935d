/*
 * replay/index/scratch.c - see scratch.h.
 *
 * Must not know:  what is in the memory.
 * Invariant:      the whole length of a mapping is allocated on the disk: writing to it cannot fail.
 */
#include "replay/index/scratch.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

/* Files grow to twice their length, and by at most this much. A small one shows whether the folder can have files. */
#define GROW_BYTES_MAX ((size_t)64 << 20)
#define FIRST_BYTES ((size_t)1 << 16)
/* Pieces that never move are cut from mappings of this length. */
#define PIECES_BYTES ((size_t)4 << 20)

/* fd -1: anonymous memory, because the disk is full, or there is no folder. */
struct area {
    int fd;
    void *bytes;
    size_t len;
};

/*
 * areas         one for each vector, and those of the pieces
 * pieces, left  the end of the last area of pieces
 */
struct rpl_scratch {
    char *folder;
    struct area *areas;
    size_t area_count;
    size_t area_cap;
    char *pieces;
    size_t left;
};

/* A file of the folder without a name; -1: there can be none. */
static int file_open(const char *folder)
{
    struct vs_text name = {NULL, 0, 0};
    int fd;

    if (!folder)
        return -1;
    fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    /* not every file system has files without a name */
    vs_text_addf(&name, "%s/.vramscope-XXXXXX", folder);
    fd = mkostemp(name.data, O_CLOEXEC);
    if (fd >= 0)
        unlink(name.data);
    vs_text_release(&name);
    return fd;
}

/* Map `len` bytes of the file. NULL: the disk is full, or the file system cannot do it. */
static void *file_map(int fd, void *old, size_t old_len, size_t len)
{
    void *bytes;

    if (fd < 0 || fallocate(fd, 0, (off_t)old_len, (off_t)(len - old_len)) != 0)
        return NULL;
    bytes = old ? mremap(old, old_len, len, MREMAP_MAYMOVE)
                : mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return bytes == MAP_FAILED ? NULL : bytes;
}

/* Extend an area to `len` bytes: in its file, or else in ordinary memory from now on. */
static void area_grow(struct area *area, size_t len)
{
    void *bytes = file_map(area->fd, area->bytes, area->len, len);

    if (!bytes) {
        bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (bytes == MAP_FAILED)
            vs_die("out of memory");
        if (area->bytes) {
            memcpy(bytes, area->bytes, area->len);
            munmap(area->bytes, area->len);
        }
        if (area->fd >= 0)
            close(area->fd);
        area->fd = -1;
    }
    area->bytes = bytes;
    area->len = len;
}

static struct area *area_add(struct rpl_scratch *scratch, size_t len)
{
    struct area *area;

    scratch->areas =
        vs_grow(scratch->areas, scratch->area_count, &scratch->area_cap, sizeof(*scratch->areas));
    area = &scratch->areas[scratch->area_count++];
    *area = (struct area){.fd = file_open(scratch->folder)};
    area_grow(area, len);
    return area;
}

struct rpl_scratch *rpl_scratch_new(const char *beside)
{
    struct rpl_scratch *scratch = vs_calloc(1, sizeof(*scratch));
    const char *slash;

    if (!beside)
        return scratch;
    slash = strrchr(beside, '/');
    scratch->folder =
        slash ? vs_strndup(beside, slash == beside ? 1 : (size_t)(slash - beside)) : vs_strdup(".");
    if (area_add(scratch, FIRST_BYTES)->fd < 0) {
        rpl_scratch_free(scratch);
        return NULL;
    }
    scratch->pieces = scratch->areas[0].bytes;
    scratch->left = FIRST_BYTES;
    return scratch;
}

void rpl_scratch_free(struct rpl_scratch *scratch)
{
    if (!scratch)
        return;
    for (size_t i = 0; i < scratch->area_count; i++) {
        munmap(scratch->areas[i].bytes, scratch->areas[i].len);
        if (scratch->areas[i].fd >= 0)
            close(scratch->areas[i].fd);
    }
    vs_free(scratch->areas);
    vs_free(scratch->folder);
    vs_free(scratch);
}

/* The area of a vector; NULL for NULL. */
static struct area *area_of(struct rpl_scratch *scratch, const void *vec)
{
    size_t i = 0;

    if (!vec)
        return NULL;
    while (i < scratch->area_count && scratch->areas[i].bytes != vec)
        i++;
    VS_ASSERT(i < scratch->area_count);
    return &scratch->areas[i];
}

void *rpl_scratch_reserve(struct rpl_scratch *scratch, void *vec, size_t wanted, size_t *cap,
                          size_t elem_size)
{
    struct area *area;
    size_t len;

    if (!scratch)
        return vs_reserve(vec, wanted, cap, elem_size);
    if (wanted <= *cap)
        return vec;
    VS_ASSERT(wanted <= SIZE_MAX / 2 / elem_size);
    area = area_of(scratch, vec);
    len =
        area ? area->len + (area->len < GROW_BYTES_MAX ? area->len : GROW_BYTES_MAX) : FIRST_BYTES;
    if (len < wanted * elem_size)
        len = (wanted * elem_size + FIRST_BYTES - 1) / FIRST_BYTES * FIRST_BYTES;
    if (area)
        area_grow(area, len);
    else
        area = area_add(scratch, len);
    *cap = area->len / elem_size;
    return area->bytes;
}

void *rpl_scratch_keep(struct rpl_scratch *scratch, void *bytes, size_t len)
{
    void *kept;

    if (!scratch)
        return vs_realloc(bytes, len, 1);
    if (len > scratch->left) {
        scratch->left = len > PIECES_BYTES ? len : PIECES_BYTES;
        scratch->pieces = area_add(scratch, scratch->left)->bytes;
    }
    kept = scratch->pieces;
    memcpy(kept, bytes, len);
    scratch->pieces += len;
    scratch->left -= len;
    vs_free(bytes);
    return kept;
}

void rpl_scratch_clear(struct rpl_scratch *scratch, void *vec)
{
    const struct area *area = area_of(scratch, vec);

    VS_ASSERT(area && area->fd < 0);
    madvise(area->bytes, area->len, MADV_DONTNEED);
}

void rpl_scratch_drop(struct rpl_scratch *scratch)
{
    for (size_t i = 0; scratch && i < scratch->area_count; i++)
        if (scratch->areas[i].fd >= 0)
            madvise(scratch->areas[i].bytes, scratch->areas[i].len, MADV_DONTNEED);
}
