/*
 * tests/standin/fake/fake_extension.c - an extension that needs a function of CUDA's runtime and a library of NVIDIA's
 * that the fake of PyTorch does not.
 */
int cudaMore(void);
int nvfakeStart(void);
int fake_extension(void);

int fake_extension(void)
{
    return cudaMore() + nvfakeStart();
}
