/*
 * cli/lesson/folder.h - reads the lessons of a folder: files NN_name.py.
 *
 * For:            cmd_lesson.c.
 * Must not know:  the contents of a lesson other than its number.
 * Invariant:      lessons are sorted by their numbers, which are unique.
 */
#ifndef CLI_LESSON_FOLDER_H
#define CLI_LESSON_FOLDER_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "cli/lesson/lesson.h"

/* path: of the folder; root: of the one above it; lessons: count of them. All owned. */
struct cli_lesson_folder {
    char *path;
    char *root;
    struct cli_lesson *lessons;
    size_t count;
    size_t cap;
};

/*
 * Read all lessons in `path`; NULL: in the folder "lessons" of the tree in which the program was built, or that was
 * installed with it. `out` is zeroed; release it, also after a failure.
 *
 * VS_E_NOT_FOUND: there is no such folder, or no lesson in it. VS_E_FORMAT: two files have the same number. Others: as
 * cli_lesson_parse, and those of reading a file.
 */
VS_MUST_USE enum vs_status cli_lesson_folder_read(const char *path, struct cli_lesson_folder *out,
                                                  struct vs_error *err);
void cli_lesson_folder_release(struct cli_lesson_folder *folder);

#endif
