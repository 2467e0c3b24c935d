/*
 * cli/record/record_standin.c - see record_standin.h.
 */
#include "cli/record/record_standin.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/target.h"
#include "engine/device/plugin.h"

#define LINE_MAX_BYTES 4096
#define GPUS_MAX 64u
#define GPUS_OF_A_MACHINE 8u
#define WORLD_MAX 1000000u
#define GPU_OF_A_RANK "a100-80"

static enum vs_status gpu_check(const char *gpu, struct vs_error *err)
{
    const struct vs_target *target;
    struct vs_text names = {NULL, 0, 0};
    enum vs_status st;

    if (strcmp(gpu, "auto") == 0 || strcmp(gpu, "none") == 0 || vs_target_find(gpu))
        return VS_OK;
    for (size_t i = 0; (target = vs_target_at(i)) != NULL; i++)
        vs_text_addf(&names, ", %s", target->name);
    st = vs_fail(err, VS_E_USAGE, "record: --gpu cannot be `%s`; legal: auto, none%s", gpu,
                 vs_text_get(&names));
    vs_text_release(&names);
    return st;
}

/* A setting of two words, of which the first is the default: it is checked, and appended if it is given. */
static enum vs_status choice_add(const struct cli_args *args, const char *name,
                                 const char *const words[2], struct vs_text *out,
                                 struct vs_error *err)
{
    const char *value = cli_args_has(args, name) ? cli_args_value(args, name) : words[0];

    if (strcmp(value, words[0]) != 0 && strcmp(value, words[1]) != 0)
        return vs_fail(err, VS_E_USAGE, "record: --%s cannot be `%s`; legal: %s, %s", name, value,
                       words[0], words[1]);
    vs_text_addf(out, "%s %s\n", name, value);
    return VS_OK;
}

/* --world and --rank. gpus: of a machine, 0: as many as machines usually have. */
static enum vs_status rank_fill(const struct cli_args *args, size_t gpus, struct cli_rank *out,
                                struct vs_error *err)
{
    const size_t machine = gpus ? gpus : GPUS_OF_A_MACHINE;
    size_t numbers[CLI_RANK_FIGURES];
    enum vs_status st = cli_args_count(args, "world", 0, WORLD_MAX, &out->world, err);

    if (!st)
        st = cli_args_count(args, "rank", 0, WORLD_MAX, &out->rank, err);
    if (st)
        return st;
    if (cli_args_has(args, "world") ? !out->world : cli_args_has(args, "rank"))
        return vs_fail(err, VS_E_USAGE, "record: --rank is one of --world N, and N is at least 1");
    if (!out->world)
        return VS_OK;
    if (out->rank >= out->world)
        return vs_fail(err, VS_E_USAGE,
                       "record: --rank cannot be %zu: the ranks of --world %zu are 0 to %zu",
                       out->rank, out->world, out->world - 1);
    numbers[0] = out->rank;
    numbers[1] = out->world;
    numbers[2] = out->rank % machine;
    numbers[3] = out->world < machine ? out->world : machine;
    for (size_t i = 0; i < CLI_RANK_FIGURES; i++)
        snprintf(out->figures[i], sizeof(out->figures[i]), "%zu", numbers[i]);
    return VS_OK;
}

/* The GPU to simulate: of --gpu, or of the toggle `target`. */
static const char *gpu_of(const struct cli_args *args)
{
    if (cli_args_has(args, "gpu"))
        return cli_args_value(args, "gpu");
    return vs_toggles_is(&args->toggles, VS_TOGGLE_TARGET, "none")
               ? "auto"
               : vs_toggles_get(&args->toggles, VS_TOGGLE_TARGET);
}

enum vs_status cli_standin_settings(const struct cli_args *args, struct vs_text *out,
                                    struct cli_rank *rank, struct vs_error *err)
{
    const char *gpu = gpu_of(args);
    const bool is_none = strcmp(gpu, "none") == 0;
    char library[PATH_MAX];
    char path[PATH_MAX];
    size_t count = 0;
    struct vs_text choices = {NULL, 0, 0};
    enum vs_status st = gpu_check(gpu, err);

    memset(rank, 0, sizeof(*rank));
    if (!st)
        st = choice_add(args, "async", (const char *const[]){"early", "late"}, &choices, err);
    if (!st)
        st = choice_add(args, "values", (const char *const[]){"zeros", "uniform"}, &choices, err);
    if (!st)
        st = cli_args_count(args, "gpus", 0, GPUS_MAX, &count, err);
    if (!st)
        st = rank_fill(args, count, rank, err);
    if (!st && is_none && rank->world)
        st =
            vs_fail(err, VS_E_USAGE,
                    "record: --world simulates the other ranks, and so a GPU: not with --gpu none");
    if (st || is_none)
        goto out;
    if (rank->world && strcmp(gpu, "auto") == 0) /* with a real one it would wait for real ranks */
        gpu = GPU_OF_A_RANK;
    if (eng_plugin_find("standin", library, sizeof(library)) && realpath(library, path))
        vs_text_addf(out, "gpu %s\ngpus %zu\nstandin %s\n%s", gpu, count, path,
                     vs_text_get(&choices));
    else if (strcmp(gpu, "auto") != 0)
        st = vs_fail(
            err, VS_E_UNSUPPORTED,
            "record: --gpu %s: vramscope_standin.so, which simulates a GPU, is not beside the "
            "program; it is built on x86-64 alone",
            gpu);
    if (!st && rank->world)
        vs_text_addf(out, "world %zu\n", rank->world);
out:
    vs_text_release(&choices);
    return st;
}

void cli_standin_environment(const struct cli_rank *rank, struct cli_launch *launch)
{
    const struct {
        const char *name;
        const char *value;
    } ALL[] = {
        {"RANK", rank->figures[0]},
        {"WORLD_SIZE", rank->figures[1]},
        {"LOCAL_RANK", rank->figures[2]},
        {"LOCAL_WORLD_SIZE", rank->figures[3]},
        {"ROLE_RANK", rank->figures[0]},
        {"ROLE_WORLD_SIZE", rank->figures[1]},
        {"MASTER_ADDR", "127.0.0.1"},
        {"MASTER_PORT", "29500"}}; /* the store's own port replaces it once torch is loaded */

    for (size_t i = 0; rank->world && i < sizeof(ALL) / sizeof(ALL[0]); i++) {
        VS_ASSERT(launch->count < CLI_LAUNCH_SETTINGS_MAX);
        launch->names[launch->count] = ALL[i].name;
        launch->values[launch->count++] = ALL[i].value;
    }
}

/* ---- what it could not do ---- */

/* "PID FACT TEXT" */
struct fact {
    const char *name;
    const char *sentence;
    const char *end;
};

static const struct fact FACTS[] = {
    {"unknown",
     "unknown to the simulated GPU: ", "; from there on memory may differ from that of a real GPU"},
    {"refused", "no GPU was simulated: ", ""},
    {"zeros", "values of the simulated GPU are zeros, for what --values needs is not there: ", ""},
    {"absent", "the program started ",
     ", which belongs to NVIDIA's driver; the simulated GPU is known to PyTorch and NVML alone"},
    {"rank", "", "; to the program the device timed out"},
    {"key", "this key of the store would have a value of another rank: ",
     "; it is unknown, and from there on memory may differ"},
};

/* Did an earlier line say the same? seen: the lines so far, with a newline each. */
static bool is_new(struct vs_text *seen, const char *text)
{
    struct vs_text line = {NULL, 0, 0};
    bool is_there;

    vs_text_addf(&line, "\n%s\n", text);
    is_there = strstr(vs_text_get(seen), vs_text_get(&line)) != NULL;
    if (!is_there)
        vs_text_addf(seen, "%s%s\n", seen->len ? "" : "\n", text);
    vs_text_release(&line);
    return !is_there;
}

static void line_say(char *line, struct vs_text *seen)
{
    char *fact = strchr(line, ' ');
    char *text = fact ? strchr(fact + 1, ' ') : NULL;

    line[strcspn(line, "\n")] = '\0';
    if (!text)
        return;
    *text++ = '\0';
    for (size_t i = 0; i < sizeof(FACTS) / sizeof(FACTS[0]); i++)
        if (strcmp(fact + 1, FACTS[i].name) == 0 && is_new(seen, text))
            fprintf(stderr, "vramscope: %s%s%s\n", FACTS[i].sentence, text, FACTS[i].end);
}

/* Is it a line "PID unknown TEXT" of this process? Returns TEXT, or NULL. */
static const char *unknown_of(char *line, pid_t pid)
{
    static const char FACT[] = " unknown ";
    char *rest;

    line[strcspn(line, "\n")] = '\0';
    if (strtol(line, &rest, 10) != (long)pid || strncmp(rest, FACT, strlen(FACT)) != 0)
        return NULL;
    return rest + strlen(FACT);
}

char *cli_standin_unknown(const char *folder, pid_t pid)
{
    struct vs_text path = {NULL, 0, 0};
    struct vs_text out = {NULL, 0, 0};
    char line[LINE_MAX_BYTES];
    const char *text;
    char *taken;
    FILE *file;

    vs_text_addf(&path, "%s/standin", folder);
    file = fopen(vs_text_get(&path), "r");
    while (file && fgets(line, sizeof(line), file))
        if ((text = unknown_of(line, pid)) != NULL)
            vs_text_addf(&out, "%s%s", out.len ? " | " : "", text);
    if (file)
        fclose(file);
    taken = out.len ? vs_strdup(vs_text_get(&out)) : NULL;
    vs_text_release(&path);
    vs_text_release(&out);
    return taken;
}

void cli_standin_say(const char *folder)
{
    struct vs_text path = {NULL, 0, 0};
    struct vs_text seen = {NULL, 0, 0};
    char line[LINE_MAX_BYTES];
    FILE *file;

    vs_text_addf(&path, "%s/standin", folder);
    file = fopen(vs_text_get(&path), "r");
    while (file && fgets(line, sizeof(line), file))
        line_say(line, &seen);
    if (file)
        fclose(file);
    vs_text_release(&path);
    vs_text_release(&seen);
}
