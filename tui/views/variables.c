/*
 * tui/views/variables.c - see variables.h.
 */
#include "tui/views/variables.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "replay/inspect/block_text.h"
#include "tui/parts/format.h"

static void add_variable(struct tui_page *page, const struct tui_run *run,
                         const struct rpl_variable *variable)
{
    const struct rpl_block *block =
        variable->block ? rpl_live_block(rpl_cursor_live(run->cursor), variable->block) : NULL;
    struct vs_text shape = {NULL, 0, 0};
    char buf[TUI_SHORT_MAX];

    rpl_shape_text(run->trace, variable->tensor, &shape);
    if (block) {
        tui_page_add(page, tui_category_role(block->category), "%c",
                     tui_category_letter(block->category));
        tui_page_more(page, 0, TUI_PLAIN, " %6s ", tui_short_bytes(variable->bytes, buf));
    } else {
        tui_page_add(page, TUI_DIM, "    host ");
    }
    tui_page_more(page, 0, TUI_STRONG, "%s", rpl_trace_string(run->trace, variable->name));
    if (variable->sharers > 1)
        tui_page_more(page, 0, TUI_DIM, " and %" PRIu32 " more", variable->sharers - 1);
    tui_page_more(page, 20, TUI_DIM, " %s", vs_text_get(&shape));
    vs_text_release(&shape);
}

static void add_frame(struct tui_page *page, const struct tui_run *run,
                      const struct rpl_frame *frame, bool is_chosen, size_t most)
{
    const char *scope = rpl_trace_string(run->trace, frame->scope);
    char buf[VS_BYTES_TEXT_MAX];

    tui_page_add(page, is_chosen ? TUI_KEY_NAME : TUI_TITLE, "%s", *scope ? scope : "(no name)");
    tui_page_more(page, 0, TUI_DIM, "  %s", vs_bytes_text(frame->bytes, buf));
    for (size_t k = 0; k < frame->count && page->count < most; k++)
        add_variable(page, run, &frame->variables[k]);
}

const struct rpl_frame *tui_variables_of(const struct rpl_frames *frames, uint32_t scope)
{
    for (size_t i = 0; i < frames->count; i++)
        if (frames->frames[i].is_function && frames->frames[i].scope == scope)
            return &frames->frames[i];
    return NULL;
}

void tui_variables_fill(struct tui_page *page, struct rpl_frames *frames, const struct tui_run *run,
                        uint32_t chosen, int h)
{
    const size_t most = h > 0 ? (size_t)h : 0;
    const struct rpl_frame *first;

    rpl_frames_fill(frames, run->cursor);
    tui_page_clear(page);
    first = chosen ? tui_variables_of(frames, chosen) : NULL;
    if (first && most)
        add_frame(page, run, first, true, most);
    for (size_t i = 0; i < frames->count && page->count < most; i++) {
        const struct rpl_frame *frame = &frames->frames[i];
        const bool is_chosen =
            chosen ? frame->is_function && frame->scope == chosen : frame->is_current;

        if (frame != first)
            add_frame(page, run, frame, is_chosen, most);
    }
    if (!page->count)
        tui_page_add(page, TUI_DIM, "no variables hold tensors here");
}
