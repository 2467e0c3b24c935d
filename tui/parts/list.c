/*
 * tui/parts/list.c - see list.h.
 *
 * Must not know:  the contents of rows.
 * Invariant:      tui_list_fit is the only place that scrolls.
 */
#include "tui/parts/list.h"

void tui_list_fit(struct tui_list *list, size_t count, int height)
{
    size_t h = height > 0 ? (size_t)height : 1;

    list->count = count;
    list->height = h;
    if (list->at >= count)
        list->at = count ? count - 1 : 0;
    if (list->top > list->at)
        list->top = list->at;
    if (list->at - list->top >= h)
        list->top = list->at - h + 1;
    if (list->top + h > count)
        list->top = count > h ? count - h : 0;
}

static void move(struct tui_list *list, int64_t by)
{
    size_t n = (size_t)(by < 0 ? -by : by);

    if (!list->count)
        return;
    if (by < 0)
        list->at = list->at > n ? list->at - n : 0;
    else
        list->at = n < list->count - 1 - list->at ? list->at + n : list->count - 1;
}

bool tui_list_act(struct tui_list *list, enum tui_action action, int64_t count)
{
    int64_t page = list->height > 1 ? (int64_t)list->height - 1 : 1;

    if (action == TUI_DOWN)
        move(list, count);
    else if (action == TUI_UP)
        move(list, -count);
    else if (action == TUI_PAGE_DOWN)
        move(list, page * count);
    else if (action == TUI_PAGE_UP)
        move(list, -page * count);
    else if (action == TUI_HALF_DOWN)
        move(list, (page + 1) / 2 * count);
    else if (action == TUI_HALF_UP)
        move(list, -(page + 1) / 2 * count);
    else if (action == TUI_TOP)
        list->at = 0;
    else if (action == TUI_BOTTOM)
        list->at = list->count ? list->count - 1 : 0;
    else
        return false;
    return true;
}

void tui_list_go(struct tui_list *list, size_t row)
{
    list->at = row;
    list->top = row > list->height / 2 ? row - list->height / 2 : 0;
}

void tui_list_mark(const struct tui_list *list, size_t row, struct tui_canvas *c, int y,
                   bool is_focused)
{
    if (row == list->at)
        tui_mark(c, (struct tui_rect){0, y, c->at.w, 1},
                 is_focused ? TUI_SELECTED : TUI_SELECTED_QUIET);
}

struct tui_canvas tui_table_canvas(const struct tui_canvas *c, int w)
{
    w = w > TUI_TABLE_LEAST_W ? w : TUI_TABLE_LEAST_W;
    return tui_canvas_part(c, (struct tui_rect){0, 0, w < c->at.w ? w : c->at.w, c->at.h});
}
