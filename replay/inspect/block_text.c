/*
 * replay/inspect/block_text.c - see block_text.h.
 */
#include "replay/inspect/block_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/dtype.h"

/* Copy `pattern`, putting in name, scope and line; the part about a line or scope that is not known is left out. */
static void fill_pattern(const char *pattern, const char *name, const char *scope, uint32_t line,
                         struct vs_text *out)
{
    static const char *const LINES[] = {", line %l", " of line %l"};
    static const char *const SCOPES[] = {" of `%s`", " in `%s`"};

    while (*pattern) {
        size_t skip = 0;

        for (size_t i = 0; i < 2; i++) {
            if (!line && strncmp(pattern, LINES[i], strlen(LINES[i])) == 0)
                skip = strlen(LINES[i]);
            if (!*scope && strncmp(pattern, SCOPES[i], strlen(SCOPES[i])) == 0)
                skip = strlen(SCOPES[i]);
        }
        if (!skip && *pattern == '%') {
            if (pattern[1] == 'n')
                vs_text_add(out, name);
            else if (pattern[1] == 's')
                vs_text_add(out, scope);
            else
                vs_text_addf(out, "%" PRIu32, line);
            skip = 2;
        }
        if (!skip) {
            vs_text_add_char(out, *pattern);
            skip = 1;
        }
        pattern += skip;
    }
}

void rpl_holder_text(const struct rpl_trace *trace, const struct rpl_holder *holder,
                     struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(trace, holder->location);
    const char *name = rpl_trace_string(trace, holder->name);
    const char *pattern = vs_holder_text(holder->kind);

    if (holder->kind == VS_HOLD_SAVED && !holder->name) {
        name = rpl_trace_string(trace, location->op);
        /* the Function of a net's own is no op */
        pattern = *name ? "saved for the backward of `%n` of line %l"
                        : "saved for the backward of an autograd.Function of line %l";
    }
    if (holder->kind == VS_HOLD_CHECKPOINT && !holder->name) {
        name = rpl_trace_string(trace, location->module);
        if (!*name)
            name = rpl_trace_string(trace, location->func);
    }
    if (holder->kind == VS_HOLD_GRAD && !*name)
        pattern = "`.grad` of a tensor that is no parameter of the model";
    fill_pattern(pattern, name, rpl_trace_string(trace, holder->scope), location->line, out);
}

void rpl_why_distinct(const struct rpl_trace *trace, struct rpl_why *why)
{
    struct vs_text one = {NULL, 0, 0};
    struct vs_text other = {NULL, 0, 0};
    size_t kept = 0;

    for (size_t i = 0; i < why->holder_count; i++) {
        bool is_new = true;

        vs_text_clear(&one);
        rpl_holder_text(trace, &why->holders[i], &one);
        for (size_t k = 0; k < kept && is_new; k++) {
            if (why->holders[k].kind != why->holders[i].kind)
                continue;
            vs_text_clear(&other);
            rpl_holder_text(trace, &why->holders[k], &other);
            is_new = strcmp(vs_text_get(&one), vs_text_get(&other)) != 0;
        }
        if (is_new)
            why->holders[kept++] = why->holders[i];
    }
    why->holder_count = kept;
    vs_text_release(&one);
    vs_text_release(&other);
}

void rpl_shape_text(const struct rpl_trace *trace, uint32_t tensor, struct vs_text *out)
{
    struct vs_tensor_desc desc;

    if (!rpl_trace_tensor(trace, tensor, &desc))
        return;
    vs_text_addf(out, "%s[", vs_dtype_text((enum vs_dtype)desc.dtype));
    for (unsigned i = 0; i < desc.ndim; i++)
        vs_text_addf(out, "%s%" PRId64, i ? ", " : "", desc.sizes[i]);
    vs_text_add_char(out, ']');
}

void rpl_block_text(const struct rpl_trace *trace, const struct rpl_block *block, uint32_t name,
                    struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(trace, block->alloc_location);
    const char *op = rpl_trace_string(trace, location->op);
    const char *module = rpl_trace_string(trace, location->module);

    if (name) {
        vs_text_add(out, rpl_trace_string(trace, name));
        return;
    }
    if (!block->tensor && block->category == VS_CAT_WORKSPACE)
        vs_text_addf(out, "workspace of %s", *op ? op : "a library");
    else if (*op)
        vs_text_addf(out, "allocated by %s", op);
    else if (block->category == VS_CAT_OTHER && !location->line && rpl_trace_is_imported(trace))
        vs_text_add(out, "no stack recorded");
    else
        vs_text_add(out, vs_category_name((enum vs_category)block->category));
    if (*module)
        vs_text_addf(out, " in %s", module);
    /* where the trace has no file, the function says in which one the line is */
    if (location->line && !rpl_trace_source_text(trace) && *rpl_trace_string(trace, location->func))
        vs_text_addf(out, ", %s:%" PRIu32, rpl_trace_string(trace, location->func), location->line);
    else if (location->line)
        vs_text_addf(out, ", line %" PRIu32, location->line);
}

const char *rpl_why_name(const struct rpl_trace *trace, const struct rpl_why *why)
{
    if (why->name)
        return rpl_trace_string(trace, why->name);
    return why->title.len ? vs_text_get(&why->title) : NULL;
}

void rpl_why_text(const struct rpl_trace *trace, const struct rpl_why *why, struct vs_text *out)
{
    const char *name = rpl_why_name(trace, why);

    if (name)
        vs_text_add(out, name);
    else
        rpl_block_text(trace, &why->block, 0, out);
}
