/*
 * replay/trace/scripts.c - see scripts.h.
 */
#include "replay/trace/scripts.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/*
 * The path in the line at *at, of which *at becomes the next; false: there is no further one. The caller frees *path.
 */
static bool path_next(const char **at, char **path)
{
    struct vs_text text = {NULL, 0, 0};

    if (!*at || !**at)
        return false;
    for (; **at && **at != '\n'; (*at)++) {
        char c = **at;

        if (c == '\\' && (*at)[1]) {
            (*at)++;
            c = **at == 'n' ? '\n' : **at;
        }
        vs_text_add_char(&text, c);
    }
    *at += **at == '\n';
    *path = vs_text_take(&text);
    return true;
}

static const char *text_of(const struct rpl_trace *trace, const char *path)
{
    struct vs_text key = {NULL, 0, 0};
    const char *text;

    vs_text_addf(&key, RPL_SCRIPT_KEY "%s", path);
    text = rpl_trace_meta(trace, vs_text_get(&key));
    vs_text_release(&key);
    return text;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_in(const char *path, const char *func)
{
    const char *name = name_of(path);
    const size_t len = strlen(name);

    return len && strncmp(func, name, len) == 0 && func[len] == ':';
}

void rpl_script_release(struct rpl_script *script)
{
    vs_free(script->path);
    vs_free(script->text);
    *script = (struct rpl_script){.path = NULL};
}

void rpl_scripts_each(const struct rpl_trace *trace, rpl_script_fn *fn, void *user)
{
    const char *at = rpl_trace_meta(trace, "rerun_scripts");
    char *path;

    while (path_next(&at, &path)) {
        const char *text = text_of(trace, path);
        struct rpl_script script = {.path = path, .text = text ? vs_strdup(text) : NULL};

        if (text)
            fn(user, &script);
        rpl_script_release(&script);
    }
}

/*
 * The text and the path of the file of `func`, both borrowed but *path, which the caller frees. NULL: none, or several.
 */
static const char *text_find(const struct rpl_trace *trace, const char *func, char **path)
{
    const char *at = rpl_trace_meta(trace, "rerun_scripts");
    const char *found = NULL;
    char *one;

    *path = NULL;
    while (path_next(&at, &one)) {
        const char *text = is_in(one, func) ? text_of(trace, one) : NULL;

        if (text && !*path) {
            *path = one;
            found = text;
            continue;
        }
        vs_free(one);
        if (text) { /* two files of one name */
            vs_free(*path);
            *path = NULL;
            return NULL;
        }
    }
    return found;
}

bool rpl_script_of(const struct rpl_trace *trace, const char *func, struct rpl_script *out)
{
    const char *text = text_find(trace, func, &out->path);

    out->text = text ? vs_strdup(text) : NULL;
    return text != NULL;
}

/* struct rpl_script *out, and the name of the program with its arguments. */
struct choice {
    struct rpl_script *out;
    const char *program;
};

static void choose(void *user, const struct rpl_script *script)
{
    struct choice *c = user;
    const char *name = name_of(script->path);
    const size_t len = strlen(name);
    const bool is_main =
        strncmp(c->program, name, len) == 0 && (!c->program[len] || c->program[len] == ' ');

    if (c->out->path && !is_main)
        return;
    rpl_script_release(c->out);
    c->out->path = vs_strdup(script->path);
    c->out->text = vs_strdup(script->text);
}

bool rpl_script_main(const struct rpl_trace *trace, struct rpl_script *out)
{
    const char *program = rpl_trace_meta(trace, "source_name");
    struct choice c = {.out = out, .program = program ? program : ""};

    *out = (struct rpl_script){.path = NULL};
    rpl_scripts_each(trace, choose, &c);
    return out->path != NULL;
}

bool rpl_script_has(const struct rpl_script *script, const char *func)
{
    return is_in(script->path, func);
}

const char *rpl_function_source(const struct rpl_trace *trace, const char *func, uint32_t line,
                                size_t *len)
{
    const char *text = rpl_trace_source_text(trace);
    char *path = NULL;

    if (!text)
        text = text_find(trace, func, &path);
    vs_free(path);
    return rpl_source_line(text, line, len);
}

const char *rpl_location_source(const struct rpl_trace *trace, const struct vs_location *location,
                                size_t *len)
{
    return rpl_function_source(trace, rpl_trace_string(trace, location->func), location->line, len);
}
