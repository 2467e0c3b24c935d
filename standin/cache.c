/*
 * standin/cache.c - see cache.h.
 */
#include "standin/cache.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

#define LIST "list"
#define LIST_FIRST_LINE "vramscope stand-in 1\n"
#define NAME_BYTES 256

static bool path_of(char *out, size_t size, const char *folder, const char *name)
{
    return snprintf(out, size, "%s/%s", folder, name) < (int)size;
}

static void name_add(struct sti_cache *cache, size_t *cap, const char *name)
{
    cache->names = vs_grow(cache->names, cache->count, cap, sizeof(*cache->names));
    cache->names[cache->count++] = vs_strdup(name);
}

/* Each line is "BYTES NAME"; the file must have that length. */
static bool list_read(FILE *list, struct sti_cache *cache)
{
    char line[NAME_BYTES + 32];
    char path[PATH_MAX];
    struct stat info;
    size_t cap = 0;

    if (!fgets(line, sizeof(line), list) || strcmp(line, LIST_FIRST_LINE) != 0)
        return false;
    while (fgets(line, sizeof(line), list)) {
        char *name;
        const uint64_t bytes = strtoull(line, &name, 10);

        line[strcspn(line, "\n")] = '\0';
        if (*name++ != ' ' || strchr(name, '/') ||
            !path_of(path, sizeof(path), cache->folder, name) || stat(path, &info) != 0 ||
            (uint64_t)info.st_size != bytes)
            return false;
        name_add(cache, &cap, name);
    }
    return cache->count > 0;
}

static char *folder_of(const char *root, uint64_t key)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "%s/%016" PRIx64, root, key);
    return vs_text_take(&text);
}

bool sti_cache_find(const char *root, uint64_t key, struct sti_cache *out)
{
    char path[PATH_MAX];
    FILE *list = NULL;
    bool is_whole = false;

    memset(out, 0, sizeof(*out));
    out->folder = folder_of(root, key);
    if (path_of(path, sizeof(path), out->folder, LIST))
        list = fopen(path, "r");
    if (list) {
        is_whole = list_read(list, out);
        fclose(list);
    }
    if (!is_whole)
        sti_cache_release(out);
    return is_whole;
}

void sti_cache_release(struct sti_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++)
        vs_free(cache->names[i]);
    vs_free(cache->names);
    vs_free(cache->folder);
    memset(cache, 0, sizeof(*cache));
}

/* ---- writing ---- */

static enum vs_status file_write(const char *folder, const char *name, const struct vs_text *bytes,
                                 struct vs_error *err)
{
    char path[PATH_MAX];
    FILE *file = NULL;
    bool is_written;

    if (path_of(path, sizeof(path), folder, name))
        file = fopen(path, "wb");
    is_written = file && fwrite(bytes->data, 1, bytes->len, file) == bytes->len;
    if (file && fclose(file) != 0)
        is_written = false;
    return is_written ? VS_OK
                      : vs_fail(err, VS_E_IO, "%s/%s: cannot be written: %s", folder, name,
                                strerror(errno));
}

static enum vs_status stubs_write(const char *folder, const struct sti_needs *needs,
                                  struct vs_error *err)
{
    struct vs_text list = {NULL, 0, 0};
    struct vs_text bytes = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    vs_text_add(&list, LIST_FIRST_LINE);
    for (size_t i = 0; i < needs->count && !st; i++) {
        const struct sti_need *need = &needs->libraries[i];
        const struct sti_stub stub = {need->soname, need->symbols, need->count};

        if (strchr(need->soname, '/') || strlen(need->soname) >= NAME_BYTES)
            continue; /* not a name that a linker would give */
        vs_text_clear(&bytes);
        st = sti_stub_make(&stub, &bytes, err);
        if (!st)
            st = file_write(folder, need->soname, &bytes, err);
        vs_text_addf(&list, "%zu %s\n", bytes.len, need->soname);
    }
    if (!st)
        st = file_write(folder, LIST, &list, err);
    vs_text_release(&bytes);
    vs_text_release(&list);
    return st;
}

static void folder_remove(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
    rmdir(folder);
}

/* Creates the folder and its missing parents. */
static void folders_make(const char *path)
{
    char part[PATH_MAX];

    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
        mkdir(part, 0700);
    }
    mkdir(path, 0700);
}

enum vs_status sti_cache_write(const char *root, uint64_t key, const struct sti_needs *needs,
                               struct vs_error *err)
{
    char *folder = folder_of(root, key);
    struct vs_text text = {NULL, 0, 0};
    struct sti_cache other;
    char *work;
    enum vs_status st;

    vs_text_addf(&text, "%s.XXXXXX", folder);
    work = vs_text_take(&text);
    folders_make(root);
    if (!mkdtemp(work)) {
        st = vs_fail(err, VS_E_IO, "%s: no folder can be made there: %s", root, strerror(errno));
        goto out;
    }
    st = stubs_write(work, needs, err);
    if (!st && rename(work, folder) != 0) {
        /* another process was faster, or the existing folder is damaged */
        if (!sti_cache_find(root, key, &other)) {
            folder_remove(folder);
            if (rename(work, folder) != 0)
                st = vs_fail(err, VS_E_IO, "%s: cannot be written: %s", folder, strerror(errno));
        } else {
            sti_cache_release(&other);
        }
    }
    folder_remove(work); /* after success it has been renamed, and this removes nothing */
out:
    vs_free(work);
    vs_free(folder);
    return st;
}

bool sti_cache_root(char *out, size_t size)
{
    const char *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int len = -1;

    if (xdg && *xdg == '/')
        len = snprintf(out, size, "%s/vramscope/standin", xdg);
    else if (home && *home == '/')
        len = snprintf(out, size, "%s/.cache/vramscope/standin", home);
    return len > 0 && (size_t)len < size;
}
