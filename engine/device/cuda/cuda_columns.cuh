/*
 * engine/device/cuda/cuda_columns.cuh - sums over the rows of a matrix, one pair for each column: gradients of biases
 * and of the weights of normalisations.
 *
 * For:            kernels_norm.cu, kernels_batch_norm.cu, kernels_reduce.cu.
 * Must not know:  what is summed.
 * Invariant:      which rows form a piece depends on sizes alone, so the result has the same bits every time.
 *
 * Neighbouring threads have neighbouring columns: a thread sums one column of one piece of rows, so that the reads of
 * a warp are contiguous. The sums of the pieces (at most COLUMN_BYTES) are stored in the device's own buffer
 * (cuda_stage), and a warp adds those of one column.
 */
#ifndef ENG_DEVICE_CUDA_COLUMNS_CUH
#define ENG_DEVICE_CUDA_COLUMNS_CUH

#include "engine/device/cuda/cuda_views.cuh"

enum { COLUMN_ROWS = 8 };          /* rows of a piece, at least */
enum { COLUMN_THREADS = 1 << 18 }; /* the GPU cannot run more at the same time */
enum { COLUMN_BYTES = 2 << 20 };

template <class T> struct cuda_pair {
    T a, b;
};

template <class T> VS_GPU static inline cuda_pair<T> cuda_add_pairs(cuda_pair<T> x, cuda_pair<T> y)
{
    x.a += y.a;
    x.b += y.b;
    return x;
}

/*
 * Joins pairs of the largest element so far and the sum of exp(element - largest). NaN is the largest.
 */
template <class T> VS_GPU static inline cuda_pair<T> cuda_join_exp(cuda_pair<T> x, cuda_pair<T> y)
{
    bool swap = x.a == x.a && (y.a > x.a || y.a != y.a);
    cuda_pair<T> most = swap ? y : x;
    cuda_pair<T> less = swap ? x : y;

    most.b += less.a == most.a ? less.b : less.b * exp(less.a - most.a);
    return most;
}

static inline int64_t cuda_column_rows(int64_t rows, int64_t cols, int64_t bytes)
{
    int64_t pieces = (rows + COLUMN_ROWS - 1) / COLUMN_ROWS;
    int64_t most = COLUMN_THREADS / cols;

    if (most > COLUMN_BYTES / (cols * bytes))
        most = COLUMN_BYTES / (cols * bytes);
    pieces = pieces < most ? pieces : most;
    pieces = pieces < 1 ? 1 : pieces;
    return (rows + pieces - 1) / pieces;
}

/* f(row, col) returns a pair of T; done(col, pair of double) is called with their sums. */
template <class T, class F, class D>
static void cuda_column_sums(int64_t rows, int64_t cols, F f, D done)
{
    int64_t size = cuda_column_rows(rows, cols, (int64_t)sizeof(cuda_pair<T>));
    int64_t pieces = rows > 0 ? (rows + size - 1) / size : 0;
    cuda_pair<T> *parts =
        (cuda_pair<T> *)cuda_stage((uint64_t)(pieces * cols) * sizeof(cuda_pair<T>));

    cuda_each(
        pieces * cols, VS_BODY(int64_t i) {
            int64_t col = i % cols;
            int64_t begin = i / cols * size;
            int64_t end = begin + size < rows ? begin + size : rows;
            cuda_pair<T> sum = {0, 0};

            for (int64_t r = begin; r < end; r++)
                sum = cuda_add_pairs(sum, f(r, col));
            parts[i] = sum;
        });
    cuda_teams<WARP>(
        cols, VS_BODY(int64_t col, cuda_warp & team) {
            cuda_pair<double> none = {0, 0};
            cuda_pair<double> sum = team.fold(
                pieces, none,
                [&](int64_t i) {
                    cuda_pair<T> p = parts[i * cols + col];
                    cuda_pair<double> wide = {(double)p.a, (double)p.b};

                    return wide;
                },
                [](cuda_pair<double> x, cuda_pair<double> y) { return cuda_add_pairs(x, y); });

            team.each(1, [&](int64_t) { done(col, sum); });
        });
}

#endif
