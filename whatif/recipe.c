/*
 * whatif/recipe.c - see recipe.h.
 *
 * Must not know:  Python: a script is a text file with lines.
 */
#include "whatif/recipe.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "replay/trace/scripts.h"

#define VALUE_BRIEF 40 /* bytes of a variable's value in a message */
#define CHANGED_LINES_SHOWN 6

/*
 * The variables that are kept: they decide which program runs and what PyTorch allocates. Tokens, keys and addresses of
 * the user's services are in none of them.
 */
static const char *const KEPT[] = {
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONHASHSEED",
    "PYTHONDONTWRITEBYTECODE",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TOKENIZERS_PARALLELISM",
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_LAUNCH_BLOCKING",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUBLASLT_WORKSPACE_SIZE",
    "NVIDIA_TF32_OVERRIDE",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "TORCH_COMPILE_DISABLE",
    "TORCHDYNAMO_DISABLE",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
};
#define KEPT_COUNT (sizeof(KEPT) / sizeof(KEPT[0]))

static const char *const OPTIONS[] = {"gpu",    "gpus",    "async", "values", "rank",
                                      "stacks", "history", "world", "observe"};
#define OPTION_COUNT (sizeof(OPTIONS) / sizeof(OPTIONS[0]))

const char *wif_recipe_option(size_t i)
{
    return i < OPTION_COUNT ? OPTIONS[i] : NULL;
}

void wif_words_add(struct wif_words *words, const char *word)
{
    words->items = vs_grow(words->items, words->count + 1, &words->cap, sizeof(*words->items));
    words->items[words->count++] = vs_strdup(word);
    words->items[words->count] = NULL;
}

void wif_words_release(struct wif_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        vs_free(words->items[i]);
    vs_free(words->items);
    memset(words, 0, sizeof(*words));
}

void wif_recipe_release(struct wif_recipe *recipe)
{
    wif_words_release(&recipe->command);
    wif_words_release(&recipe->options);
    wif_words_release(&recipe->environment);
    wif_words_release(&recipe->scripts);
    vs_free(recipe->folder);
    vs_free(recipe->recorded_by);
    memset(recipe, 0, sizeof(*recipe));
}

/* ---- here ---- */

/*
 * The machine: a hash of its id, which systemd asks to be kept to oneself, and its name. Without an id the name alone.
 */
static void add_machine(struct vs_text *out)
{
    char name[256] = "";
    char id[64] = "";
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    FILE *file = fopen("/etc/machine-id", "r");

    if (file) {
        if (fgets(id, sizeof(id), file))
            id[strcspn(id, "\n")] = '\0';
        fclose(file);
    }
    if (gethostname(name, sizeof(name) - 1) != 0)
        name[0] = '\0';
    for (const char *c = id; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    vs_text_addf(out, "%s %016" PRIx64, name, hash);
}

static char *recorder_here(void)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "%ld ", (long)getuid());
    add_machine(&text);
    return vs_text_take(&text);
}

void wif_recipe_here(struct wif_recipe *out)
{
    char folder[PATH_MAX];

    vs_free(out->folder);
    vs_free(out->recorded_by);
    out->folder = vs_strdup(getcwd(folder, sizeof(folder)) ? folder : "/");
    out->recorded_by = recorder_here();
    for (size_t i = 0; i < KEPT_COUNT; i++) {
        const char *value = getenv(KEPT[i]);
        struct vs_text text = {NULL, 0, 0};

        if (!value)
            continue;
        vs_text_addf(&text, "%s=%s", KEPT[i], value);
        wif_words_add(&out->environment, vs_text_get(&text));
        vs_text_release(&text);
    }
}

void wif_recipe_variables(struct wif_words *out)
{
    for (size_t i = 0; i < KEPT_COUNT; i++)
        wif_words_add(out, KEPT[i]);
}

bool wif_recipe_is_own(const struct wif_recipe *recipe)
{
    char *here = recorder_here();
    const bool is_own = recipe->recorded_by && strcmp(recipe->recorded_by, here) == 0;

    vs_free(here);
    return is_own;
}

/* ---- in a trace ---- */

/* Words as lines: a newline in a word is \n, a backslash two. */
static void note_words(const struct wif_words *words, const char *key, wif_note_fn *note,
                       void *user)
{
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < words->count; i++) {
        for (const char *c = words->items[i]; *c; c++)
            if (*c == '\n' || *c == '\\')
                vs_text_addf(&text, "\\%c", *c == '\n' ? 'n' : '\\');
            else
                vs_text_add_char(&text, *c);
        vs_text_add_char(&text, '\n');
    }
    if (words->count)
        note(user, key, vs_text_get(&text));
    vs_text_release(&text);
}

static void words_read(const char *text, struct wif_words *out)
{
    struct vs_text word = {NULL, 0, 0};

    for (const char *c = text ? text : ""; *c; c++) {
        if (*c == '\n') {
            wif_words_add(out, vs_text_get(&word));
            vs_text_clear(&word);
        } else if (*c == '\\' && c[1]) {
            vs_text_add_char(&word, *++c == 'n' ? '\n' : *c);
        } else {
            vs_text_add_char(&word, *c);
        }
    }
    vs_text_release(&word);
}

/* The text of a file; NULL: it cannot be read, is too long, or is no text. The caller frees it. */
static char *file_text(const char *path)
{
    char *text = vs_alloc(WIF_SCRIPT_BYTES_MAX + 1);
    FILE *file = fopen(path, "r");
    size_t len = 0;

    if (file) {
        len = fread(text, 1, WIF_SCRIPT_BYTES_MAX + 1, file);
        fclose(file);
    }
    if (!file || len > WIF_SCRIPT_BYTES_MAX || memchr(text, '\0', len)) {
        vs_free(text);
        return NULL;
    }
    text[len] = '\0';
    return text;
}

static void note_script(const char *path, wif_note_fn *note, void *user)
{
    struct vs_text key = {NULL, 0, 0};
    char *text = file_text(path);

    vs_text_addf(&key, RPL_SCRIPT_KEY "%s", path);
    if (text)
        note(user, vs_text_get(&key), text);
    vs_text_release(&key);
    vs_free(text);
}

void wif_recipe_write(const struct wif_recipe *recipe, wif_note_fn *note, void *user)
{
    note_words(&recipe->command, "rerun_command", note, user);
    note_words(&recipe->options, "rerun_options", note, user);
    note_words(&recipe->environment, "rerun_environment", note, user);
    note_words(&recipe->scripts, "rerun_scripts", note, user);
    for (size_t i = 0; i < recipe->scripts.count; i++)
        note_script(recipe->scripts.items[i], note, user);
    note(user, "rerun_folder", recipe->folder);
    note(user, "rerun_recorded_by", recipe->recorded_by);
}

bool wif_recipe_is_in(const struct rpl_trace *trace)
{
    return rpl_trace_meta(trace, "rerun_command") != NULL;
}

/* Whether each word is an option that is kept, followed by its value. */
static bool options_are_kept(const struct wif_words *words)
{
    for (size_t i = 0; i < words->count; i += 2) {
        size_t k = 0;

        while (k < OPTION_COUNT && (strncmp(words->items[i], "--", 2) != 0 ||
                                    strcmp(words->items[i] + 2, OPTIONS[k]) != 0))
            k++;
        if (k == OPTION_COUNT || i + 1 == words->count)
            return false;
    }
    return true;
}

static bool variables_are_kept(const struct wif_words *pairs)
{
    for (size_t i = 0; i < pairs->count; i++) {
        const size_t len = strcspn(pairs->items[i], "=");
        size_t k = 0;

        while (k < KEPT_COUNT &&
               (strlen(KEPT[k]) != len || strncmp(KEPT[k], pairs->items[i], len) != 0))
            k++;
        if (k == KEPT_COUNT)
            return false;
    }
    return true;
}

enum vs_status wif_recipe_read(const struct rpl_trace *trace, struct wif_recipe *out,
                               struct vs_error *err)
{
    const char *folder = rpl_trace_meta(trace, "rerun_folder");
    const char *recorded_by = rpl_trace_meta(trace, "rerun_recorded_by");

    if (!wif_recipe_is_in(trace))
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "this trace does not say which program it is of, so it cannot be run again; "
                       "record it again with `vramscope record -- PROGRAM`");
    words_read(rpl_trace_meta(trace, "rerun_command"), &out->command);
    words_read(rpl_trace_meta(trace, "rerun_options"), &out->options);
    words_read(rpl_trace_meta(trace, "rerun_environment"), &out->environment);
    words_read(rpl_trace_meta(trace, "rerun_scripts"), &out->scripts);
    out->folder = vs_strdup(folder ? folder : "/");
    out->recorded_by = vs_strdup(recorded_by ? recorded_by : "");
    if (!out->command.count)
        return vs_fail(err, VS_E_DAMAGED, "the trace has an empty command of its program");
    if (!options_are_kept(&out->options) || !variables_are_kept(&out->environment))
        return vs_fail(
            err, VS_E_DAMAGED,
            "the trace names an option or a variable that vramscope does not record, so its "
            "program is not run");
    return VS_OK;
}

/* ---- as text ---- */

/* A word as a shell reads it; control characters, which could deceive a reader of the command, as '?'. */
static void add_word(struct vs_text *out, const char *word)
{
    const size_t plain =
        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                     "_-./=:,+@%");

    if (*word && !word[plain]) {
        vs_text_add(out, word);
        return;
    }
    vs_text_add_char(out, '\'');
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            vs_text_add(out, "'\\''");
        else
            vs_text_add_char(out, (unsigned char)*c < ' ' || *c == 127 ? '?' : *c);
    vs_text_add_char(out, '\'');
}

/* value_max: longer values of variables are left out. */
static void add_command(const struct wif_recipe *recipe, size_t value_max, struct vs_text *out)
{
    vs_text_add(out, "cd ");
    add_word(out, recipe->folder);
    vs_text_add(out, " &&");
    for (size_t i = 0; i < recipe->environment.count; i++) {
        const char *pair = recipe->environment.items[i];
        const size_t len = strcspn(pair, "=");
        struct vs_text name = {NULL, 0, 0};
        const char *now;

        vs_text_add_n(&name, pair, len);
        now = getenv(vs_text_get(&name));
        if (!pair[len] || !now || strcmp(now, pair + len + 1) != 0) { /* only what differs */
            const bool is_long = pair[len] && strlen(pair + len + 1) > value_max;

            vs_text_add_char(out, ' ');
            add_word(out, is_long ? vs_text_get(&name) : pair);
            vs_text_add(out, is_long ? "=…" : "");
        }
        vs_text_release(&name);
    }
    for (size_t i = 0; i < recipe->command.count; i++) {
        vs_text_add_char(out, ' ');
        add_word(out, recipe->command.items[i]);
    }
}

void wif_recipe_add_command(const struct wif_recipe *recipe, struct vs_text *out)
{
    add_command(recipe, SIZE_MAX, out);
}

void wif_recipe_add_brief(const struct wif_recipe *recipe, struct vs_text *out)
{
    add_command(recipe, VALUE_BRIEF, out);
}

/* ---- what has changed ---- */

static size_t line_len(const char *text)
{
    return strcspn(text, "\n");
}

static const char *line_next(const char *text)
{
    text += line_len(text);
    return text + (*text == '\n');
}

static size_t line_count(const char *text)
{
    size_t count = 0;

    for (; *text; text = line_next(text))
        count++;
    return count;
}

static const char *line_at(const char *text, size_t number)
{
    while (number--)
        text = line_next(text);
    return text;
}

static bool lines_equal(const char *a, const char *b)
{
    return line_len(a) == line_len(b) && strncmp(a, b, line_len(a)) == 0;
}

static void add_lines(struct vs_text *out, char sign, const char *text, size_t first, size_t end)
{
    for (size_t i = first; i < end && i < first + CHANGED_LINES_SHOWN; i++) {
        const char *line = line_at(text, i);

        vs_text_addf(out, "  %c%zu %.*s\n", sign, i + 1, (int)line_len(line), line);
    }
    if (end > first + CHANGED_LINES_SHOWN)
        vs_text_addf(out, "  %c… and %zu more\n", sign, end - first - CHANGED_LINES_SHOWN);
}

/* From the first line that differs to the last one. */
static void add_difference(struct vs_text *out, const char *before, const char *now)
{
    size_t ends[2] = {line_count(before), line_count(now)};
    size_t first = 0;

    while (first < ends[0] && first < ends[1] &&
           lines_equal(line_at(before, first), line_at(now, first)))
        first++;
    while (ends[0] > first && ends[1] > first &&
           lines_equal(line_at(before, ends[0] - 1), line_at(now, ends[1] - 1))) {
        ends[0]--;
        ends[1]--;
    }
    add_lines(out, '-', before, first, ends[0]);
    add_lines(out, '+', now, first, ends[1]);
}

bool wif_script_has_changed(const char *path, const char *text)
{
    char *now = file_text(path);
    const bool has = !now || strcmp(now, text) != 0;

    vs_free(now);
    return has;
}

void wif_recipe_add_changes(const struct wif_recipe *recipe, const struct rpl_trace *trace,
                            struct vs_text *out)
{
    const struct wif_words paths = recipe->scripts;

    for (size_t i = 0; i < paths.count; i++) {
        struct vs_text key = {NULL, 0, 0};
        char *now = file_text(paths.items[i]);
        const char *before;

        vs_text_addf(&key, RPL_SCRIPT_KEY "%s", paths.items[i]);
        before = rpl_trace_meta(trace, vs_text_get(&key));
        vs_text_release(&key);
        if (before && !now) {
            vs_text_addf(out, "%s: can no longer be read\n", paths.items[i]);
        } else if (before && strcmp(before, now) != 0) {
            vs_text_addf(out, "%s has changed since it was recorded:\n", paths.items[i]);
            add_difference(out, before, now);
        }
        vs_free(now);
    }
}
