/*
 * tests/store/trace_file.c - a folder of its own for each test that needs files.
 */
#include "tests/store/trace_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

int trace_folder_setup(void **state)
{
    const char *base = getenv("TMPDIR");
    char path[4096];

    snprintf(path, sizeof(path), "%s/vramscope-test-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path))
        return -1;
    *state = vs_strdup(path);
    return 0;
}

int trace_folder_teardown(void **state)
{
    char path[4096];
    DIR *dir = opendir(*state);
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(trace_path(state, entry->d_name, path, sizeof(path)));
    if (dir)
        closedir(dir);
    rmdir(*state);
    vs_free(*state);
    return 0;
}

const char *trace_path(void **state, const char *name, char *buf, size_t size)
{
    snprintf(buf, size, "%s/%s", (const char *)*state, name);
    return buf;
}
