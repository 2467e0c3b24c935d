/*
 * tests/gpu/plain.cu - a plain CUDA program, for `vramscope record -- ./plain [oom|kill]`: allocations of the runtime,
 * of a pool, and kernels.
 *
 * Its peak is PEAK bytes by arithmetic: 64 + 32 + 16 MiB at once, of which 32 come from the stream's pool.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define PEAK (112 * MIB)

__global__ void fill(float *out, size_t n, float value)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = value;
}

static void need(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    fflush(stderr);
    _Exit(4);
}

int main(int argc, char **argv)
{
    float *first, *pooled, *last;
    cudaStream_t stream;

    need(cudaStreamCreate(&stream), "cudaStreamCreate");
    need(cudaMalloc(&first, 64 * MIB), "cudaMalloc");
    need(cudaMallocAsync(&pooled, 32 * MIB, stream), "cudaMallocAsync");
    need(cudaMalloc(&last, 16 * MIB), "cudaMalloc");
    fill<<<65536, 256, 0, stream>>>(first, 64 * MIB / sizeof(float), 1.0f);
    need(cudaStreamSynchronize(stream), "fill");
    while (argc > 1 && !strcmp(argv[1], "oom"))
        need(cudaMalloc(&last, 4096 * MIB), "cudaMalloc");
    if (argc > 1 && !strcmp(argv[1], "kill")) {
        usleep(200000); /* what was recorded is in the file a fiftieth of a second later */
        raise(SIGKILL);
    }
    need(cudaFreeAsync(pooled, stream), "cudaFreeAsync");
    need(cudaFree(last), "cudaFree");
    need(cudaFree(first), "cudaFree");
    need(cudaStreamSynchronize(stream), "cudaFreeAsync");
    printf("%zu\n", PEAK);
    return 0;
}
