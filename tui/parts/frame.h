/*
 * tui/parts/frame.h - a frame of a call stack in words: whose file it is, and a short name for a generated one.
 *
 * For:            views that list frames.
 * Must not know:  traces.
 * Invariant:      the answers depend on the name alone.
 */
#ifndef TUI_FRAME_H
#define TUI_FRAME_H

#include <stdbool.h>

#include "base/text.h"

/*
 * Whether `name` ("train.py:step") is of a file that somebody wrote for this program. Not: a file of an installed
 * package, which has a folder ("torch/nn/modules/linear.py:forward"), of Python itself ("<frozen runpy>:…",
 * "threading.py:run"), or one that TorchInductor generated, whose name is a hash.
 */
bool tui_frame_is_own(const char *name);
/* Append `name`, the hash of a generated file shortened: "cikcecxc….py:call". */
void tui_frame_text(const char *name, struct vs_text *out);

#endif
