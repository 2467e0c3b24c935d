/*
 * tests/standin/shared.c - see shared.h.
 */
#include "tests/standin/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[256];

const char *shared_folder(void)
{
    const char *tmp = getenv("TMPDIR");

    if (!folder[0]) {
        snprintf(folder, sizeof(folder), "%s/vramscope-standin-XXXXXX", tmp && *tmp ? tmp : "/tmp");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

int shared_cleanup(void **state)
{
    char command[512];

    (void)state;
    if (!folder[0])
        return 0;
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

const char *shared_path(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", shared_folder(), name);
    return path;
}

const char *shared_file(const char *name, const void *bytes, size_t len)
{
    const char *path = shared_path(name);
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    return path;
}

const char *shared_stub_write(const struct sti_stub *stub)
{
    struct vs_text bytes = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    const char *path;

    if (sti_stub_make(stub, &bytes, &err))
        fail_msg("%s", err.text);
    path = shared_file(stub->soname, bytes.data, bytes.len);
    vs_text_release(&bytes);
    return path;
}

void *shared_stub_load(const struct sti_stub *stub)
{
    void *handle = dlopen(shared_stub_write(stub), RTLD_NOW | RTLD_LOCAL);

    if (!handle)
        fail_msg("%s", dlerror());
    return handle;
}

const char *shared_build(void)
{
    static char path[512];
    const char *program = getenv("VRAMSCOPE");
    char *slash;

    snprintf(path, sizeof(path), "%s", program ? program : "build/vramscope");
    slash = strrchr(path, '/');
    assert_non_null(slash);
    *slash = '\0';
    return path;
}

const char *shared_fake_torch(void)
{
    static char path[640];

    snprintf(path, sizeof(path), "%s/fake/standin/torch/lib/libtorch_cuda.so", shared_build());
    return path;
}
