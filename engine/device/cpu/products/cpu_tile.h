/*
 * engine/device/cpu/products/cpu_tile.h - products of small blocks of floats, and the transforms of Winograd's
 * convolution.
 *
 * For:            cpu_conv_*.c.
 * Must not know:  views, threads.
 * Invariant:      the caller has packed the operands; additions are in the order of the operands.
 *
 * Winograd F(2x2, 3x3) (Lavin and Gray, 2015): y = A'[(G w G') . (B' x B)]A for a tile of 4x4 inputs x and 2x2
 * outputs
 * y, with 16 products instead of 36. For the gradient of the weights: gw = G'[(A gy A') . (B' x B)]G. With
 *
 *     B' = 1  0 -1  0    G =  1    0    0     A' = 1  1  1  0
 *          0  1  1  0        1/2  1/2  1/2         0  1 -1 -1
 *          0 -1  1  0        1/2 -1/2  1/2
 *          0  1  0 -1         0    0    1
 *
 * A "position" is one of the 16 elements of a transformed tile, row-major.
 */
#ifndef ENG_DEVICE_CPU_TILE_H
#define ENG_DEVICE_CPU_TILE_H

#include <stdbool.h>
#include <stdint.h>

#define CPU_TILE_MAX_MR 12
#define CPU_TILE_MAX_NR 32
#define CPU_TILE_MAX_LANES 16

struct cpu_tile {
    const char *isa;
    int64_t mr;    /* rows of a block */
    int64_t nr;    /* columns: two vectors */
    int64_t lanes; /* floats in a vector */

    /*
     * c[rows][nr] = or += a b. a: k groups of mr, b: k groups of nr; rows of c are ldc apart. Up to mr rows are read
     * and written, so a and c must have memory for mr rows.
     */
    void (*gemm)(int64_t rows, int64_t k, const float *a, const float *b, float *c, int64_t ldc,
                 bool add);

    /*
     * y[i] = bias + sum over t < taps of w[t] * x[t][i], i < n. Reads up to lanes-1 numbers beyond the end of each x.
     */
    void (*taps)(int64_t n, int64_t taps, const float *const *x, const float *w, float bias,
                 float *y);
    /*
     * acc[t*lanes + l] += sum of g[i] * x[t][i] over all i < n with i % lanes == l. Reads beyond the end of x as
     * `taps` does; what is there must be finite.
     */
    void (*taps_back)(int64_t n, int64_t taps, const float *const *x, const float *g, float *acc);

    /*
     * Transforms `tiles` tiles of one row of tiles: v[p*stride + t] = position p of B' x B of tile t. even and odd
     * hold the even and odd columns of the four input rows, `pitch` apart: tile t has columns even[t], odd[t],
     * even[t+1], odd[t+1]. Works in whole vectors: reads and writes up to lanes-1 more tiles.
     */
    void (*wino_input)(int64_t tiles, const float *even, const float *odd, int64_t pitch, float *v,
                       int64_t stride);
    /*
     * The same for `lanes` channels side by side: x[r*pitch + column*lanes + channel]; tile t has columns 2t … 2t+3.
     * The channels of position p of tile t are written to v[p*stride + t*ld …]: min(mr, lanes) of them if is_block,
     * else all.
     */
    void (*wino_input_channels)(int64_t tiles, const float *x, int64_t pitch, float *v,
                                bool is_block, int64_t ld, int64_t stride);
    /* The same for A g A': two rows, columns 2t and 2t+1. */
    void (*wino_grad_channels)(int64_t tiles, const float *g, int64_t pitch, float *v,
                               bool is_block, int64_t ld, int64_t stride);
    /*
     * y0[2t], y0[2t+1] and y1[2t], y1[2t+1]: the two rows of A' m A + bias of tile t, m[p*stride + t]. Writes exactly
     * 2*tiles numbers to each row.
     */
    void (*wino_output)(int64_t tiles, const float *m, int64_t stride, float bias, float *y0,
                        float *y1);
    /* n filters: u[p*stride + i] = G w G' with w[tap*n + i], taps row-major. */
    void (*wino_weight)(int64_t n, const float *w, float *u, int64_t stride);
    /* The reverse for gradients: w[tap*n + i] = G' u G. */
    void (*wino_weight_back)(int64_t n, const float *u, int64_t stride, float *w);
};

/*
 * The functions for the processor that runs the program, and a certain variant for tests, numbered as in
 * cpu_rows_variant.
 */
const struct cpu_tile *cpu_tile(void);
const struct cpu_tile *cpu_tile_variant(int idx);

extern const struct cpu_tile cpu_tile_base;
extern const struct cpu_tile cpu_tile_v3;
extern const struct cpu_tile cpu_tile_v4;

#endif
