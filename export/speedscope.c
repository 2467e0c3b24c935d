/*
 * export/speedscope.c - the live bytes at a position as a profile for speedscope.app.
 *
 * Must not know:  how stacks are computed.
 * Invariant:      the weights of the profile add up to the allocated bytes; every frame occurs in a stack.
 */
#include <inttypes.h>
#include <stdio.h>

#include "export/formats.h"
#include "export/stack.h"

#define SCHEMA "https://www.speedscope.app/file-format-schema.json"

static void frames_put(struct exp_out *out, const struct exp_stacks *stacks)
{
    exp_put_text(out, "  \"shared\": {\"frames\": [");
    for (size_t i = 0; i < stacks->frame_count; i++) {
        const struct exp_frame *frame = &stacks->frames[i];

        exp_put_text(out, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
        exp_put_json(out, frame->name);
        if (*frame->file) {
            exp_put_text(out, ", \"file\": ");
            exp_put_json(out, frame->file);
        }
        if (frame->line)
            exp_put_member(out, ", \"line\": ", frame->line);
        exp_put_char(out, '}');
    }
    exp_put_text(out, "\n  ]},\n");
}

static void samples_put(struct exp_out *out, const struct exp_stacks *stacks)
{
    exp_put_text(out, "    \"samples\": [");
    for (size_t i = 0; i < stacks->stack_count; i++) {
        const struct exp_stack *stack = &stacks->stacks[i];

        exp_put_text(out, i ? ",\n      [" : "\n      [");
        for (size_t j = 0; j < stack->frame_count; j++)
            exp_put_member(out, j ? ", " : "", (uint64_t)(stack->frames[j] - stacks->frames));
        exp_put_char(out, ']');
    }
    exp_put_text(out, "\n    ],\n    \"weights\": [");
    for (size_t i = 0; i < stacks->stack_count; i++)
        exp_put_member(out, i ? ", " : "", stacks->stacks[i].bytes);
    exp_put_text(out, "]\n");
}

enum vs_status exp_speedscope_write(struct rpl_index *index, const struct exp_options *options,
                                    struct exp_out *out, struct vs_error *err)
{
    struct exp_stacks stacks;
    enum vs_status st = exp_stacks_fill(&stacks, index, &options->at, err);
    uint64_t total = 0;
    char name[64];

    if (st)
        goto out;
    for (size_t i = 0; i < stacks.stack_count; i++)
        total += stacks.stacks[i].bytes;
    snprintf(name, sizeof(name), "allocated after event %" PRIu64, stacks.seq);
    exp_put_text(out, "{\n  \"$schema\": \"" SCHEMA "\",\n  \"exporter\": \"vramscope\",\n"
                      "  \"name\": ");
    exp_put_json(out, options->name ? options->name : "");
    exp_put_text(out, ",\n  \"activeProfileIndex\": 0,\n");
    frames_put(out, &stacks);
    exp_put_text(out, "  \"profiles\": [{\n    \"type\": \"sampled\",\n    \"name\": ");
    exp_put_json(out, name);
    exp_put_text(out, ",\n    \"unit\": \"bytes\",\n    \"startValue\": 0,\n");
    exp_put_member(out, "    \"endValue\": ", total);
    exp_put_text(out, ",\n");
    samples_put(out, &stacks);
    exp_put_text(out, "  }]\n}\n");
out:
    exp_stacks_release(&stacks);
    return st;
}
