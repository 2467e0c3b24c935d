/*
 * engine/device/cuda/cuda_launch.cuh - the two kinds of kernel launches: one thread for each element, one team of
 * threads for each line.
 *
 * For:            the kernels of this folder.
 * Must not know:  what they compute.
 * Invariant:      the same bits every time: which thread adds what depends on sizes alone, and no kernel uses atomics
 *                 whose order changes the result.
 *
 * With VS_CUDA_TWIN the same sources are compiled by the host's compiler: a launch is then a loop, and the threads of
 * a team run one after another. The work between two barriers is one call of `each`; the twin runs its iterations
 * from another beginning and in another direction each time (cuda_twin_turn). A thread that reads what another thread
 * writes in the same call then computes different bits, so a missing barrier is found.
 */
#ifndef ENG_DEVICE_CUDA_LAUNCH_CUH
#define ENG_DEVICE_CUDA_LAUNCH_CUH

#include <math.h>
#include <stdint.h>
#include <string.h>

extern "C" {
#include "base/dtype.h"
#include "base/error.h"
#include "engine/device/cpu/cpu_internal.h"
#include "engine/device/workspace_sizes.h"
}
#include "engine/device/cuda/cuda_device.h"

#ifdef VS_CUDA_TWIN
#define VS_GPU
#define VS_BODY [=]
#else
#define VS_GPU __device__
#define VS_BODY [=] __device__
#endif

enum { TEAM = 256 };          /* threads of a team */
enum { WARP = 32 };           /* threads of a small team, for short lines */
enum { SHORT_LINE = 1024 };   /* elements of a line for which a warp suffices */
enum { EACH_BLOCK = 256 };    /* threads of a block in an elementwise launch */
/* most blocks of such a launch; beyond that a thread has several elements */
enum { EACH_GRID = 1 << 16 };

#ifdef VS_CUDA_TWIN
/*
 * Where the next loop of the twin begins and in which direction it runs; 0: from the first iteration. Counts launches
 * (cuda_twin_launch).
 */
extern "C" uint64_t cuda_twin_turn(void);
extern "C" void cuda_twin_launch(void);

template <class F> static inline void cuda_twin_all(int64_t n, F f)
{
    uint64_t turn = cuda_twin_turn();
    int64_t start = n > 0 ? (int64_t)((turn >> 1) % (uint64_t)n) : 0;

    for (int64_t k = 0; k < n; k++) {
        int64_t i = start + k < n ? start + k : start + k - n;

        f(turn & 1 ? n - 1 - i : i);
    }
}
#else
/* The value of the thread `down` positions further on in the warp. */
template <class T> __device__ static inline T cuda_lane(T v, int down)
{
    uint32_t words[(sizeof(T) + 3) / 4] = {0};

    memcpy(words, &v, sizeof(T));
    for (unsigned k = 0; k < sizeof(words) / 4; k++)
        words[k] = __shfl_down_sync(0xffffffffu, words[k], (unsigned)down);
    memcpy(&v, words, sizeof(T));
    return v;
}
#endif

/*
 * The N threads that process one line. All of them call the same functions in the same order.
 *
 * each      f(i) for 0 <= i < n in any order; what was written is visible to all threads when it returns
 * sum       of f(i)
 * fold      join(…join(join(first, f(i)), …)): join is associative and `first` its neutral value; a value has at most
 *           16 bytes
 */
template <int N> struct cuda_team_of {
#ifdef VS_CUDA_TWIN
    template <class F> void each(int64_t n, F f)
    {
        cuda_twin_all(n, f);
    }

    template <class T, class F, class J> T fold(int64_t n, T first, F f, J join)
    {
        T part[N];

        for (int t = 0; t < N; t++) {
            part[t] = first;
            for (int64_t i = t; i < n; i += N)
                part[t] = join(part[t], f(i));
        }
        for (int half = N / 2; half > 0; half /= 2)
            for (int t = 0; t < half; t++)
                part[t] = join(part[t], part[t + half]);
        return part[0];
    }
#else
    char
        *shared; /* shared, 2*N/WARP values: consecutive folds use its two halves in turn */
    int turn;

    template <class F> __device__ void each(int64_t n, F f)
    {
        for (int64_t i = threadIdx.x % N; i < n; i += N)
            f(i);
        if (N > WARP)
            __syncthreads();
        else
            __syncwarp();
    }

    /*
     * One barrier suffices: whoever writes to a half again has passed the barrier of the fold in between, and so have
     * all threads that read the half.
     */
    template <class T, class F, class J> __device__ T fold(int64_t n, T first, F f, J join)
    {
        T *part = (T *)(shared + turn * (N / WARP) * 16);
        T mine = first;

        for (int64_t i = threadIdx.x % N; i < n; i += N)
            mine = join(mine, f(i));
        for (int down = WARP / 2; down > 0; down /= 2)
            mine = join(mine, cuda_lane(mine, down));
        if (threadIdx.x % WARP == 0)
            part[threadIdx.x % N / WARP] = mine;
        if (N > WARP)
            __syncthreads();
        else
            __syncwarp();
        turn ^= 1;
        mine = part[0];
        for (int k = 1; k < N / WARP; k++)
            mine = join(mine, part[k]);
        return mine;
    }
#endif

    template <class F> VS_GPU double sum(int64_t n, F f)
    {
        return fold(n, 0.0, f, [](double a, double b) { return a + b; });
    }
};

typedef cuda_team_of<TEAM> cuda_team;
typedef cuda_team_of<WARP> cuda_warp;

#ifdef VS_CUDA_TWIN

template <class F> void cuda_each(int64_t n, F f)
{
    if (n > 0)
        cuda_twin_launch();
    cuda_twin_all(n, f);
}

template <int N, class F> void cuda_teams(int64_t lines, F f)
{
    if (lines > 0)
        cuda_twin_launch();
    cuda_twin_all(lines, [&](int64_t line) {
        cuda_team_of<N> team;

        f(line, team);
    });
}

#else

template <class F> __global__ void __launch_bounds__(EACH_BLOCK) cuda_each_kernel(int64_t n, F f)
{
    int64_t step = (int64_t)gridDim.x * EACH_BLOCK;

    for (int64_t i = (int64_t)blockIdx.x * EACH_BLOCK + threadIdx.x; i < n; i += step)
        f(i);
}

template <int N, class F>
__global__ void __launch_bounds__(TEAM) cuda_teams_kernel(int64_t lines, F f)
{
    __shared__ __align__(16) char shared[2 * TEAM / WARP * 16];
    cuda_team_of<N> team;

    team.shared = shared + threadIdx.x / N * (2 * N / WARP * 16);
    team.turn = 0;
    for (int64_t line = (int64_t)blockIdx.x * (TEAM / N) + threadIdx.x / N; line < lines;
         line += (int64_t)gridDim.x * (TEAM / N))
        f(line, team);
}

/* Calls f(i) for 0 <= i < n, in any order. */
template <class F> void cuda_each(int64_t n, F f)
{
    int64_t blocks = (n + EACH_BLOCK - 1) / EACH_BLOCK;
    void *args[] = {&n, &f};

    if (n > 0)
        cuda_launch((const void *)cuda_each_kernel<F>,
                    (unsigned)(blocks < EACH_GRID ? blocks : EACH_GRID), EACH_BLOCK, args);
}

/* Calls f(line, team) for 0 <= line < lines, in any order, with teams of N threads. */
template <int N, class F> void cuda_teams(int64_t lines, F f)
{
    int64_t blocks = (lines + TEAM / N - 1) / (TEAM / N);
    void *args[] = {&lines, &f};

    if (lines > 0)
        cuda_launch((const void *)cuda_teams_kernel<N, F>,
                    (unsigned)(blocks < EACH_GRID ? blocks : EACH_GRID), TEAM, args);
}

#endif

template <class F> void cuda_lines(int64_t lines, F f)
{
    cuda_teams<TEAM>(lines, f);
}

#endif
