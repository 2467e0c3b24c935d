/*
 * cli/advise/placements.c - peak against recomputation as text and JSON; see advise.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/advise/advise.h"

#define BAR 30
/* Modules of a value that are listed in full. */
#define SHOWN_MODULES 5

void cli_placements_release(struct cli_placements *placements)
{
    wif_curve_release(&placements->curve);
    wif_placement_release(&placements->fit);
    vs_free(placements->fit_why);
}

/* ---- text ---- */

static double share(const struct wif_placement *p)
{
    return p->total_flops ? 100.0 * (double)p->recompute_flops / (double)p->total_flops : 0.0;
}

static void point_text(const struct wif_point *point, uint64_t most, struct vs_text *out)
{
    const struct wif_placement *p = &point->placement;
    char peak[VS_BYTES_TEXT_MAX];
    int bar = most ? (int)((double)p->peak / (double)most * BAR + 0.5) : 0;

    vs_text_addf(out, "  %-18s %10s  %7.1f %%  %7.1f %%  %.*s\n", point->value,
                 vs_bytes_text(p->peak, peak),
                 most ? 100.0 * ((double)p->peak - (double)most) / (double)most : 0.0, share(p),
                 bar, "##############################");
}

/* The modules of a value of `offload`, of many the first and the last one. */
static void modules_text(const char *value, struct vs_text *out)
{
    const char *last = strrchr(value, ',');
    size_t count = 1;

    for (const char *p = value; *p; p++)
        count += *p == ',';
    if (count <= SHOWN_MODULES)
        vs_text_add(out, value);
    else
        vs_text_addf(out, "%.*s … %s (%zu modules)", (int)strcspn(value, ","), value, last + 1,
                     count);
}

/* Points with copies to the host, and how much of them goes over PCIe. */
static void offloads_text(const struct wif_curve *curve, uint64_t most, struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    if (!curve->offload_count)
        return;
    vs_text_addf(out, "\n  %10s  %9s  %15s  %s\n", "peak", "change", "PCIe, each step", "offload");
    for (size_t i = 0; i < curve->offload_count; i++) {
        const struct wif_offload_point *point = &curve->offloads[i];

        vs_text_addf(out, "  %10s", vs_bytes_text(point->peak, buf));
        vs_text_addf(out, "  %7.1f %%",
                     most ? 100.0 * ((double)point->peak - (double)most) / (double)most : 0.0);
        vs_text_addf(out, "  %15s  ",
                     vs_bytes_text(curve->steps ? point->host_bytes / curve->steps : 0, buf));
        modules_text(point->value, out);
        vs_text_add_char(out, '\n');
    }
    vs_text_addf(out,
                 "  The values of offload are in --json; the modules are those that run first.\n");
}

void cli_placements_text(const struct cli_placements *placements, const char *name,
                         struct vs_text *out)
{
    const struct wif_curve *curve = &placements->curve;
    uint64_t most = curve->points[0].placement.peak;
    char a[VS_BYTES_TEXT_MAX];
    char b[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s: peak against recomputation, each a run of the net\n\n", name);
    vs_text_addf(out, "  %-18s %10s  %9s  %9s\n", "checkpoint", "peak", "change", "recomputed");
    for (size_t i = 0; i < curve->count; i++)
        point_text(&curve->points[i], most, out);
    offloads_text(curve, most, out);
    if (curve->count == 1)
        vs_text_add(out, "\nNo placement of checkpoints lowers the peak of this net.\n");
    else
        vs_text_addf(out, "\nTo take one: vramscope whatif %s --set checkpoint=%s\n", name,
                     curve->points[curve->count / 2].value);
    if (placements->fit_why)
        vs_text_addf(out, "\nwithin %s: %s\n", vs_bytes_text(placements->capacity, a),
                     placements->fit_why);
    else if (placements->capacity)
        vs_text_addf(out, "\nwithin %s: peak %s, %.1f %% recomputed\n",
                     vs_bytes_text(placements->capacity, a), vs_bytes_text(placements->fit.peak, b),
                     share(&placements->fit));
}

/* ---- JSON ---- */

static void placement_json(const char *value, uint64_t budget, const struct wif_placement *p,
                           struct vs_json *json)
{
    vs_json_object(json);
    vs_json_key(json, "set");
    vs_json_object_flat(json);
    vs_json_put_string(json, "checkpoint", value);
    vs_json_end(json);
    vs_json_put_uint(json, "budget", budget);
    vs_json_put_uint(json, "peak", p->peak);
    vs_json_put_uint(json, "recompute_flops", p->recompute_flops);
    vs_json_put_uint(json, "total_flops", p->total_flops);
    vs_json_put_string(json, "placement", p->regions);
    vs_json_end(json);
}

static void offload_json(const struct wif_offload_point *point, uint64_t steps,
                         struct vs_json *json)
{
    vs_json_object(json);
    vs_json_key(json, "set");
    vs_json_object_flat(json);
    vs_json_put_string(json, "checkpoint", "off");
    vs_json_put_string(json, "offload", point->value);
    vs_json_end(json);
    vs_json_put_uint(json, "peak", point->peak);
    vs_json_put_uint(json, "recompute_flops", point->recompute_flops);
    vs_json_put_uint(json, "total_flops", point->total_flops);
    vs_json_put_uint(json, "host_bytes", point->host_bytes);
    vs_json_put_uint(json, "steps", steps);
    vs_json_end(json);
}

void cli_placements_json(const struct cli_placements *placements, struct vs_text *out)
{
    const struct wif_curve *curve = &placements->curve;
    struct vs_json json;
    char value[VS_TOGGLE_VALUE_MAX];

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_uint(&json, "format", 1);
    vs_json_key(&json, "curve");
    vs_json_array(&json);
    for (size_t i = 0; i < curve->count; i++)
        placement_json(curve->points[i].value, curve->points[i].budget, &curve->points[i].placement,
                       &json);
    vs_json_end(&json);
    vs_json_key(&json, "offload");
    vs_json_array(&json);
    for (size_t i = 0; i < curve->offload_count; i++)
        offload_json(&curve->offloads[i], curve->steps, &json);
    vs_json_end(&json);
    vs_json_key(&json, "within_capacity");
    if (placements->capacity && !placements->fit_why) {
        snprintf(value, sizeof(value), "auto:%" PRIu64, placements->capacity);
        placement_json(value, placements->capacity, &placements->fit, &json);
    } else {
        vs_json_null(&json);
    }
    vs_json_end(&json);
}
