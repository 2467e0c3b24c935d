/*
 * tests/standin/fake/fake_cuda.c - libraries with which the fake of PyTorch is linked, in place of CUDA's. Compiled
 * once for each library, with its functions only: FAKE_CUDART, FAKE_NCCL, FAKE_PLAIN.
 *
 * Compiled once for each library, with its functions alone: FAKE_CUDART, FAKE_NCCL, FAKE_PLAIN.
 */
int cudaGetDeviceCount(int *count);
int cudaMalloc(void **out, unsigned long size);
int cudaFoo(int a);
int ncclGetVersion(int *version);
int plain_function(void);

#ifdef FAKE_CUDART
int cudaGetDeviceCount(int *count)
{
    *count = -1;
    return -1;
}

int cudaMalloc(void **out, unsigned long size)
{
    *out = 0;
    return (int)size;
}

int cudaFoo(int a)
{
    return a;
}
#endif

#ifdef FAKE_NCCL
int ncclGetVersion(int *version)
{
    return *version;
}
#endif

#ifdef FAKE_PLAIN
int plain_function(void)
{
    return 1;
}
#endif

/* For an extension that needs more than the fake of PyTorch does. */
int cudaMore(void);
int nvfakeStart(void);

#ifdef FAKE_MORE
int cudaMore(void)
{
    return 0;
}
#endif

#ifdef FAKE_NVFAKE
int nvfakeStart(void)
{
    return 0;
}
#endif
