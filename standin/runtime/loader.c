/*
 * standin/runtime/loader.c - see loader.h.
 */
#include "standin/runtime/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "standin/family.h"
#include "standin/runtime/calls.h"
#include "standin/runtime/unknown.h"
#include "standin/stub.h"

static struct {
    pthread_mutex_t lock;
    struct sti_table **tables;
    size_t count, cap;
} loaded = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void targets_fill(struct sti_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        const char *name = sti_table_name(table, table->entries[i].name);
        sti_function *function = sti_call_find(name);

        if (!function && sti_family_of(name) == STI_DRIVER)
            function = sti_driver_find(name);
        if (!function)
            function = sti_call_default(name);
        if (!function)
            function = sti_unknown_function;
        table->entries[i].target = (uintptr_t)function;
    }
}

static enum vs_status handle_take(void *handle, const char *name, struct vs_error *err)
{
    struct sti_table *table = handle ? dlsym(handle, STI_TABLE_SYMBOL) : NULL;

    if (!handle)
        return vs_fail(err, VS_E_IO, "%s: cannot be loaded: %s", name, dlerror());
    if (!table || table->magic != STI_TABLE_MAGIC) {
        dlclose(handle);
        return vs_fail(err, VS_E_DAMAGED, "%s: no stub library of this version", name);
    }
    targets_fill(table);
    pthread_mutex_lock(&loaded.lock);
    loaded.tables = vs_grow(loaded.tables, loaded.count, &loaded.cap, sizeof(*loaded.tables));
    loaded.tables[loaded.count++] = table;
    pthread_mutex_unlock(&loaded.lock);
    return VS_OK;
}

enum vs_status sti_loader_file(const char *path, struct vs_error *err)
{
    return handle_take(dlopen(path, RTLD_NOW | RTLD_LOCAL), path, err);
}

enum vs_status sti_loader_need(const struct sti_need *need, bool is_global, struct vs_error *err)
{
    const struct sti_stub stub = {need->soname, need->symbols, need->count};
    struct vs_text bytes = {NULL, 0, 0};
    struct vs_text path = {NULL, 0, 0};
    enum vs_status st = sti_stub_make(&stub, &bytes, err);
    int fd;

    if (st)
        goto out;
    fd = memfd_create(need->soname, MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes.data, bytes.len) != (ssize_t)bytes.len) {
        st = vs_fail(err, VS_E_IO, "%s: no memory for it: %s", need->soname, strerror(errno));
    } else {
        /* the dynamic linker identifies files by their paths, and file descriptors are reused: no path is used twice */
        vs_text_add(&path, "/proc/self/fd/");
        for (size_t i = 0; i < loaded.count; i++)
            vs_text_add(&path, "./");
        vs_text_addf(&path, "%d", fd);
        st = handle_take(
            dlopen(vs_text_get(&path), RTLD_NOW | (is_global ? RTLD_GLOBAL : RTLD_LOCAL)),
            need->soname, err);
    }
    if (fd >= 0)
        close(fd);
out:
    vs_text_release(&path);
    vs_text_release(&bytes);
    return st;
}

void *sti_loader_unknown(const char *function)
{
    struct sti_needs needs = {.strings = NULL};
    struct vs_text soname = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    void *handle;
    void *out = NULL;

    vs_text_addf(&soname, "libcuda.so.1:%s", function);
    if (!sti_loader_has(vs_text_get(&soname))) {
        sti_needs_symbol(&needs, vs_text_get(&soname), function, NULL);
        if (sti_loader_need(&needs.libraries[0], false, &err))
            goto out;
    }
    handle = dlopen(vs_text_get(&soname), RTLD_NOW | RTLD_NOLOAD);
    out = handle ? dlsym(handle, function) : NULL;
out:
    sti_needs_release(&needs);
    vs_text_release(&soname);
    return out;
}

/* The entry of a function in the libraries with this name, or, NULL, in all of them. */
static bool find(const char *soname, const char *function)
{
    bool is_found = false;

    pthread_mutex_lock(&loaded.lock);
    for (size_t i = 0; i < loaded.count && !is_found; i++) {
        const struct sti_table *table = loaded.tables[i];

        if (soname && strcmp(sti_table_name(table, table->soname), soname) != 0)
            continue;
        is_found = !function;
        for (uint32_t k = 0; k < table->count && !is_found; k++)
            is_found = strcmp(sti_table_name(table, table->entries[k].name), function) == 0;
    }
    pthread_mutex_unlock(&loaded.lock);
    return is_found;
}

bool sti_loader_has(const char *soname)
{
    return find(soname, NULL);
}

bool sti_loader_has_function(const char *soname, const char *function)
{
    return find(soname, function);
}

const char *sti_loaded_name(const struct sti_entry *entry, const char **library)
{
    const char *name = "a function";

    *library = "a library";
    pthread_mutex_lock(&loaded.lock);
    for (size_t i = 0; i < loaded.count; i++) {
        const struct sti_table *table = loaded.tables[i];

        if (entry >= table->entries && entry < table->entries + table->count) {
            name = sti_table_name(table, entry->name);
            *library = sti_table_name(table, table->soname);
        }
    }
    pthread_mutex_unlock(&loaded.lock);
    return name;
}
