/*
 * tests/engine/device/twin/test_launch.cc - the GPU's own cuda_launch.cuh, on simulated threads: each has its own
 * stack, and between two barriers threads and blocks run in any order.
 *
 * The twin runs launches as loops, so no other test covers barriers, shuffles and shared memory. The test ends if a
 * thread returns while others wait at a barrier, or if threads wait at different barriers. Shared memory keeps the
 * contents of the previous block, as on a GPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

struct played_index {
    unsigned x;
};
static played_index threadIdx, blockIdx, gridDim;
static void __syncthreads(void);
static void __syncwarp(void);
static uint32_t __shfl_down_sync(uint32_t mask, uint32_t value, unsigned down);

#define __device__
#define __global__
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(n)
#include "engine/device/cuda/cuda_launch.cuh"

enum { THREADS = 256, WARPS = THREADS / 32, STACK = 64 * 1024 };
enum waits { RUNS, AT_BLOCK, AT_WARP, AT_SHUFFLE, GONE };

struct thread {
    ucontext_t context;
    waits state;
    uint32_t value, got; /* of a shuffle */
    unsigned down;
};

static struct {
    thread threads[THREADS];
    ucontext_t scheduler;
    unsigned now;
    uint64_t random;
    void (*body)(void *);
    void *with;
} block;
static char stacks[THREADS][STACK];

static uint64_t any(uint64_t below)
{
    block.random = block.random * 6364136223846793005u + 1442695040888963407u;
    return (block.random >> 33) % below;
}

static void wait_at(waits what)
{
    thread *t = &block.threads[block.now];

    t->state = what;
    swapcontext(&t->context, &block.scheduler);
}

static void __syncthreads(void)
{
    wait_at(AT_BLOCK);
}

static void __syncwarp(void)
{
    wait_at(AT_WARP);
}

static uint32_t __shfl_down_sync(uint32_t mask, uint32_t value, unsigned down)
{
    thread *t = &block.threads[block.now];

    if (mask != 0xffffffffu)
        fail_msg("a shuffle of part of a warp");
    t->value = value;
    t->down = down;
    wait_at(AT_SHUFFLE);
    return t->got;
}

static void run_thread(void)
{
    block.body(block.with);
    wait_at(GONE);
}

/* Do threads [first, first+count) all wait for `what`? */
static bool all_wait(unsigned first, unsigned count, waits what)
{
    for (unsigned k = first; k < first + count; k++)
        if (block.threads[k].state != what)
            return false;
    return true;
}

static void go_on(unsigned first, unsigned count)
{
    for (unsigned k = first; k < first + count; k++)
        block.threads[k].state = RUNS;
}

/* Lets those go on who have all come; false: nobody can. */
static bool release(void)
{
    bool is_any = false;

    if (all_wait(0, THREADS, AT_BLOCK)) {
        go_on(0, THREADS);
        return true;
    }
    for (unsigned w = 0; w < WARPS; w++) {
        thread *warp = &block.threads[w * 32];

        if (all_wait(w * 32, 32, AT_SHUFFLE)) {
            for (unsigned k = 0; k < 32; k++) {
                if (warp[k].down != warp[0].down)
                    fail_msg("a warp shuffles by different distances");
                warp[k].got = warp[k + warp[k].down < 32 ? k + warp[k].down : k].value;
            }
        } else if (!all_wait(w * 32, 32, AT_WARP)) {
            continue;
        }
        go_on(w * 32, 32);
        is_any = true;
    }
    return is_any;
}

static bool is_one_running(void)
{
    for (unsigned k = 0; k < THREADS; k++)
        if (block.threads[k].state == RUNS)
            return true;
    return false;
}

static void run_block(void (*body)(void *), void *with)
{
    block.body = body;
    block.with = with;
    for (unsigned k = 0; k < THREADS; k++) {
        thread *t = &block.threads[k];

        getcontext(&t->context);
        t->context.uc_stack.ss_sp = stacks[k];
        t->context.uc_stack.ss_size = STACK;
        t->context.uc_link = NULL;
        makecontext(&t->context, run_thread, 0);
        t->state = RUNS;
    }
    /*
     * warps that get nowhere for a while: until nobody else can go on, so that the others are as far ahead as barriers
     * let them
     */
    uint64_t behind = any((uint64_t)1 << WARPS);

    while (!all_wait(0, THREADS, GONE)) {
        unsigned first = (unsigned)any(THREADS);
        bool is_any = false;

        if (!release() && !is_one_running())
            fail_msg("threads wait for others that never come");
        for (unsigned k = 0; k < THREADS; k++) {
            unsigned at = (first + k * 77) % THREADS;

            if (block.threads[at].state != RUNS || (behind >> at / 32 & 1))
                continue;
            is_any = true;
            block.now = at;
            threadIdx.x = at;
            swapcontext(&block.scheduler, &block.threads[at].context);
        }
        if (!is_any)
            behind = any((uint64_t)1 << WARPS);
    }
}

/* The blocks of a launch, one at a time, in any order. */
template <class K> static void launch(unsigned blocks, K kernel)
{
    unsigned order[64];
    K *with = &kernel;

    assert_true(blocks <= 64);
    for (unsigned i = 0; i < blocks; i++)
        order[i] = i;
    for (unsigned i = blocks; i > 1; i--) {
        unsigned other = (unsigned)any(i);
        unsigned t = order[i - 1];

        order[i - 1] = order[other];
        order[other] = t;
    }
    gridDim.x = blocks;
    for (unsigned i = 0; i < blocks; i++) {
        blockIdx.x = order[i];
        run_block([](void *p) { (*(K *)p)(); }, with);
    }
}

static const int64_t LENGTHS[] = {0, 1, 7, 31, 32, 33, 64, 255, 256, 257, 1000};
enum { LENGTH_COUNT = sizeof(LENGTHS) / sizeof(LENGTHS[0]), LINES = 13 };

struct placed {
    double value;
    int64_t index;
};

/* 16 bytes a value: what shares a fold's memory must be apart. The largest, of equals the first. */
static placed first_largest(placed a, placed b)
{
    if (a.value != b.value)
        return a.value > b.value ? a : b;
    return a.index < b.index ? a : b;
}

static double element(int64_t line, int64_t i)
{
    return (double)((line * 131 + i * 37) % 101);
}

/* Folds of two kinds after one another, and between them what others wrote: line by line, more lines than teams. */
template <int N> static void check_teams(int64_t n, unsigned blocks)
{
    static double sums[LINES][3];
    static placed largest[LINES];
    static double a[LINES][1024], b[LINES][1024];

    memset(sums, 0xee, sizeof(sums));
    memset(a, 0xee, sizeof(a));
    memset(b, 0xee, sizeof(b));
    auto line_of = [=](int64_t line, cuda_team_of<N> &team) {
        double all = team.sum(n, [&](int64_t i) { return element(line, i); });
        placed none = {-1.0, INT64_MAX};
        placed most = team.fold(
            n, none,
            [&](int64_t i) {
                placed p = {element(line, i), i};

                return p;
            },
            first_largest);
        team.each(n, [&](int64_t i) { a[line][i] = element(line, i) + all; });
        team.each(n, [&](int64_t i) { b[line][i] = a[line][n - 1 - i]; });
        double backwards = team.sum(n, [&](int64_t i) { return b[line][i] * (double)(i + 1); });
        double again = team.sum(n, [&](int64_t i) { return a[line][(i + 1) % n]; });

        team.each(1, [&](int64_t) {
            sums[line][0] = all;
            sums[line][1] = backwards;
            sums[line][2] = again;
            largest[line] = most;
        });
    };
    launch(blocks, [=] { cuda_teams_kernel<N>((int64_t)LINES, line_of); });
    for (int64_t line = 0; line < LINES; line++) {
        double all = 0, backwards = 0;
        placed most = {-1.0, INT64_MAX};

        for (int64_t i = 0; i < n; i++) {
            placed p = {element(line, i), i};

            all += element(line, i);
            most = first_largest(most, p);
        }
        for (int64_t i = 0; i < n; i++)
            backwards += (element(line, n - 1 - i) + all) * (double)(i + 1);
        /* whole numbers: exact in any order */
        if (sums[line][0] != all || sums[line][1] != backwards ||
            sums[line][2] != all + all * (double)n || largest[line].index != most.index)
            fail_msg("teams of %d, %d blocks, %d elements, line %d: %g %g %g", N, (int)blocks,
                     (int)n, (int)line, sums[line][0], sums[line][1], sums[line][2]);
    }
}

static void shared_memory_of_a_block_works_in_any_order_of_threads(void **)
{
    for (int i = 0; i < LENGTH_COUNT; i++) {
        check_teams<TEAM>(LENGTHS[i], i % 2 ? 3 : LINES);
        check_teams<WARP>(LENGTHS[i], i % 2 ? 1 : 3);
    }
}

static void each_element_is_processed_by_one_thread(void **)
{
    static unsigned char seen[3000];

    for (int64_t n = 1; n <= 3000; n = n * 3 + 1) {
        auto mark = [=](int64_t i) { seen[i]++; };

        memset(seen, 0, sizeof(seen));
        launch(2, [=] { cuda_each_kernel(n, mark); });
        for (int64_t i = 0; i < 3000; i++)
            assert_int_equal(seen[i], i < n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_of_a_block_works_in_any_order_of_threads),
        cmocka_unit_test(each_element_is_processed_by_one_thread),
    };

    block.random = 20261122;
    return cmocka_run_group_tests_name("engine/device/twin/launch", tests, NULL, NULL);
}

/* What the header launches with is not used here. */
extern "C" void cuda_launch(const void *, unsigned, unsigned, void **)
{
    abort();
}
