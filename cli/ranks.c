/*
 * cli/ranks.c - see ranks.h.
 */
#include "cli/ranks.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

struct names {
    char **items;
    size_t count, cap;
};

static int name_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* `trace.rank1.db` and `trace.db` have the same stem, "trace": of trace.db the names of others are made. */
static size_t stem_len(const char *name)
{
    return strcspn(name, ".");
}

static bool is_trace_name(const char *name, const char *of)
{
    const size_t len = strlen(name);

    return strcmp(name, of) != 0 && len > 3 && strcmp(name + len - 3, ".db") == 0 &&
           stem_len(name) == stem_len(of) && strncmp(name, of, stem_len(of)) == 0;
}

/* The files in `folder` that may belong to the trace `of`, sorted. */
static void names_read(const char *folder, const char *of, struct names *out)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        if (!is_trace_name(entry->d_name, of))
            continue;
        out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
        out->items[out->count++] = vs_strdup(entry->d_name);
    }
    if (dir)
        closedir(dir);
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), name_compare);
}

static bool is_of(const char *path, const char *recording)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    const char *own = NULL;
    bool is_of;

    if (rpl_trace_open(path, &trace, &err))
        VS_LOG(VS_LOG_CLI, 1, "%s", err.text);
    else
        own = rpl_trace_meta(trace, "recording");
    is_of = own && strcmp(own, recording) == 0;
    rpl_trace_free(trace);
    return is_of;
}

/* Add the others of the first rank's recording. */
static enum vs_status others_add(const char *path, const char *recording, struct rpl_ranks *ranks,
                                 struct vs_error *err)
{
    const char *slash = strrchr(path, '/');
    const size_t folder_len = slash ? (size_t)(slash + 1 - path) : 0;
    char *folder = folder_len ? vs_strndup(path, folder_len) : vs_strdup(".");
    struct names names = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    names_read(folder, path + folder_len, &names);
    for (size_t i = 0; i < names.count; i++) {
        struct vs_text beside = {NULL, 0, 0};

        vs_text_add_n(&beside, path, folder_len);
        vs_text_add(&beside, names.items[i]);
        if (!st && is_of(vs_text_get(&beside), recording))
            st = rpl_ranks_add(ranks, vs_text_get(&beside), err);
        vs_text_release(&beside);
        vs_free(names.items[i]);
    }
    vs_free(names.items);
    vs_free(folder);
    return st;
}

enum vs_status cli_ranks_find(const char *path, struct rpl_ranks *ranks, struct vs_error *err)
{
    const char *recording;
    char *id;
    enum vs_status st = rpl_ranks_add(ranks, path, err);

    if (st)
        return st;
    recording = rpl_trace_meta(ranks->items[0].trace, "recording");
    if (!recording)
        return vs_fail(err, VS_E_NOT_FOUND,
                       "%s: it does not say which traces were recorded with it; name them all: "
                       "report A.db B.db",
                       path);
    id = vs_strdup(recording);
    st = others_add(path, id, ranks, err);
    vs_free(id);
    if (!st && ranks->count == 1)
        st = vs_fail(err, VS_E_NOT_FOUND, "%s: no other trace of its recording is in its folder",
                     path);
    return st;
}
