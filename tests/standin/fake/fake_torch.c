/*
 * tests/standin/fake/fake_torch.c - a library that imports what PyTorch's do: functions of CUDA's runtime with a
 * version, of NCCL without one, and of a library that is not CUDA's.
 *
 * Compiled as libtorch_cuda.so; its functions say what CUDA said.
 */
int cudaGetDeviceCount(int *count);
int cudaMalloc(void **out, unsigned long size);
int cudaFoo(int a);
int ncclGetVersion(int *version);
int plain_function(void);

/* Named as PyTorch names the function of an operator: at::_ops::item::call. */
int fake_item(int (*function)(void)) __asm__("_ZN2at4_ops4item4callERKNS_6TensorE");
int fake_devices(void);
int fake_malloc(void **out, unsigned long size);
int fake_unforeseen(int a);
int fake_nccl(int *version);
int fake_plain(void);

/* It calls, and does not jump: the sum is made when the function is back. */
int fake_item(int (*function)(void))
{
    return function() + 1;
}

int fake_devices(void)
{
    int count = -1;

    return cudaGetDeviceCount(&count) == 0 ? count : -1;
}

int fake_malloc(void **out, unsigned long size)
{
    return cudaMalloc(out, size);
}

int fake_unforeseen(int a)
{
    return cudaFoo(a);
}

int fake_nccl(int *version)
{
    return ncclGetVersion(version);
}

int fake_plain(void)
{
    return plain_function();
}
