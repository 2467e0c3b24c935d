/*
 * tests/lang/run/net_run.c - see net_run.h.
 */
#include "tests/lang/run/net_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void net_run_text(struct net_run *r, const char *text)
{
    r->settings.file_name = "net.py";
    r->settings.text = text;
    r->settings.len = strlen(text);
    r->settings.toggles = &r->toggles;
    r->settings.all_steps = !r->last_step;
    r->st = lang_run(&r->settings, &r->result, &r->err);
}

void net_run_ok(struct net_run *r, const char *text)
{
    net_run_text(r, text);
    if (r->st)
        fail_msg("%s", r->err.text);
}

void net_run_release(struct net_run *r)
{
    lang_result_release(&r->result);
    vs_toggles_release(&r->toggles);
}

void net_run_set(struct net_run *r, const char *name, const char *value)
{
    if (vs_toggles_set_named(&r->toggles, name, value, &r->err))
        fail_msg("%s", r->err.text);
}

const struct lang_run_phase *net_run_phase(const struct net_run *r, int64_t step,
                                           enum vs_phase phase)
{
    for (size_t i = 0; i < r->result.phase_count; i++) {
        if (r->result.phases[i].step == step && r->result.phases[i].phase == phase)
            return &r->result.phases[i];
    }
    fail_msg("step %d has no phase %s", (int)step, vs_phase_name(phase));
    return NULL;
}
