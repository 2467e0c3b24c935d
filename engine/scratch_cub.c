/*
 * engine/scratch_cub.c - temporary storage of CUB's device-wide algorithms.
 *
 * Must not know:  ops.
 * Invariant:      one block an algorithm: its parts are rounded up to 256 bytes each, and 255 bytes are added to align the first.
 *
 * Tile sizes are those of the tuning tables of the CUB that PyTorch 2.15 is built with, read off the sizes that its host code asks for on
 * compute capability 7.5 to 12.0 with up to 40 million items; 7.0, for which that build has no kernels, has the tables of 7.5.
 */
#include "engine/scratch_internal.h"

#define ALIGN UINT64_C(256)
#define DIGITS 256 /* a pass of the radix sort takes 8 bits */
#define DIGIT_BITS 8

static uint64_t part(uint64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t tiles(uint64_t items, uint64_t tile)
{
    return (items + tile - 1) / tile;
}

/* ---- radix sort of int64 keys with int64 values ---- */

#define ONE_BLOCK_SORTS 2304

static uint64_t sort_tile(int capability)
{
    return capability >= 90 ? 4608 : capability >= 80 ? 3840 : 2816;
}

void eng_scratch_sort(struct eng *e, uint64_t items, int64_t largest)
{
    uint64_t bits = 1, passes, bytes;

    if (!e->target || !items)
        return;
    if (items <= ONE_BLOCK_SORTS) {
        eng_scratch_once(e, 1);
        return;
    }
    while (bits < 63 && largest >> bits)
        bits++;
    passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    bytes = part(passes * DIGITS * 8) +                                         /* bins */
            part(tiles(items, sort_tile(e->target->capability)) * DIGITS * 4) + /* look-back */
            part(passes * 4);                                                   /* counters */
    if (passes > 1)
        bytes += 2 * part(items * 8); /* keys and values between passes */
    eng_scratch_once(e, bytes + ALIGN - 1);
}

/* ---- scans: a word a tile, its status with it where both fit one access ---- */

#define PADDING 32 /* tiles before the first */

void eng_scratch_unique(struct eng *e, uint64_t items)
{
    struct eng_storage *keys;
    uint64_t tile;

    if (!e->target || !items)
        return;
    switch (e->target->capability) {
    case 80:
        tile = 1344;
        break;
    case 70:
    case 75:
    case 86:
    case 89:
        tile = 320;
        break;
    default:
        tile = 4928;
        break;
    }
    keys = eng_scratch_new(e, items * 8);
    eng_scratch_once(e, part((tiles(items, tile) + PADDING) * 16) + ALIGN + ALIGN - 1);
    eng_storage_unref(keys);
}

void eng_scratch_scan(struct eng *e, uint64_t items, enum vs_dtype dtype)
{
    uint64_t bytes, words;

    if (!e->target || !items)
        return;
    switch (vs_dtype_bytes(dtype)) {
    case 8:
        bytes = part((tiles(items, 896) + PADDING) * 16) + ALIGN;
        break;
    case 4:
        bytes = part((tiles(items, 1920) + PADDING) * 8) + ALIGN;
        break;
    default: /* half types: status, sums and sums so far apart */
        words = tiles(items, 3840) + PADDING;
        bytes = part(words * 4) + 2 * part(words * 2) + ALIGN;
        break;
    }
    eng_scratch_once(e, bytes + ALIGN - 1);
}
