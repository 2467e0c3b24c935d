/*
 * tests/oracle/nogpu/runtime.c - a CUDA runtime that computes nothing.
 *
 * For:            running a CUDA build of PyTorch on a machine without a GPU, so that its real
 *                 dispatcher, autograd engine, kernels' host code and caching allocator run.
 *                 Preloaded into Python by tests/oracle/nogpu/__init__.py; never part of vramscope.
 * Must not know:  PyTorch, vramscope.
 * Invariant:      device memory is an address and nothing else: no kernel runs, a copy from the
 *                 device gives zeros. So sizes, order and lifetimes are real, values are not.
 *
 * Every other function of CUDA and its libraries that PyTorch imports is generated as
 * "return 0" beside this file. NOGPU_CC (80), NOGPU_SMS (108) and NOGPU_THREADS (2048, threads a
 * multiprocessor) describe the device; few threads keep reductions from splitting.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, ERR_MEMORY = 2, KIND_D2H = 2, KIND_DEFAULT = 4, TYPE_DEVICE = 2 };

static const uintptr_t DEVICE_BASE = (uintptr_t)0x700000000000;
static const uintptr_t DEVICE_END = (uintptr_t)0x7e0000000000;
static const uintptr_t PAGE = (uintptr_t)2 << 20;
static uintptr_t next_address = (uintptr_t)0x700000000000;
static uint64_t next_handle = 0x1000;

static long setting(const char *name, long fallback)
{
    const char *text = getenv(name);
    return text != NULL && *text != '\0' ? strtol(text, NULL, 10) : fallback;
}

static int is_device(const void *p)
{
    return (uintptr_t)p >= DEVICE_BASE && (uintptr_t)p < DEVICE_END;
}

static void *handle(void)
{
    return (void *)(uintptr_t)__atomic_add_fetch(&next_handle, 16, __ATOMIC_RELAXED);
}

/* ---- device ---- */

struct device_properties { /* the layout of cudaDeviceProp of CUDA 13 */
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luid_mask;
    size_t total_memory;
    size_t shared_per_block;
    int regs_per_block;
    int warp_size;
    size_t pitch;
    int threads_per_block;
    int threads_dim[3];
    int grid_size[3];
    size_t total_const;
    int major;
    int minor;
    size_t texture_alignment[2];
    int sms;
    int integrated;
    int can_map_host;
    int textures[38];
    size_t surface_alignment;
    int concurrent_kernels;
    int ecc;
    int pci[3];
    int tcc;
    int async_engines;
    int unified_addressing;
    int bus_width;
    int l2_cache;
    int persisting_l2;
    int threads_per_sm;
    int stream_priorities;
    int l1_cache[2];
    size_t shared_per_sm;
    int regs_per_sm;
    int managed;
    int multi_gpu[2];
    int host_atomics;
    int pageable;
    int concurrent_managed;
    int preemption;
    int host_pointer;
    int cooperative;
    size_t shared_optin;
    int pageable_tables;
    int direct_managed;
    int blocks_per_sm;
    int rest[96];
};

_Static_assert(sizeof(struct device_properties) >= 1008, "not smaller than cudaDeviceProp");

int cudaGetDeviceProperties(void *out, int device)
{
    struct device_properties p;
    (void)device;
    memset(&p, 0, sizeof p);
    strcpy(p.name, "no GPU");
    p.total_memory = (size_t)1 << 43;
    p.shared_per_block = 49152;
    p.regs_per_block = 65536;
    p.warp_size = 32;
    p.pitch = 2147483647;
    p.threads_per_block = 1024;
    p.threads_dim[0] = p.threads_dim[1] = 1024;
    p.threads_dim[2] = 64;
    p.grid_size[0] = 2147483647;
    p.grid_size[1] = p.grid_size[2] = 65535;
    p.total_const = 65536;
    p.major = (int)(setting("NOGPU_CC", 80) / 10);
    p.minor = (int)(setting("NOGPU_CC", 80) % 10);
    p.texture_alignment[0] = 512;
    p.sms = (int)setting("NOGPU_SMS", 108);
    p.can_map_host = 1;
    p.concurrent_kernels = 1;
    p.async_engines = 3;
    p.unified_addressing = 1;
    p.bus_width = 5120;
    p.l2_cache = 41943040;
    p.threads_per_sm = (int)setting("NOGPU_THREADS", 2048);
    p.stream_priorities = 1;
    p.shared_per_sm = 167936;
    p.regs_per_sm = 65536;
    p.cooperative = 1;
    p.shared_optin = 166912;
    p.blocks_per_sm = 32;
    memcpy(out, &p, 1008);
    return OK;
}

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    struct device_properties p;
    cudaGetDeviceProperties(&p, device);
    switch (attribute) {
    case 1: case 2: case 3: *value = 1024; break;
    case 4: *value = 64; break;
    case 5: *value = p.grid_size[0]; break;
    case 6: case 7: *value = 65535; break;
    case 8: *value = (int)p.shared_per_block; break;
    case 10: *value = 32; break;
    case 12: case 82: *value = 65536; break;
    case 16: *value = p.sms; break;
    case 38: *value = p.l2_cache; break;
    case 39: *value = p.threads_per_sm; break;
    case 41: case 31: case 95: case 78: *value = 1; break;
    case 75: *value = p.major; break;
    case 76: *value = p.minor; break;
    case 81: *value = (int)p.shared_per_sm; break;
    case 97: *value = (int)p.shared_optin; break;
    case 106: *value = 32; break;
    case 111: *value = 1024; break;
    default: *value = 0; break;
    }
    return OK;
}

int cudaGetDeviceCount(int *count) { *count = 1; return OK; }
int cudaGetDevice(int *device) { *device = 0; return OK; }
int cudaDriverGetVersion(int *version) { *version = 13020; return OK; }
int cudaRuntimeGetVersion(int *version) { *version = 13020; return OK; }
int cudaDeviceCanAccessPeer(int *can, int a, int b) { (void)a; (void)b; *can = 0; return OK; }
int cudaDeviceGetPCIBusId(char *out, int len, int device)
{
    (void)device;
    strncpy(out, "0000:00:00.0", (size_t)len);
    return OK;
}
int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return OK;
}
const char *cudaGetErrorString(int e) { (void)e; return "no GPU: error"; }
const char *cudaGetErrorName(int e) { (void)e; return "nogpu"; }

static int anything(void) { return OK; }

int cudaGetDriverEntryPointByVersion(const char *symbol, void **out, unsigned version,
                                     unsigned long long flags, int *status)
{
    (void)symbol; (void)version; (void)flags;
    *(int (**)(void))out = anything;
    if (status != NULL)
        *status = 0;
    return OK;
}

/* ---- memory ---- */

int cudaMalloc(void **out, size_t size)
{
    uintptr_t need = (size + PAGE - 1) / PAGE * PAGE;
    uintptr_t at = __atomic_fetch_add(&next_address, need, __ATOMIC_RELAXED);
    if (at + need > DEVICE_END)
        return ERR_MEMORY;
    *out = (void *)at;
    return OK;
}
int cudaMallocAsync(void **out, size_t size, void *stream) { (void)stream; return cudaMalloc(out, size); }
int cudaMallocManaged(void **out, size_t size, unsigned flags) { (void)flags; return cudaMalloc(out, size); }
int cudaMallocHost(void **out, size_t size)
{
    *out = calloc(size ? size : 1, 1);
    return *out != NULL ? OK : ERR_MEMORY;
}
int cudaHostAlloc(void **out, size_t size, unsigned flags) { (void)flags; return cudaMallocHost(out, size); }
int cudaFreeHost(void *p) { free(p); return OK; }
int cudaMemGetInfo(size_t *available, size_t *total)
{
    *available = *total = (size_t)1 << 43;
    return OK;
}
int cudaMemcpy(void *dst, const void *src, size_t size, int kind)
{
    if (kind == KIND_D2H || (kind == KIND_DEFAULT && is_device(src) && !is_device(dst)))
        memset(dst, 0, size);
    return OK;
}
int cudaMemcpyAsync(void *dst, const void *src, size_t size, int kind, void *stream)
{
    (void)stream;
    return cudaMemcpy(dst, src, size, kind);
}
int cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                      size_t height, int kind, void *stream)
{
    size_t row;
    (void)spitch; (void)stream;
    for (row = 0; row < height; row++)
        cudaMemcpy((char *)dst + row * dpitch, src, width, kind);
    return OK;
}
int cudaPointerGetAttributes(void *out, const void *p)
{
    struct { int type; int device; void *device_pointer; void *host_pointer; long reserved[8]; } a;
    memset(&a, 0, sizeof a);
    if (is_device(p)) {
        a.type = TYPE_DEVICE;
        *(const void **)&a.device_pointer = p;
    }
    memcpy(out, &a, 88);
    return OK;
}
int cudaGetSymbolAddress(void **out, const void *symbol) { (void)symbol; return cudaMalloc(out, 1); }

/* ---- streams, events, graphs ---- */

int cudaStreamCreate(void **out) { *out = handle(); return OK; }
int cudaStreamCreateWithFlags(void **out, unsigned flags) { (void)flags; *out = handle(); return OK; }
int cudaStreamCreateWithPriority(void **out, unsigned flags, int priority)
{
    (void)flags; (void)priority;
    *out = handle();
    return OK;
}
int cudaStreamGetPriority(void *stream, int *priority) { (void)stream; *priority = 0; return OK; }
int cudaStreamIsCapturing(void *stream, int *status) { (void)stream; *status = 0; return OK; }
int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id, void **graph,
                             const void **deps, const void **edges, size_t *count)
{
    (void)stream;
    *status = 0;
    if (id != NULL)
        *id = 0;
    if (graph != NULL)
        *graph = NULL;
    if (deps != NULL)
        *deps = NULL;
    if (edges != NULL)
        *edges = NULL;
    if (count != NULL)
        *count = 0;
    return OK;
}
int cudaEventCreate(void **out) { *out = handle(); return OK; }
int cudaEventCreateWithFlags(void **out, unsigned flags) { (void)flags; *out = handle(); return OK; }
int cudaEventElapsedTime(float *ms, void *a, void *b) { (void)a; (void)b; *ms = 0; return OK; }

/* ---- kernels ---- */

void **__cudaRegisterFatBinary(void *image) { (void)image; return (void **)handle(); }
int cudaFuncGetAttributes(void *out, const void *function)
{
    struct {
        size_t shared, constant, local;
        int threads, regs, ptx, binary, cache, dynamic_shared, carveout, rest[23];
    } a;
    (void)function;
    memset(&a, 0, sizeof a);
    a.threads = 1024;
    a.regs = 32;
    a.ptx = a.binary = (int)setting("NOGPU_CC", 80);
    a.dynamic_shared = 49152;
    memcpy(out, &a, 144);
    return OK;
}
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *f, int threads, size_t shared)
{
    (void)f; (void)shared;
    *blocks = threads > 0 && threads <= 2048 ? 2048 / threads : 1;
    return OK;
}
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *f, int threads,
                                                           size_t shared, unsigned flags)
{
    (void)flags;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, f, threads, shared);
}

int cuCtxGetCurrent(void **context)
{
    *context = (void *)(uintptr_t)16;
    return OK;
}
int cuGetErrorString(int e, const char **out)
{
    (void)e;
    *out = "no GPU: driver error";
    return OK;
}

/* ---- cuBLAS and cuBLASLt ---- */

int cublasCreate_v2(void **out) { *out = handle(); return OK; }
int cublasGetMathMode(void *h, int *mode) { (void)h; *mode = 0; return OK; }
int cublasGetPointerMode_v2(void *h, int *mode) { (void)h; *mode = 0; return OK; }
size_t cublasLtGetVersion(void) { return 130200; }
int cublasLtMatmulDescCreate(void **out, int compute, int scale)
{
    (void)compute; (void)scale;
    *out = handle();
    return OK;
}
int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
    (void)type; (void)rows; (void)cols; (void)ld;
    *out = handle();
    return OK;
}
int cublasLtMatmulPreferenceCreate(void **out) { *out = handle(); return OK; }
int cublasLtMatmulAlgoGetHeuristic(void *h, void *op, void *a, void *b, void *c, void *d, void *pref,
                                   int requested, void *results, int *returned)
{
    /* one algorithm: 64 bytes of it, workspace 0, status 0, waves 1 */
    struct { uint64_t algo[8]; size_t workspace; int state; float waves; int reserved[4]; } r;
    (void)h; (void)op; (void)a; (void)b; (void)c; (void)d; (void)pref; (void)requested;
    memset(&r, 0, sizeof r);
    r.waves = 1.0f;
    memcpy(results, &r, sizeof r);
    *returned = 1;
    return OK;
}

/* ---- cuDNN ---- */

size_t cudnnGetVersion(void) { return 92600; }
size_t cudnnGetCudartVersion(void) { return 13020; }
const char *cudnnGetErrorString(int e) { (void)e; return "no GPU: cuDNN error"; }
void cudnnGetLastErrorString(char *out, size_t size)
{
    if (size > 0)
        *out = '\0';
}
int cudnnCreate(void **out) { *out = handle(); return OK; }
int cudnnCreateTensorDescriptor(void **out) { *out = handle(); return OK; }
int cudnnCreateFilterDescriptor(void **out) { *out = handle(); return OK; }
int cudnnCreateConvolutionDescriptor(void **out) { *out = handle(); return OK; }
int cudnnCreateDropoutDescriptor(void **out) { *out = handle(); return OK; }
int cudnnCreateActivationDescriptor(void **out) { *out = handle(); return OK; }
int cudnnCreatePoolingDescriptor(void **out) { *out = handle(); return OK; }
int cudnnBackendCreateDescriptor(int kind, void **out) { (void)kind; *out = handle(); return OK; }

/* Attributes of the graph API: one descriptor where descriptors are asked for, else zeros. */
int cudnnBackendGetAttribute(void *descriptor, int name, int type, int64_t requested, int64_t *count,
                             void *array)
{
    enum { TYPE_HANDLE = 0, TYPE_INT64 = 3, TYPE_DESCRIPTOR = 15 };
    (void)descriptor; (void)name;
    if (type == TYPE_DESCRIPTOR) {
        if (count != NULL)
            *count = 1;
        return OK;
    }
    if (type == TYPE_INT64) {
        if (count != NULL)
            *count = 1;
        if (array != NULL && requested > 0)
            memset(array, 0, sizeof(int64_t));
        return OK;
    }
    if (count != NULL)
        *count = 0;
    return OK;
}
int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *h, int mode, int ops, void *x,
                                                             void *z, void *y, void *bn, void *act,
                                                             size_t *size)
{
    (void)h; (void)mode; (void)ops; (void)x; (void)z; (void)y; (void)bn; (void)act;
    *size = 0;
    return OK;
}
int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *h, int mode, int ops, void *x, void *y,
                                                      void *dy, void *dz, void *dx, void *bn, void *act,
                                                      size_t *size)
{
    (void)h; (void)mode; (void)ops; (void)x; (void)y; (void)dy; (void)dz; (void)dx; (void)bn; (void)act;
    *size = 0;
    return OK;
}
int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *h, int mode, int ops, void *act, void *x,
                                                         size_t *size)
{
    (void)h; (void)mode; (void)ops; (void)act; (void)x;
    *size = 0;
    return OK;
}
