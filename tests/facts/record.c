/*
 * tests/facts/record.c - see record.h.
 */
#include "tests/facts/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/device/kernels.h"
#include "tracer/recorder.h"
#include "whatif/whatif.h"

/* ---- a recording in a file, as the record command makes it ---- */

static void on_started(void *user, const struct vs_toggles *in_force, const bool *is_default)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        trc_recorder_toggle_add(user, vs_toggle_info((enum vs_toggle)i)->name,
                                vs_toggles_get(in_force, (enum vs_toggle)i), is_default[i]);
}

static void on_print(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

struct rpl_trace *facts_record(const struct facts_net *net, const char *toggles, bool has_data)
{
    struct trc_recorder_options options = {.force = true};
    struct lang_settings settings = {.file_name = net->path, .text = net->text};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec = NULL;
    struct rpl_trace *trace = NULL;
    struct lang_result result;
    char path[] = "/tmp/vramscope-whatif-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    memset(&result, 0, sizeof(result));
    facts_toggles(toggles, &set);
    if (trc_recorder_open(path, &options, &rec, &err))
        fail_msg("%s", err.text);
    trc_recorder_meta_set(rec, "source_kind", "net");
    trc_recorder_meta_set(rec, "seed", "0");
    trc_recorder_source_add(rec, net->path, net->text);
    settings.len = strlen(net->text);
    settings.kernels = has_data ? eng_kernels_cpu() : NULL;
    settings.observer = trc_recorder_observer(rec);
    settings.toggles = &set;
    settings.user = rec;
    settings.started = on_started;
    settings.print = on_print;
    if (lang_run(&settings, &result, &err))
        fail_msg("%s [%s]: %s", net->path, toggles, err.text);
    if (trc_recorder_close(rec, true, &err) || rpl_trace_open(path, &trace, &err))
        fail_msg("%s [%s]: %s", net->path, toggles, err.text);
    lang_result_release(&result);
    vs_toggles_release(&set);
    unlink(path);
    return trace;
}

/* ---- asking ---- */

struct rpl_trace *facts_whatif(struct rpl_trace *base, const char *pairs, struct vs_error *err)
{
    struct rpl_trace *answer = rpl_trace_new();
    struct vs_toggles set = {{NULL}};

    facts_toggles(pairs, &set);
    if (wif_run(base, &set, answer, err)) {
        rpl_trace_free(answer);
        answer = NULL;
    }
    vs_toggles_release(&set);
    return answer;
}
