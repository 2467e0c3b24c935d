/*
 * tests/gpu/gpu_move.c - see gpu_move.h.
 *
 * Each contiguous range of host bytes that operands touch becomes a separate segment with a known pattern at both ends,
 * so a kernel that writes past a view is detected here. A kernel that reads past it is detected by compute-sanitizer.
 */
#include "tests/gpu/gpu_move.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define FRINGE 256
#define PATTERN 0x5a

/* Bytes [from, to) of the host, and where they are on the device. */
struct piece {
    char *from;
    char *to;
    uint64_t address; /* of the segment, whose first FRINGE bytes are pattern */
};

static struct {
    struct piece pieces[GPU_MOVE_MOST];
    int count;
} moved;

static bool is_empty(const struct eng_view *v)
{
    bool empty = !v || !v->data;

    for (int d = 0; !empty && d < v->ndim; d++)
        empty = v->sizes[d] == 0;
    return empty;
}

static struct piece piece_of(const struct eng_view *v)
{
    struct piece p = {.from = v->data};
    int64_t last = 0;

    for (int d = 0; d < v->ndim; d++)
        last += (v->sizes[d] - 1) * v->strides[d];
    p.to = p.from + (uint64_t)(last + 1) * vs_dtype_bytes(v->dtype);
    return p;
}

/* Adds it, or widens one that it touches; what has become one of two is joined. */
static void piece_add(struct piece p)
{
    for (int i = 0; i < moved.count; i++) {
        struct piece *q = &moved.pieces[i];

        if (p.from >= q->to || q->from >= p.to)
            continue;
        p.from = p.from < q->from ? p.from : q->from;
        p.to = p.to > q->to ? p.to : q->to;
        *q = moved.pieces[--moved.count];
        i = -1;
    }
    moved.pieces[moved.count++] = p;
}

static uint64_t bytes_of(const struct piece *p)
{
    return (uint64_t)(p->to - p->from) + 2 * (uint64_t)FRINGE;
}

static void copy(const struct eng_device *device, void *from, void *to, uint64_t bytes)
{
    struct eng_view src = {
        .data = from, .dtype = VS_U8, .ndim = 1, .sizes = {(int64_t)bytes}, .strides = {1}};
    struct eng_view dst = src;

    dst.data = to;
    device->kernels->copy(&src, &dst);
}

static void send(const struct eng_device *device, struct piece *p)
{
    uint64_t bytes = bytes_of(p);
    char *image = vs_alloc(bytes);

    if (!device->driver.segment_alloc(device->driver.user, bytes, &p->address))
        fail_msg("the device has no %llu bytes", (unsigned long long)bytes);
    memset(image, PATTERN, bytes);
    memcpy(image + FRINGE, p->from, bytes - 2 * (uint64_t)FRINGE);
    copy(device, image, (void *)(uintptr_t)p->address, bytes);
    vs_free(image);
}

static void fetch(const struct eng_device *device, const struct piece *p)
{
    uint64_t bytes = bytes_of(p);
    char *image = vs_alloc(bytes);

    copy(device, (void *)(uintptr_t)p->address, image, bytes);
    for (uint64_t i = 0; i < FRINGE; i++) {
        if (image[i] != PATTERN || image[bytes - 1 - i] != PATTERN)
            fail_msg("a kernel wrote %s of an operand",
                     image[i] != PATTERN ? "before the start" : "past the end");
    }
    memcpy(p->from, image + FRINGE, bytes - 2 * (uint64_t)FRINGE);
    vs_free(image);
    device->driver.segment_free(device->driver.user, p->address, bytes);
}

void gpu_move_in(const struct eng_device *device, const struct eng_view *const *in, int count,
                 struct eng_view *at)
{
    moved.count = 0;
    for (int i = 0; i < count; i++)
        if (!is_empty(in[i]))
            piece_add(piece_of(in[i]));
    for (int k = 0; k < moved.count; k++)
        send(device, &moved.pieces[k]);
    for (int i = 0; i < count; i++) {
        if (!in[i])
            continue;
        at[i] = *in[i];
        for (int k = 0; k < moved.count && !is_empty(in[i]); k++) {
            const struct piece *p = &moved.pieces[k];
            char *data = in[i]->data;

            if (data >= p->from && data < p->to)
                at[i].data = (char *)(uintptr_t)p->address + FRINGE + (data - p->from);
        }
    }
}

void gpu_move_out(const struct eng_device *device)
{
    struct vs_error err = VS_ERROR_INIT;

    if (device->wait(&err))
        fail_msg("%s", err.text);
    for (int k = 0; k < moved.count; k++)
        fetch(device, &moved.pieces[k]);
    moved.count = 0;
}
