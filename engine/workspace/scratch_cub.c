/*
 * engine/workspace/scratch_cub.c - temporary storage of CUB's device-wide algorithms.
 *
 * Must not know:  ops.
 * Invariant:      one block per algorithm: each of its parts is rounded up to 256 bytes, and 255 bytes are added to
 *                 align the first.
 *
 * Tile sizes are those in the tuning tables of the CUB that PyTorch 2.15 is built with, derived from the sizes that its
 * host code requests on compute capability 7.5 to 12.0 with up to 40 million items. 7.0, for which that build has no
 * kernels, uses the tables of 7.5.
 */
#include "engine/workspace/scratch_internal.h"

#define ALIGN UINT64_C(256)
#define DIGITS 256 /* one pass of the radix sort handles 8 bits */
#define DIGIT_BITS 8

static uint64_t part(uint64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t tiles(uint64_t items, uint64_t tile)
{
    return (items + tile - 1) / tile;
}

/* ---- radix sort ---- */

#define ONE_BLOCK_SORTS 2304

/* Items per block, by the size of a key; value_bytes 0: keys only. */
static uint64_t sort_tile(int capability, uint64_t key_bytes, uint64_t value_bytes)
{
    if (capability >= 90)
        return !value_bytes ? 5760 : key_bytes == 4 ? 5376 : 4608;
    if (capability >= 80)
        return key_bytes == 4 ? 3072 : 3840;
    return 2816;
}

static uint64_t sort_bytes(const struct eng *e, uint64_t items, uint64_t bits, uint64_t key_bytes,
                           uint64_t value_bytes)
{
    uint64_t passes = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    uint64_t blocks = tiles(items, sort_tile(e->target->capability, key_bytes, value_bytes));
    uint64_t bins = part(passes * DIGITS * 8), lookback = part(blocks * DIGITS * 4);
    uint64_t bytes = bins + lookback + part(passes * 4) + ALIGN - 1;

    if (items <= ONE_BLOCK_SORTS)
        return 1;
    if (passes > 1) /* keys and values between passes */
        bytes += part(items * key_bytes) + part(items * value_bytes);
    return bytes;
}

static uint64_t bits_of(uint64_t largest)
{
    uint64_t bits = 1;

    while (bits < 63 && largest >> bits)
        bits++;
    return bits;
}

void eng_scratch_sort(struct eng *e, uint64_t items, int64_t largest)
{
    if (e->target && items)
        eng_scratch_once(e, sort_bytes(e, items, bits_of((uint64_t)largest), 8, 8));
}

#define SORTED_ALONE 1000000 /* lines of this length or more are sorted one by one */
#define SORTED_TOGETHER 128  /* fewer lines than this are sorted as one array, then by line */

void eng_scratch_sort_lines(struct eng *e, uint64_t lines, uint64_t length, enum vs_dtype dtype)
{
    uint64_t key = vs_dtype_bytes(dtype), items = lines * length;
    struct eng_storage *scratch[3] = {NULL};

    if (!e->target || !items)
        return;
    if (lines == 1 || length >= SORTED_ALONE) {
        scratch[0] = eng_scratch_new(e, length * 8);
        for (uint64_t i = 0; i < lines && key >= 4; i++)
            eng_scratch_once(e, sort_bytes(e, length, key * 8, key, 8));
    } else if (lines < SORTED_TOGETHER) {
        scratch[0] = eng_scratch_new(e, items * 8);
        scratch[1] = eng_scratch_new(e, items * 8);
        scratch[2] = eng_scratch_new(e, items * key);
        if (key >= 4)
            eng_scratch_once(e, sort_bytes(e, items, key * 8, key, 8));
        eng_storage_unref(scratch[2]);
        scratch[2] = NULL;
        eng_scratch_once(e, sort_bytes(e, items, bits_of(lines), 8, 0));
    } else {
        scratch[0] = eng_scratch_new(e, items * 8);
        eng_scratch_once(e, part(items * key) + part(items * 8) + ALIGN - 1);
    }
    for (int i = 2; i >= 0; i--)
        eng_storage_unref(scratch[i]);
}

/* ---- scans: one word per tile, which includes its status where both fit in one access ---- */

#define PADDING 32 /* extra tiles before the first */

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
    default: /* half types: arrays for status, sums and running sums */
        words = tiles(items, 3840) + PADDING;
        bytes = part(words * 4) + 2 * part(words * 2) + ALIGN;
        break;
    }
    eng_scratch_once(e, bytes + ALIGN - 1);
}

/* ---- nonzero: elements are counted, then selected ---- */

#define ONE_BLOCK_COUNTS 4096
#define COUNTING_THREADS 256
#define BLOCKS_PER_RESIDENT 5

void eng_scratch_nonzero(struct eng *e, uint64_t items)
{
    struct eng_storage *count;
    uint64_t resident_blocks, tile;

    if (!e->target || !items)
        return;
    count = eng_scratch_new(e, 4);
    resident_blocks =
        (uint64_t)e->target->processors * (uint64_t)(e->target->threads / COUNTING_THREADS);
    eng_scratch_once(e, items <= ONE_BLOCK_COUNTS
                            ? 1
                            : part(resident_blocks * BLOCKS_PER_RESIDENT * 4) + ALIGN - 1);
    tile = e->target->capability >= 90 ? 4224 : e->target->capability == 80 ? 2304 : 640;
    eng_scratch_once(e, part((tiles(items, tile) + PADDING) * 8) + ALIGN + ALIGN - 1);
    eng_storage_unref(count);
}
