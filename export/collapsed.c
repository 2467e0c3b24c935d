/*
 * export/collapsed.c - one stack per line, in the format of flamegraph.pl.
 *
 * Must not know:  how stacks are computed.
 * Invariant:      frames contain neither semicolons nor line breaks, and the last blank of a line is the one before
 *                 its number.
 */
#include <stdbool.h>

#include "export/formats.h"
#include "export/stack.h"

static bool is_plain(char c)
{
    return c != ';' && (unsigned char)c >= 0x20;
}

static void name_put(struct exp_out *out, const char *name)
{
    while (*name) {
        size_t len = 0;

        while (is_plain(name[len]))
            len++;
        exp_put_utf8_n(out, name, len);
        name += len;
        if (*name)
            exp_put_char(out, *name++ == ';' ? ':' : ' ');
    }
}

static void frame_put(struct exp_out *out, const struct exp_frame *frame)
{
    name_put(out, frame->name);
    if (!frame->line)
        return;
    exp_put_text(out, " (");
    name_put(out, frame->file);
    exp_put_text(out, *frame->file ? ":" : "line ");
    exp_put_uint(out, frame->line);
    exp_put_char(out, ')');
}

enum vs_status exp_collapsed_write(struct rpl_index *index, const struct exp_options *options,
                                   struct exp_out *out, struct vs_error *err)
{
    struct exp_stacks stacks;
    enum vs_status st = exp_stacks_fill(&stacks, index, &options->at, err);

    for (size_t i = 0; i < stacks.stack_count && !st; i++) {
        const struct exp_stack *stack = &stacks.stacks[i];

        for (size_t j = 0; j < stack->frame_count; j++) {
            if (j)
                exp_put_char(out, ';');
            frame_put(out, stack->frames[j]);
        }
        exp_put_char(out, ' ');
        exp_put_uint(out, stack->bytes);
        exp_put_char(out, '\n');
    }
    exp_stacks_release(&stacks);
    return st;
}
