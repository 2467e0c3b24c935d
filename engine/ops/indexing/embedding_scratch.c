/*
 * engine/ops/indexing/embedding_scratch.c - see embedding_scratch.h.
 *
 * Must not know:  values.
 */
#include "engine/ops/indexing/embedding_scratch.h"

#include "engine/workspace/scratch.h"

void eng_embedding_sort(struct eng *e, int64_t n, int64_t rows, struct eng_tensor **kept)
{
    enum vs_category before = eng_category_default(e, VS_CAT_WORKSPACE);
    struct eng_tensor *range;

    kept[0] = eng_empty(e, &n, 1, VS_I64, false);
    kept[1] = eng_empty(e, &n, 1, VS_I64, false);
    range = eng_empty(e, &n, 1, VS_I64, false);
    eng_scratch_sort(e, (uint64_t)n, rows);
    eng_unref(range);
    eng_category_default(e, before);
}

struct eng_tensor *eng_embedding_frequency(struct eng *e, int64_t n)
{
    enum vs_category before = eng_category_default(e, VS_CAT_WORKSPACE);
    struct eng_tensor *count = eng_empty(e, &n, 1, VS_I64, false);

    eng_scratch_scan(e, (uint64_t)n, VS_I64);
    eng_scratch_scan(e, (uint64_t)n, VS_I64);
    eng_category_default(e, before);
    return count;
}

#define ROWS_PER_PARTIAL_SEGMENT 10
#define MOST_THREADS 1024
#define WARP 32

/*
 * Whether one kernel sums the gradient segment by segment: this is done if it needs few blocks compared with the
 * device's capacity and with the number of partial segments needed otherwise; up to PyTorch 2.8 it never is.
 */
static bool sums_whole_segments(const struct eng *e, int64_t segments, int64_t partials,
                                int64_t width)
{
    int64_t threads = (width + WARP - 1) / WARP * WARP;
    int64_t block = threads < MOST_THREADS ? threads : MOST_THREADS;
    int64_t blocks = (segments * threads + block - 1) / block;

    return eng_torch(e) > 8 && blocks < 4 * eng_scratch_processors(e) && 4 * blocks < partials;
}

void eng_embedding_segments(struct eng *e, int64_t n, int64_t rows, int64_t width,
                            enum vs_dtype dtype)
{
    enum vs_category before = eng_category_default(e, VS_CAT_WORKSPACE);
    enum vs_dtype sum = vs_dtype_bytes(dtype) == 2 ? VS_F32 : dtype;
    int64_t segments = n < rows ? n : rows;
    int64_t partials = n / ROWS_PER_PARTIAL_SEGMENT + segments;
    struct eng_tensor *scratch[8] = {0};
    int count = 0;

    scratch[count++] = eng_empty(e, &n, 1, VS_I64, false);
    scratch[count++] = eng_empty(e, NULL, 0, VS_I64, false);
    eng_scratch_unique(e, (uint64_t)n);
    scratch[count++] = eng_empty(e, &segments, 1, VS_I64, false);
    scratch[count++] = eng_empty(e, &segments, 1, VS_I64, false);
    eng_scratch_scan(e, (uint64_t)segments, VS_I64);
    scratch[count++] = eng_empty(e, NULL, 0, VS_I64, false);
    scratch[count++] = eng_empty(e, &partials, 1, VS_I64, false);
    if (!sums_whole_segments(e, segments, partials, width)) {
        scratch[count++] = eng_empty(e, (int64_t[]){partials, width}, 2, sum, false);
    } else {
        scratch[count++] = eng_empty(e, &partials, 1, VS_I64, false);
        if (sum != dtype) /* half types are summed in float, a row a segment */
            scratch[count++] = eng_empty(e, (int64_t[]){segments, width}, 2, sum, false);
    }
    while (count > 0)
        eng_unref(scratch[--count]);
    eng_category_default(e, before);
}
