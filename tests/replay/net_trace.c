/*
 * tests/replay/net_trace.c - see net_trace.h.
 */
#include "tests/replay/net_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/toggle.h"
#include "whatif/whatif.h"

static char *file_text(const char *path)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *file = fopen(path, "r");
    char buffer[4096];
    size_t n;

    if (!file)
        fail_msg("%s is not there: run from the top folder", path);
    while ((n = fread(buffer, 1, sizeof(buffer), file)) > 0)
        vs_text_add_n(&text, buffer, n);
    fclose(file);
    return vs_text_take(&text);
}

struct rpl_trace *net_trace(const char *path, const char *toggles)
{
    struct rpl_trace *source = rpl_trace_new();
    struct rpl_trace *out = rpl_trace_new();
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    char *text = file_text(path);
    char *words = vs_strdup(toggles ? toggles : "");
    char *rest = words;
    char *word;

    while ((word = strtok_r(rest, " ", &rest)) != NULL)
        if (vs_toggles_set_pair(&set, word, &err))
            fail_msg("%s", err.text);
    rpl_trace_set_source(source, path, text);
    if (wif_run(source, &set, out, &err))
        fail_msg("%s %s: %s", path, toggles ? toggles : "", err.text);
    vs_toggles_release(&set);
    rpl_trace_free(source);
    vs_free(words);
    vs_free(text);
    return out;
}
