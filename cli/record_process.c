/*
 * cli/record_process.c - see record_process.h.
 *
 * Must not know:  how a program is run.
 * Invariant:      a fact that is not known is passed over.
 */
#include "cli/record_process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/importer.h"

#define STATUS ".status"
#define LINE_MAX_BYTES 8192

static void fact_set(struct cli_process *p, const char *fact, const char *text)
{
    if (strcmp(fact, "pid") == 0) {
        p->pid = (pid_t)strtol(text, NULL, 10);
    } else if (strcmp(fact, "rank") == 0) {
        p->rank = strtoll(text, NULL, 10);
    } else if (strcmp(fact, "program") == 0) {
        vs_free(p->program);
        p->program = vs_strdup(text);
    } else if (strcmp(fact, "torch") == 0) {
        vs_free(p->torch);
        p->torch = vs_strdup(text);
    } else if (strcmp(fact, "dump") == 0) {
        vs_free(p->dumped);
        p->dumped = vs_strdup(text);
    } else if (strcmp(fact, "error") == 0 && !p->error) {
        p->error = vs_strdup(text);
    }
}

static void status_read(const char *folder, const char *file_name, struct cli_process *p)
{
    struct vs_text path = {NULL, 0, 0};
    char line[LINE_MAX_BYTES];
    FILE *file;

    memset(p, 0, sizeof(*p));
    p->name = vs_strndup(file_name, strlen(file_name) - strlen(STATUS));
    p->rank = CLI_NO_RANK;
    p->program = vs_strdup("");
    p->torch = vs_strdup("");
    vs_text_addf(&path, "%s/%s", folder, file_name);
    file = fopen(vs_text_get(&path), "r");
    while (file && fgets(line, sizeof(line), file)) {
        size_t len = strcspn(line, " \n");
        char *rest = line[len] == ' ' ? line + len + 1 : line + len;

        line[len] = '\0';
        rest[strcspn(rest, "\n")] = '\0';
        fact_set(p, line, rest);
    }
    if (file)
        fclose(file);
    vs_text_release(&path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct cli_process *)a)->name, ((const struct cli_process *)b)->name);
}

/* Of two processes in the order of time, is `p` more the program itself than `best`? */
static bool is_nearer(const struct cli_process *p, const struct cli_process *best, pid_t root)
{
    if ((p->pid == root) != (best->pid == root))
        return p->pid == root;
    if (best->pid == root || p->rank == CLI_NO_RANK)
        return false;
    return best->rank == CLI_NO_RANK || p->rank < best->rank;
}

static void first_to_front(struct cli_processes *all, pid_t root)
{
    size_t best = 0;

    for (size_t i = 1; i < all->count; i++)
        if (is_nearer(&all->items[i], &all->items[best], root))
            best = i;
    if (best) {
        struct cli_process first = all->items[best];

        memmove(all->items + 1, all->items, best * sizeof(*all->items));
        all->items[0] = first;
    }
}

void cli_processes_read(const char *folder, pid_t root, struct cli_processes *out)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    memset(out, 0, sizeof(*out));
    while (dir && (entry = readdir(dir)) != NULL) {
        const size_t len = strlen(entry->d_name);

        if (len <= strlen(STATUS) || strcmp(entry->d_name + len - strlen(STATUS), STATUS) != 0)
            continue;
        out->items = vs_grow(out->items, out->count, &out->cap, sizeof(*out->items));
        status_read(folder, entry->d_name, &out->items[out->count++]);
    }
    if (dir)
        closedir(dir);
    if (out->count) {
        qsort(out->items, out->count, sizeof(*out->items), by_name);
        first_to_front(out, root);
    }
}

void cli_processes_release(struct cli_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        struct cli_process *p = &processes->items[i];

        vs_free(p->name);
        vs_free(p->program);
        vs_free(p->torch);
        vs_free(p->dumped);
        vs_free(p->error);
        vs_free(p->trace);
    }
    vs_free(processes->items);
    memset(processes, 0, sizeof(*processes));
}

char *cli_trace_name(const char *out, const char *word)
{
    const size_t len = strlen(out);
    const bool has_ending = len > 3 && strcmp(out + len - 3, ".db") == 0;
    struct vs_text name = {NULL, 0, 0};

    vs_text_add_n(&name, out, has_ending ? len - 3 : len);
    vs_text_addf(&name, ".%s%s", word, has_ending ? ".db" : "");
    return vs_text_take(&name);
}

/* trace.rank1.db, or trace.4711.db, as pids are not given twice, where there is no rank or somebody has that name. */
static char *trace_name(const struct cli_process *p, const char *out, bool is_first, bool force)
{
    char word[32];
    char *name;

    if (is_first)
        return vs_strdup(out);
    if (p->rank != CLI_NO_RANK) {
        snprintf(word, sizeof(word), "rank%" PRId64, p->rank);
        name = cli_trace_name(out, word);
        if (force || access(name, F_OK) != 0)
            return name;
        vs_free(name);
    }
    snprintf(word, sizeof(word), "%ld", (long)p->pid);
    return cli_trace_name(out, word);
}

enum vs_status cli_process_import(struct cli_process *process, const char *folder, const char *out,
                                  bool is_first, bool force, struct vs_error *err)
{
    struct cli_importer importer = {.count = 0};
    struct vs_text snapshot = {NULL, 0, 0};
    char *trace = trace_name(process, out, is_first, force);
    char pid[24];
    const bool is_cut = process->dumped && strcmp(process->dumped, "oom") == 0;
    const struct cli_fact facts[] = {
        {"pid", pid},
        {"torch", process->torch},
        {"dumped", process->dumped},
        {NULL, NULL},
    };
    enum vs_status st;

    snprintf(pid, sizeof(pid), "%ld", (long)process->pid);
    vs_text_addf(&snapshot, "%s/%s.pickle", folder, process->name);
    st = cli_importer_read(vs_text_get(&snapshot), CLI_ALL_DEVICES, false, &importer, err);
    if (!st)
        st = cli_importer_write(&importer, process->program, facts, trace, force, !is_cut, err);
    if (!st) {
        process->trace = trace;
        trace = NULL; /* handed over */
    }
    vs_free(trace);
    vs_text_release(&snapshot);
    cli_importer_release(&importer);
    return st;
}
