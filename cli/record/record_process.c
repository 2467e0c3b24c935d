/*
 * cli/record/record_process.c - see record_process.h.
 *
 * Must not know:  how a program is started.
 * Invariant:      an unknown fact is ignored.
 */
#include "cli/record/record_process.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/importer.h"
#include "cli/record/record_standin.h"

#define STATUS ".status"
#define LINE_MAX_BYTES 8192

static void text_set(char **out, const char *text)
{
    vs_free(*out);
    *out = vs_strdup(text);
}

/* One more line of a text that is NULL at first. */
static void line_add(char **out, const char *line)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "%s%s%s", *out ? *out : "", *out ? "\n" : "", line);
    vs_free(*out);
    *out = vs_text_take(&text);
}

/* A line that begins as one that is there already takes its place: a process may report more than once. */
static void own_set(struct wif_words *own, const char *line)
{
    const size_t len = strcspn(line, " ") + 1;

    for (size_t i = 0; i < own->count; i++)
        if (strncmp(own->items[i], line, len) == 0) {
            text_set(&own->items[i], line);
            return;
        }
    wif_words_add(own, line);
}

static void fact_set(struct cli_process *p, const char *fact, const char *text)
{
    const struct {
        const char *fact;
        char **out;
    } TEXTS[] = {
        {"program", &p->program},       {"torch", &p->torch}, {"played", &p->simulated},
        {"reads", &p->reads},           {"read", &p->read},   {"dump", &p->dumped},
        {"read_kinds", &p->read_kinds}, {"world", &p->world}, {"collectives", &p->collectives},
        {"visible", &p->visible}};

    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++)
        if (strcmp(fact, TEXTS[i].fact) == 0)
            text_set(TEXTS[i].out, text);
    if (strcmp(fact, "pid") == 0)
        p->pid = (pid_t)strtol(text, NULL, 10);
    else if (strcmp(fact, "rank") == 0)
        p->rank = strtoll(text, NULL, 10);
    else if (strcmp(fact, "error") == 0 && !p->error)
        p->error = vs_strdup(text);
    else if (strcmp(fact, "script") == 0)
        wif_words_add(&p->scripts, text);
    else if (strcmp(fact, "own") == 0)
        own_set(&p->own, text);
    else if (strcmp(fact, "refused") == 0)
        line_add(&p->refused, text);
    else if (strcmp(fact, "mistake") == 0)
        line_add(&p->mistakes, text);
}

static void status_read(const char *folder, const char *file_name, struct cli_process *p)
{
    struct vs_text path = {NULL, 0, 0};
    char line[LINE_MAX_BYTES];
    FILE *file;

    p->name = vs_strndup(file_name, strlen(file_name) - strlen(STATUS));
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

static struct cli_process *process_add(struct cli_processes *all)
{
    all->items = vs_grow(all->items, all->count, &all->cap, sizeof(*all->items));
    memset(&all->items[all->count], 0, sizeof(*all->items));
    all->items[all->count].rank = CLI_NO_RANK;
    return &all->items[all->count++];
}

static void statuses_read(const char *folder, struct cli_processes *all)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        const size_t len = strlen(entry->d_name);

        if (len > strlen(STATUS) && strcmp(entry->d_name + len - strlen(STATUS), STATUS) == 0)
            status_read(folder, entry->d_name, process_add(all));
    }
    if (dir)
        closedir(dir);
    if (all->count)
        qsort(all->items, all->count, sizeof(*all->items), by_name);
}

/* Of two processes in order of their start: whether `p` is more likely to be the program itself than `best`. */
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

/* The latest process with this pid, as pids are reused. */
static struct cli_process *process_of(const struct cli_processes *all, pid_t pid)
{
    for (size_t i = all->count; i-- > 0;)
        if (all->items[i].pid == pid)
            return &all->items[i];
    return NULL;
}

void cli_processes_read(const char *folder, const struct cli_driver *driver, pid_t root,
                        struct cli_processes *out)
{
    memset(out, 0, sizeof(*out));
    statuses_read(folder, out);
    for (size_t i = 0; i < driver->pid_count; i++)
        if (!process_of(out, driver->pids[i]))
            process_add(out)->pid = driver->pids[i];
    first_to_front(out, root);
}

void cli_processes_release(struct cli_processes *processes)
{
    for (size_t i = 0; i < processes->count; i++) {
        struct cli_process *p = &processes->items[i];

        vs_free(p->name);
        vs_free(p->program);
        vs_free(p->torch);
        vs_free(p->simulated);
        vs_free(p->reads);
        vs_free(p->read);
        vs_free(p->read_kinds);
        vs_free(p->world);
        vs_free(p->visible);
        vs_free(p->collectives);
        vs_free(p->dumped);
        vs_free(p->error);
        vs_free(p->trace);
        vs_free(p->refused);
        vs_free(p->mistakes);
        wif_words_release(&p->scripts);
        wif_words_release(&p->own);
    }
    vs_free(processes->items);
    memset(processes, 0, sizeof(*processes));
}

/* ---- names ---- */

/* `out` with words before its ending: trace.rank1.db; a word may be empty. */
static char *named(const char *out, const char *word, const char *device)
{
    const size_t len = strlen(out);
    const bool has_ending = len > 3 && strcmp(out + len - 3, ".db") == 0;
    struct vs_text name = {NULL, 0, 0};

    vs_text_add_n(&name, out, has_ending ? len - 3 : len);
    vs_text_addf(&name, "%s%s%s%s%s", *word ? "." : "", word, *device ? "." : "", device,
                 has_ending ? ".db" : "");
    return vs_text_take(&name);
}

/* Without a rank, or if its name is taken, the pid makes the name unique. */
static char *name_of_process(const struct cli_processes *all, const struct cli_process *p,
                             const char *out, bool force)
{
    char word[32];
    char *name;
    bool is_taken;

    snprintf(word, sizeof(word), "rank%" PRId64, p->rank);
    name = named(out, word, "");
    is_taken = p->rank == CLI_NO_RANK || (!force && access(name, F_OK) == 0);
    for (const struct cli_process *q = all->items; q < p && !is_taken; q++)
        is_taken = q->trace && strcmp(q->trace, name) == 0;
    if (!is_taken)
        return name;
    vs_free(name);
    snprintf(word, sizeof(word), "%ld", (long)p->pid);
    return named(out, word, "");
}

static bool has_file(const struct cli_driver *driver, pid_t pid)
{
    for (size_t i = 0; i < driver->count; i++)
        if (driver->files[i].pid == pid)
            return true;
    return false;
}

static void file_move(const struct cli_processes *all, struct cli_driver_file *file)
{
    const struct cli_process *p = process_of(all, file->pid);
    char *path;

    if (!p || !p->trace)
        return;
    path = named(p->trace, p->dumped ? "driver" : "", file->device);
    cli_driver_move(file, path);
    vs_free(path);
}

void cli_processes_name(struct cli_processes *processes, struct cli_driver *driver, const char *out,
                        bool force)
{
    bool has_first = false;

    for (size_t i = 0; i < processes->count; i++) {
        struct cli_process *p = &processes->items[i];

        if (!p->dumped && !has_file(driver, p->pid))
            continue;
        p->trace = has_first ? name_of_process(processes, p, out, force) : vs_strdup(out);
        has_first = true;
    }
    /* the first process that used CUDA may have taken the name that belongs to another one */
    for (size_t i = 0; i < driver->count; i++)
        if (strcmp(driver->files[i].path, out) == 0)
            file_move(processes, &driver->files[i]);
    for (size_t i = 0; i < driver->count; i++)
        file_move(processes, &driver->files[i]);
}

/* ---- snapshots ---- */

/* Rows of meta, NULL-ended; the strings are heap memory. */
struct facts {
    struct cli_fact *items;
    size_t count, cap;
};

/* Add a fact to the list if it is known. */
static void fact_add(struct facts *facts, const char *key, const char *value)
{
    if (!value)
        return;
    facts->items = vs_grow(facts->items, facts->count + 1, &facts->cap, sizeof(*facts->items));
    facts->items[facts->count++] = (struct cli_fact){vs_strdup(key), vs_strdup(value)};
    facts->items[facts->count] = (struct cli_fact){NULL, NULL};
}

static void on_note(void *user, const char *key, const char *value)
{
    fact_add(user, key, value);
}

static void facts_release(struct facts *facts)
{
    for (size_t i = 0; i < facts->count; i++) {
        vs_free((void *)(uintptr_t)facts->items[i].key); /* const is the readers' */
        vs_free((void *)(uintptr_t)facts->items[i].value);
    }
    vs_free(facts->items);
}

static void facts_fill(const struct cli_process *process, const struct cli_import *import,
                       const char *driver_trace, struct facts *out)
{
    char *unknown = cli_standin_unknown(import->folder, process->pid);
    const char *slash = strrchr(import->folder, '/');
    char pid[24];
    char rank[24];

    snprintf(pid, sizeof(pid), "%ld", (long)process->pid);
    fact_add(out, "pid", pid);
    fact_add(out, "torch", process->torch);
    fact_add(out, "dumped", process->dumped);
    fact_add(out, "driver_trace", driver_trace);
    fact_add(out, "gpu_played", process->simulated);
    fact_add(out, "host_reads", process->reads);
    fact_add(out, "host_read_first", process->read);
    fact_add(out, "host_read_kinds", process->read_kinds);
    fact_add(out, "gpu_unknown", unknown);
    fact_add(out, "collectives", process->collectives);
    fact_add(out, "cuda_visible_devices", process->visible);
    fact_add(out, "recording", slash ? slash + 1 : import->folder);
    if (process->rank != CLI_NO_RANK) {
        snprintf(rank, sizeof(rank), "%" PRId64, process->rank);
        fact_add(out, "rank", rank);
        fact_add(out, "world", process->world);
    }
    fact_add(out, "refused", process->refused);
    for (size_t i = 0; i < process->own.count; i++) {
        const char *line = process->own.items[i];
        struct vs_text key = {NULL, 0, 0};

        vs_text_addf(&key, WIF_SCRIPT_VALUE "%.*s", (int)strcspn(line, " "), line);
        fact_add(out, vs_text_get(&key), line + strcspn(line, " ") + (strchr(line, ' ') != NULL));
        vs_text_release(&key);
    }
    fact_add(out, "mistakes", process->mistakes);
    if (import->recipe) {
        struct wif_recipe recipe = *import->recipe; /* a view of both */

        recipe.scripts = process->scripts;
        wif_recipe_write(&recipe, on_note, out);
    }
    vs_free(unknown);
}

static bool was_saved(const struct cli_process *process)
{
    return process->dumped && strcmp(process->dumped, "interval") == 0;
}

static void saved_path(const struct cli_process *process, const struct cli_import *import,
                       struct vs_text *out)
{
    vs_text_addf(out, "%s.%ld.pickle", import->out, (long)process->pid);
}

/* The path of the snapshot of a process. */
static void snapshot_path(const struct cli_process *process, const struct cli_import *import,
                          struct vs_text *out)
{
    if (was_saved(process))
        saved_path(process, import, out);
    else
        vs_text_addf(out, "%s/%s.pickle", import->folder, process->name);
}

int64_t cli_process_age_s(const struct cli_process *process, const struct cli_import *import)
{
    struct vs_text path = {NULL, 0, 0};
    struct stat written;
    int64_t age = 0;

    snapshot_path(process, import, &path);
    if (stat(vs_text_get(&path), &written) == 0 && written.st_mtime < time(NULL))
        age = (int64_t)(time(NULL) - written.st_mtime);
    vs_text_release(&path);
    return age;
}

void cli_process_saved_remove(const struct cli_process *process, const struct cli_import *import)
{
    struct vs_text path = {NULL, 0, 0};

    saved_path(process, import, &path);
    unlink(vs_text_get(&path));
    vs_text_add(&path, ".part");
    unlink(vs_text_get(&path));
    vs_text_release(&path);
}

/* Whether its snapshot has all that the process did. */
static bool is_whole(const struct cli_process *process)
{
    return strcmp(process->dumped, "oom") != 0 && !was_saved(process);
}

enum vs_status cli_process_import(const struct cli_process *process,
                                  const struct cli_import *import, const char *driver_trace,
                                  struct vs_error *err)
{
    struct cli_importer importer = {.count = 0};
    struct vs_text snapshot = {NULL, 0, 0};
    struct facts facts = {NULL, 0, 0};
    enum vs_status st;

    facts_fill(process, import, driver_trace, &facts);
    snapshot_path(process, import, &snapshot);
    st = cli_importer_read(vs_text_get(&snapshot), CLI_ALL_DEVICES, false, &importer, err);
    if (!st) {
        importer.toggles = import->toggles;
        st = cli_importer_write(&importer, process->program, facts.items, process->trace,
                                import->force, is_whole(process), err);
    }
    facts_release(&facts);
    vs_text_release(&snapshot);
    cli_importer_release(&importer);
    return st;
}
