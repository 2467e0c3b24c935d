/*
 * cli/lesson/tui.h - a lesson's runs "before" and "after" side by side in the TUI.
 *
 * For:            cmd_lesson.c.
 * Must not know:  verdicts.
 * Invariant:      nothing is written to a file.
 */
#ifndef CLI_LESSON_TUI_H
#define CLI_LESSON_TUI_H

#include "cli/lesson/folder.h"
#include "cli/screen.h"

/*
 * Run the lesson and open both traces at the point that matters: the lesson's keys are typed first. Returns the exit
 * status.
 */
int cli_lesson_tui(const struct cli_lesson *lesson, const struct cli_lesson_folder *folder,
                   const struct cli_screen *screen);

#endif
