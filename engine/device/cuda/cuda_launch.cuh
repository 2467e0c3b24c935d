/*
 * engine/device/cuda/cuda_launch.cuh - the two ways a kernel runs: one thread an element, one team of threads a line.
 *
 * For:            the kernels of this folder.
 * Must not know:  what they compute.
 * Invariant:      the same bits every time: which thread adds what depends on sizes alone, and no kernel uses atomics whose order shows.
 *
 * With VS_CUDA_TWIN the same sources are compiled by the host's compiler: a launch is then a loop, a team of TEAM threads is played one
 * after another, sums are joined in the same order. So every kernel is tested where there is no GPU.
 */
#ifndef ENG_DEVICE_CUDA_LAUNCH_CUH
#define ENG_DEVICE_CUDA_LAUNCH_CUH

#include <math.h>
#include <stdint.h>

extern "C" {
#include "base/dtype.h"
#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/room_sizes.h"
}
#include "engine/device/cuda/cuda_device.h"

#ifdef VS_CUDA_TWIN
#define VS_GPU
#define VS_BODY [=]
#else
#define VS_GPU __device__
#define VS_BODY [=] __device__
#endif

enum { TEAM = 256 };                  /* threads of a team */
enum { EACH_BLOCK = 256 };            /* threads of a block of an element-wise launch */
enum { EACH_GRID = 1 << 16 };         /* blocks of one at most: a thread then has several elements */

/*
 * The threads that have a line in common. All of them call the same functions in the same order.
 *
 * each      f(i) for 0 <= i < n, and what was written is seen by all when it returns
 * sum       of f(i)
 * fold      join(…join(join(first, f(i)), …)): join is associative and `first` its neutral value;
 *           a value has at most 16 bytes
 */
struct cuda_team {
#ifdef VS_CUDA_TWIN
    template <class F> void each(int64_t n, F f)
    {
        for (int64_t i = 0; i < n; i++)
            f(i);
    }

    template <class T, class F, class J> T fold(int64_t n, T first, F f, J join)
    {
        T part[TEAM];

        for (int t = 0; t < TEAM; t++) {
            part[t] = first;
            for (int64_t i = t; i < n; i += TEAM)
                part[t] = join(part[t], f(i));
        }
        for (int half = TEAM / 2; half > 0; half /= 2)
            for (int t = 0; t < half; t++)
                part[t] = join(part[t], part[t + half]);
        return part[0];
    }
#else
    char *room; /* TEAM values, shared */

    template <class F> __device__ void each(int64_t n, F f)
    {
        for (int64_t i = threadIdx.x; i < n; i += TEAM)
            f(i);
        __syncthreads();
    }

    template <class T, class F, class J> __device__ T fold(int64_t n, T first, F f, J join)
    {
        T *part = (T *)room;
        T mine = first;
        T all;

        for (int64_t i = threadIdx.x; i < n; i += TEAM)
            mine = join(mine, f(i));
        part[threadIdx.x] = mine;
        __syncthreads();
        for (unsigned half = TEAM / 2; half > 0; half /= 2) {
            if (threadIdx.x < half)
                part[threadIdx.x] = join(part[threadIdx.x], part[threadIdx.x + half]);
            __syncthreads();
        }
        all = part[0];
        __syncthreads();
        return all;
    }
#endif

    template <class F> VS_GPU double sum(int64_t n, F f)
    {
        return fold(n, 0.0, f, [](double a, double b) { return a + b; });
    }
};

#ifdef VS_CUDA_TWIN

template <class F> void cuda_each(int64_t n, F f)
{
    for (int64_t i = 0; i < n; i++)
        f(i);
}

template <class F> void cuda_lines(int64_t lines, F f)
{
    for (int64_t line = 0; line < lines; line++) {
        cuda_team team;

        f(line, team);
    }
}

#else

template <class F> __global__ void cuda_each_kernel(int64_t n, F f)
{
    int64_t step = (int64_t)gridDim.x * EACH_BLOCK;

    for (int64_t i = (int64_t)blockIdx.x * EACH_BLOCK + threadIdx.x; i < n; i += step)
        f(i);
}

template <class F> __global__ void cuda_lines_kernel(int64_t lines, F f)
{
    __shared__ __align__(16) char room[TEAM * 16];

    for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
        cuda_team team;

        team.room = room;
        f(line, team);
    }
}

/* f(i) for 0 <= i < n, in any order. */
template <class F> void cuda_each(int64_t n, F f)
{
    int64_t blocks = (n + EACH_BLOCK - 1) / EACH_BLOCK;
    void *args[] = {&n, &f};

    if (n > 0)
        cuda_launch((const void *)cuda_each_kernel<F>,
                    (unsigned)(blocks < EACH_GRID ? blocks : EACH_GRID), EACH_BLOCK, args);
}

/* f(line, team) for 0 <= line < lines, in any order. */
template <class F> void cuda_lines(int64_t lines, F f)
{
    void *args[] = {&lines, &f};

    if (lines > 0)
        cuda_launch((const void *)cuda_lines_kernel<F>,
                    (unsigned)(lines < EACH_GRID ? lines : EACH_GRID), TEAM, args);
}

#endif

#endif
