/*
 * export/html/html.c - a report on a run as one HTML file: a timeline to zoom, its blocks, the peak, the net, what-ifs.
 *
 * Must not know:  how the page shows the data (page.html, page.css, page.js, which are compiled in as text).
 * Invariant:      the file needs no other file and no network, and its content security policy forbids both. Its size
 *                 is bounded (html_internal.h). The same trace gives the same bytes.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "export/fill.h"
#include "export/formats.h"
#include "export/html/html_internal.h"
#include "export/svg.h"
#include "replay/report/report.h"
#include "replay/report/uncertainty.h"

struct embedded_file {
    const char *name;
    const char *text;
    size_t len;
};

#include "html_files.inc" /* made by tools/embed.sh */

static const char *file_text(const char *name)
{
    for (size_t i = 0; i < sizeof(embedded) / sizeof(embedded[0]); i++)
        if (strcmp(embedded[i].name, name) == 0)
            return embedded[i].text;
    return "";
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* ---- data ---- */

static void names_put(struct html *html)
{
    struct vs_json *json = html->json;
    const char *source = rpl_trace_source_name(html->trace);

    vs_json_put_string(json, "name", html->options->name ? base_of(html->options->name) : NULL);
    vs_json_put_string(json, "source_name",
                       source ? source : rpl_trace_meta(html->trace, "source_name"));
    vs_json_put_string(json, "device", rpl_trace_meta(html->trace, "device"));
    vs_json_put_uint(json, "capacity", rpl_capacity(html->trace));
    vs_json_put_bool(json, "imported", rpl_trace_is_imported(html->trace));
    vs_json_put_bool(json, "complete", rpl_trace_is_complete(html->trace));
    vs_json_key(json, "toggles");
    vs_json_object(json);
    for (size_t i = 0; i < rpl_trace_toggle_count(html->trace); i++) {
        struct rpl_toggle toggle = rpl_trace_toggle(html->trace, i);

        if (!toggle.is_default)
            vs_json_put_string(json, toggle.name, toggle.value);
    }
    vs_json_end(json);
    vs_json_key(json, "category_names");
    vs_json_array(json);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        vs_json_string(json, vs_category_name((enum vs_category)i));
    vs_json_end(json);
    vs_json_key(json, "category_texts");
    vs_json_array(json);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        vs_json_string(json, vs_category_text((enum vs_category)i));
    vs_json_end(json);
    vs_json_key(json, "phase_names");
    vs_json_array(json);
    for (size_t i = 0; i < VS_PHASE_COUNT; i++)
        vs_json_string(json, vs_phase_name((enum vs_phase)i));
    vs_json_end(json);
}

/* Steps: the first HTML_STEPS_MAX of them. */
static void steps_put(struct html *html)
{
    const struct rpl_summary *sum = html->sum;
    struct vs_json *json = html->json;

    vs_json_put_uint(json, "all_steps", sum->step_count);
    vs_json_key(json, "steps");
    vs_json_array(json);
    for (size_t i = 0; i < sum->step_count && i < HTML_STEPS_MAX; i++) {
        const struct rpl_step_figures *step = &sum->steps[i];
        uint64_t peak = 0;
        uint64_t reserved = 0;

        for (size_t j = 0; j < step->phase_count; j++) {
            peak = step->phases[j].allocated_peak > peak ? step->phases[j].allocated_peak : peak;
            reserved =
                step->phases[j].reserved_peak > reserved ? step->phases[j].reserved_peak : reserved;
        }
        vs_json_object(json);
        vs_json_put_int(json, "step", step->step);
        vs_json_put_double(json, "loss", step->loss);
        vs_json_put_uint(json, "first", step->phase_count ? step->phases[0].first_seq : 0);
        vs_json_put_uint(json, "peak", peak);
        vs_json_put_uint(json, "reserved", reserved);
        vs_json_put_uint(json, "end",
                         step->phase_count ? step->phases[step->phase_count - 1].allocated_end : 0);
        vs_json_put_uint(json, "recomputed_ops", step->recomputed_ops);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void bound_put(struct html *html)
{
    struct vs_text text = {NULL, 0, 0};

    rpl_uncertainty_text(html->trace, &html->sum->uncertainty, html->sum->peak.allocated, &text);
    vs_json_put_string(html->json, "bound", vs_text_get(&text));
    vs_text_release(&text);
}

/* Where the optimizer begins in the step of the peak; otherwise the peak. */
static uint64_t late_of(const struct html *html)
{
    const struct rpl_summary *sum = html->sum;

    for (size_t i = 0; i < sum->step_count; i++)
        for (size_t j = 0; j < sum->steps[i].phase_count; j++)
            if (sum->steps[i].step == sum->peak.step &&
                sum->steps[i].phases[j].phase == VS_PHASE_OPTIMIZER)
                return sum->steps[i].phases[j].first_seq;
    return sum->peak.event;
}

static void step_of_peak_find(struct html *html)
{
    uint64_t peak = html->sum->peak.event;

    for (size_t i = 0; i < rpl_trace_step_count(html->trace); i++) {
        struct rpl_step step = rpl_trace_step(html->trace, i);

        if (peak && step.first_seq <= peak && peak <= step.last_seq) {
            html->step_first = step.first_seq;
            html->step_last = step.last_seq;
        }
    }
}

static enum vs_status data_fill(struct html *html, struct vs_error *err)
{
    struct vs_json *json = html->json;
    enum vs_status st = rpl_cursor_seek(html->cursor, html->sum->peak.event, err);

    if (!st)
        st = rpl_cursor_seek(html->late, late_of(html), err);
    if (st)
        return st;
    step_of_peak_find(html);
    vs_json_object_flat(json);
    vs_json_put_uint(json, "format", 1);
    names_put(html);
    vs_json_put_uint(json, "events", html->sum->events);
    vs_json_put_uint(json, "parameters", html->sum->parameters);
    vs_json_key(json, "peak");
    rpl_peak_json(html->trace, &html->sum->peak, json);
    bound_put(html);
    vs_json_put_uint(json, "oom", html->sum->oom.event);
    steps_put(html);
    st = exp_html_ranges(html, err);
    if (!st)
        st = exp_html_blocks(html, err);
    if (!st)
        st = exp_html_code(html, err);
    exp_html_whatifs(html);
    vs_json_end(json);
    return st;
}

/* ---- the page ---- */

/*
 * JSON inside a script element. `<`, `>` and `&` occur in its strings alone, where they may be written as escapes, so
 * that no text of the trace can end the element.
 */
static void data_put(struct exp_out *out, const struct vs_text *data)
{
    const char *at = vs_text_get(data);

    for (; *at; at++) {
        if (*at == '<')
            exp_put_text(out, "\\u003c");
        else if (*at == '>')
            exp_put_text(out, "\\u003e");
        else if (*at == '&')
            exp_put_text(out, "\\u0026");
        else
            exp_put_char(out, *at);
    }
}

static void title_put(const struct html *html, struct exp_out *out)
{
    const char *source = rpl_trace_source_name(html->trace);
    const char *name = html->options->name ? html->options->name : source;

    exp_svg_escaped(out, name ? base_of(name) : "a run");
}

/* The colours of the categories: --c0, --c1, ... */
static void fills_put(struct exp_out *out, const char *selector, bool is_dark)
{
    exp_put_text(out, selector);
    exp_put_text(out, " {");
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        exp_put_member(out, " --c", i);
        exp_put_text(out, ": ");
        exp_put_text(out, exp_fill((enum vs_category)i, is_dark));
        exp_put_char(out, ';');
    }
    exp_put_text(out, " }\n");
}

/* page.html has a line `@NAME@` for each part. */
static void page_put(const struct html *html, const struct vs_text *data, struct exp_out *out)
{
    const char *at = file_text("page.html");

    while (*at) {
        if (strncmp(at, "@title@", 7) == 0) {
            title_put(html, out);
            at += 7;
        } else if (strncmp(at, "@style@", 7) == 0) {
            exp_put_text(out, file_text("page.css"));
            fills_put(out, ":root", false);
            fills_put(out, ":root[data-theme=\"dark\"]", true);
            at += 7;
        } else if (strncmp(at, "@data@", 6) == 0) {
            data_put(out, data);
            at += 6;
        } else if (strncmp(at, "@script@", 8) == 0) {
            exp_put_text(out, file_text("format.js"));
            exp_put_text(out, file_text("timeline.js"));
            exp_put_text(out, file_text("page.js"));
            at += 8;
        } else {
            exp_put_char(out, *at++);
        }
    }
}

enum vs_status exp_html_write(struct rpl_index *index, const struct exp_options *options,
                              struct exp_out *out, struct vs_error *err)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_text data = {NULL, 0, 0};
    struct vs_json json;
    struct html html = {.index = index,
                        .trace = rpl_index_trace(index),
                        .sum = &sum,
                        .options = options,
                        .cursor = rpl_cursor_new(index),
                        .late = rpl_cursor_new(index),
                        .json = &json};
    enum vs_status st = rpl_summary_fill(&sum, html.trace, err);

    vs_json_init(&json, &data);
    if (!st)
        st = data_fill(&html, err);
    if (!st)
        page_put(&html, &data, out);
    vs_text_release(&data);
    rpl_cursor_free(html.late);
    rpl_cursor_free(html.cursor);
    rpl_summary_release(&sum);
    return st;
}
