/*
 * tests/tracer/inject/fake/programs.c - programs that use CUDA, selected by the first argument; test_inject_*.c state
 * what each must leave in its trace.
 */
#include <cuda.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#define KIB 1024
#define THREADS 4
#define ROUNDS 500

static void need(CUresult result)
{
    if (result == CUDA_SUCCESS)
        return;
    printf("programs: a call failed: %d\n", (int)result);
    exit(3);
}

static void begin(int device)
{
    CUcontext context;

    need(cuInit(0));
    need(cuDevicePrimaryCtxRetain(&context, device));
    need(cuCtxSetCurrent(context));
}

__attribute__((noinline)) void program_allocates(CUdeviceptr *out, size_t bytes);
__attribute__((noinline)) void program_allocates(CUdeviceptr *out, size_t bytes)
{
    need(cuMemAlloc_v2(out, bytes));
    if (!*out) /* nothing, but the call above is not the last thing the function does */
        abort();
}

static void launch(const char *kernel)
{
    need(cuLaunchKernel((CUfunction)(uintptr_t)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

/* 1000 + 2000, minus 1000, plus 4000: a peak of 6000, and so it ends. */
static int basic(void)
{
    CUdeviceptr a;
    CUdeviceptr b;
    CUdeviceptr c;

    begin(0);
    program_allocates(&a, 1000);
    launch("axpy_kernel");
    program_allocates(&b, 2000);
    need(cuMemFree_v2(a));
    program_allocates(&c, 4000);
    puts("basic is done");
    return 7;
}

static int runtime(void)
{
    void *a;
    void *b;

    begin(0);
    if (cudaMalloc(&a, 3000) || cudaMalloc(&b, 5000) || cudaFree(a))
        return 3;
    return 0;
}

static int kinds(void)
{
    const CUmemPoolProps props = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    CUstream stream = (CUstream)(uintptr_t)5;
    CUdeviceptr p[4];
    CUmemoryPool pool;
    size_t pitch;
    void *host[2];

    begin(0);
    need(cuMemAllocPitch_v2(&p[0], &pitch, 100, 10, 4)); /* 512 * 10 */
    need(cuMemAllocManaged(&p[1], 7000, 1));
    need(cuMemAllocAsync(&p[2], 3000, stream));
    need(cuMemPoolCreate(&pool, &props));
    need(cuMemAllocFromPoolAsync(&p[3], 1500, pool, stream));
    need(cuMemFreeAsync(p[2], stream));
    need(cuMemAllocHost_v2(&host[0], 50000));
    need(cuMemHostAlloc(&host[1], 20000, 0));
    need(cuMemFreeHost(host[0]));
    return 0;
}

static int physical(void)
{
    const CUmemAllocationProp props = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
    const size_t size = 2048 * KIB;
    CUmemGenericAllocationHandle first;
    CUmemGenericAllocationHandle second;
    CUdeviceptr base = (CUdeviceptr)0x600000000000;

    begin(0);
    need(cuMemCreate(&first, size, &props, 0));
    need(cuMemCreate(&second, size, &props, 0));
    need(cuMemMap(base + (first & 0xff), size, 0, first, 0));
    need(cuMemRelease(first)); /* the mapping keeps it */
    need(cuMemRelease(second));
    need(cuMemUnmap(base + (first & 0xff), size));
    return 0;
}

static int out_of_memory(void)
{
    CUdeviceptr p;

    begin(0);
    program_allocates(&p, 900);
    if (cuMemAlloc_v2(&p, 200) != CUDA_ERROR_OUT_OF_MEMORY)
        return 3;
    return 0;
}

/* What was emitted is in the file before it ends. */
static int out_of_memory_and_out(void)
{
    if (out_of_memory())
        return 3;
    _exit(6);
}

static void *work(void *arg)
{
    CUdeviceptr p[4];

    (void)arg;
    begin(0);
    for (int i = 0; i < ROUNDS; i++) {
        for (size_t j = 0; j < 4; j++)
            need(cuMemAlloc_v2(&p[j], 512 * (j + 1)));
        for (size_t j = 0; j < 4; j++)
            need(cuMemFree_v2(p[j]));
    }
    return NULL;
}

static int threads(void)
{
    pthread_t all[THREADS];

    begin(0);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&all[i], NULL, work, NULL) != 0)
            return 3;
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    return 0;
}

/* The parent has 1000, the child its own 2000. */
static int forks(void)
{
    CUdeviceptr p;
    int status = 0;
    pid_t child;

    begin(0);
    program_allocates(&p, 1000);
    child = fork();
    if (child == 0) {
        program_allocates(&p, 2000);
        exit(0);
    }
    if (waitpid(child, &status, 0) != child || status)
        return 3;
    program_allocates(&p, 4000);
    return 0;
}

/* Threads allocate while the program forks; the children do nothing but end. */
static int forks_in_threads(void)
{
    pthread_t all[THREADS];
    int status = 0;

    begin(0);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&all[i], NULL, work, NULL) != 0)
            return 3;
    for (int i = 0; i < 20; i++) {
        const pid_t child = fork();
        CUdeviceptr p;

        if (child == 0) {
            program_allocates(&p, 100);
            exit(0);
        }
        if (waitpid(child, &status, 0) != child || status)
            return 3;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
    return 0;
}

static int executes(const char *self)
{
    CUdeviceptr p;
    int status = 0;
    pid_t child;

    begin(0);
    program_allocates(&p, 1000);
    child = fork();
    if (child == 0) {
        execl(self, self, "basic", (char *)NULL);
        _exit(127);
    }
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
        return 3;
    return 0;
}

/* Waits to be killed. */
static int killed(void)
{
    CUdeviceptr p;

    begin(0);
    for (size_t i = 0; i < 10; i++)
        program_allocates(&p, 1000);
    while (pause() < 0) /* as it always does */
        continue;
    return 0;
}

static void leave(int number)
{
    (void)number;
    _exit(5);
}

/* When it is sent SIGTERM. */
static int leaves(void)
{
    CUdeviceptr p;

    signal(SIGTERM, leave);
    begin(0);
    program_allocates(&p, 1000);
    while (pause() < 0) /* as it always does */
        continue;
    return 0;
}

static int resets(void)
{
    CUdeviceptr p;

    begin(0);
    program_allocates(&p, 1000);
    program_allocates(&p, 2000);
    need(cuDevicePrimaryCtxReset_v2(0));
    begin(0);
    program_allocates(&p, 500);
    return 0;
}

static int devices(void)
{
    CUdeviceptr p;

    begin(1);
    program_allocates(&p, 1000);
    begin(0);
    program_allocates(&p, 2000);
    return 0;
}

static int ranges(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("mine");
    nvtxStringHandle_t loading = nvtxDomainRegisterStringA(domain, "loading");
    nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                        .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                        .message = {.registered = loading}};
    nvtxRangeId_t epoch;
    CUdeviceptr p;

    nvtxRangePushA("before"); /* comes before CUDA does */
    begin(0);
    program_allocates(&p, 1000);
    nvtxRangePop();
    epoch = nvtxRangeStartA("epoch 0");
    for (int step = 0; step < 2; step++) {
        nvtxRangePushA(step ? "step 1" : "step 0");
        nvtxRangePushA("forward");
        nvtxDomainRangePushEx(domain, &attributes);
        program_allocates(&p, 2000);
        nvtxRangePop(); /* ends forward, not the domain's */
        program_allocates(&p, 3000);
        nvtxDomainRangePop(domain);
        nvtxRangePushW(L"backward");
        program_allocates(&p, 4000);
        nvtxRangePop();
        nvtxRangePop();
    }
    nvtxRangeEnd(epoch);
    program_allocates(&p, 5000);
    return 0;
}

static int fails(void)
{
    CUdeviceptr p = 0;

    begin(0);
    program_allocates(&p, 1000);
    if (cuMemFree_v2(p + 1) != CUDA_ERROR_INVALID_VALUE)
        return 3;
    (void)cuStreamSynchronize(NULL);
    (void)cuMemFree_v2(p);
    return 0;
}

/* What tests/gpu/plain.cu does, through the driver: 64 + 32 + 16 MiB at once. */
static int plain(const char *how)
{
    const size_t mib = (size_t)1024 * KIB;
    CUstream stream = (CUstream)(uintptr_t)5;
    CUdeviceptr p[3];
    CUresult result = CUDA_SUCCESS;

    begin(0);
    program_allocates(&p[0], 64 * mib);
    need(cuMemAllocAsync(&p[1], 32 * mib, stream));
    program_allocates(&p[2], 16 * mib);
    launch("fill");
    while (strcmp(how, "oom") == 0 && result == CUDA_SUCCESS)
        result = cuMemAlloc_v2(&p[2], 4096 * mib);
    if (result != CUDA_SUCCESS)
        _exit(4);
    if (strcmp(how, "kill") == 0) {
        sleep(1);
        raise(SIGKILL);
    }
    need(cuMemFreeAsync(p[1], stream));
    need(cuMemFree_v2(p[2]));
    need(cuMemFree_v2(p[0]));
    return 0;
}

static int never(void)
{
    puts("no CUDA here");
    return 9;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*run)(void);
    } PROGRAMS[] = {
        {"basic", basic},
        {"runtime", runtime},
        {"kinds", kinds},
        {"physical", physical},
        {"oom", out_of_memory},
        {"threads", threads},
        {"forks", forks},
        {"fork-storm", forks_in_threads},
        {"killed", killed},
        {"leaves", leaves},
        {"resets", resets},
        {"devices", devices},
        {"oom-leaves", out_of_memory_and_out},
        {"ranges", ranges},
        {"fails", fails},
        {"never", never},
    };

    if (argc == 2 && strcmp(argv[1], "executes") == 0)
        return executes(argv[0]);
    if (argc == 3 && strcmp(argv[1], "plain") == 0)
        return plain(argv[2]);
    for (size_t i = 0; argc == 2 && i < sizeof(PROGRAMS) / sizeof(PROGRAMS[0]); i++)
        if (strcmp(argv[1], PROGRAMS[i].word) == 0)
            return PROGRAMS[i].run();
    fprintf(stderr, "programs: no such program\n");
    return 2;
}
