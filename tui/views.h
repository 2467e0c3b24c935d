/*
 * tui/views.h - declares the views; each is in its own file.
 *
 * For:            views.c.
 * Must not know:  what a view shows.
 * Invariant:      one line per view.
 */
#ifndef TUI_VIEWS_H
#define TUI_VIEWS_H

#include "tui/view.h"

extern const struct tui_view tui_view_timeline;
extern const struct tui_view tui_view_source;
extern const struct tui_view tui_view_blocks;
extern const struct tui_view tui_view_why;
extern const struct tui_view tui_view_peak;
extern const struct tui_view tui_view_whatif;
extern const struct tui_view tui_view_sweep;
extern const struct tui_view tui_view_results;
extern const struct tui_view tui_view_curve;
extern const struct tui_view tui_view_ops;
extern const struct tui_view tui_view_calls;
extern const struct tui_view tui_view_modules;
extern const struct tui_view tui_view_segments;
extern const struct tui_view tui_view_sizes;
extern const struct tui_view tui_view_steps;
extern const struct tui_view tui_view_retained;
extern const struct tui_view tui_view_waiting;
extern const struct tui_view tui_view_ranks;
extern const struct tui_view tui_view_sql;
extern const struct tui_view tui_view_breakpoints;
extern const struct tui_view tui_view_diff;
extern const struct tui_view tui_view_pairs;
extern const struct tui_view tui_view_help;

#endif
