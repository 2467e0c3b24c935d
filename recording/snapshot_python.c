/*
 * recording/snapshot_python.c - see snapshot_python.h.
 */
#include "recording/snapshot_python.h"

#include <string.h>

#define COUNT(words) (sizeof(words) / sizeof((words)[0]))

/* Folders and files of PyTorch, to recognise a source tree that was built without installing it. */
static const char *const TORCH_PARTS[] = {
    "nn/",         "optim/",  "autograd/",     "utils/",     "_dynamo/",     "_inductor/",
    "_functorch/", "amp/",    "cuda/",         "fx/",        "distributed/", "_tensor.py",
    "storage.py",  "_ops.py", "functional.py", "__init__.py"};

static bool ends(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);

    return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

bool rec_python_is(const char *path, size_t len)
{
    static const char *const NAMED[] = {"<stdin>", "<string>", "<ipython", "<frozen"};

    if (len > 3 && ends(path, len, ".py"))
        return true;
    for (size_t i = 0; i < COUNT(NAMED); i++)
        if (len >= strlen(NAMED[i]) && memcmp(path, NAMED[i], strlen(NAMED[i])) == 0)
            return true;
    return false;
}

bool rec_python_is_own(const char *path, size_t len)
{
    static const char FOLDER[] = "/vramscope-record-"; /* base/temporary/folder.c makes it */
    static const char FILES[] = "/vramscope_";
    const char *folder = len ? memmem(path, len, FOLDER, strlen(FOLDER)) : NULL;

    return folder && memmem(folder, len - (size_t)(folder - path), FILES, strlen(FILES));
}

/* The path below the last `folder`; NULL if the path does not contain it. */
static const char *below(const char *path, const char *folder)
{
    const char *found = NULL;

    for (const char *at = strstr(path, folder); at; at = strstr(at + 1, folder))
        found = at + strlen(folder);
    return found;
}

/* The path below "torch" and its parent folder, if the file belongs to PyTorch. */
static const char *torch_part(const char *path)
{
    const char *part = below(path, "/torch/");

    for (size_t i = 0; part && i < COUNT(TORCH_PARTS); i++)
        if (strncmp(part, TORCH_PARTS[i], strlen(TORCH_PARTS[i])) == 0)
            return part - strlen("torch/");
    return NULL;
}

/* Whether the file belongs to Python's library: "/usr/lib/python3.12/copy.py", "C:\…\cpython-3.10…\lib\copy.py". */
static bool is_library(const char *path, bool is_windows)
{
    const char *python = strstr(path, "ython");

    return strstr(path, "/lib/python3") || path[0] == '<' ||
           (is_windows && python && strstr(python, "/lib/"));
}

enum vs_frame_kind rec_python_file(const char *path, size_t len, struct vs_text *file)
{
    const bool is_windows = memchr(path, '\\', len) != NULL;
    enum vs_frame_kind kind = VS_FRAME_USER;
    const char *installed;
    const char *name;
    const char *slash;

    vs_text_clear(file);
    vs_text_add(file, "");
    vs_text_add_n(file, path, strnlen(path, len));
    for (size_t i = 0; i < file->len; i++)
        if (file->data[i] == '\\')
            file->data[i] = '/';
    path = vs_text_get(file);
    slash = strrchr(path, '/');
    name = slash ? slash + 1 : path;
    installed = below(path, "/site-packages/");
    installed = installed ? installed : below(path, "/dist-packages/");
    if (installed)
        kind = strncmp(installed, "torch/", 6) == 0 ? VS_FRAME_TORCH : VS_FRAME_PACKAGE;
    else if (torch_part(path))
        kind = VS_FRAME_TORCH;
    else if (strstr(path, "torchinductor"))
        kind = VS_FRAME_GENERATED;
    else if (strncmp(path, "<stdin>", 7) != 0 && strncmp(path, "<ipython", 8) != 0 &&
             is_library(path, is_windows))
        kind = VS_FRAME_STDLIB;
    name = installed ? installed : kind == VS_FRAME_TORCH ? torch_part(path) : name;
    file->len = strlen(name);
    memmove(file->data, name, file->len + 1);
    return kind;
}

static const struct vs_frame *frame_of(const struct vs_memlist *list, uint32_t id)
{
    return &list->stacks.frames[id - 1];
}

/* Whether the forward of a module, among the frames from `at` on, is in the same file as frame `at`. */
static bool is_of_module(const struct vs_memlist *list, const uint32_t *frames, size_t count,
                         size_t at, const struct rec_python_names *names)
{
    const uint32_t file = frame_of(list, frames[at])->file;

    for (size_t i = at; i + 1 < count; i++) {
        const struct vs_frame *frame = frame_of(list, frames[i]);
        const struct vs_frame *caller = frame_of(list, frames[i + 1]);

        if (frame->file == file && frame->func == names->forward &&
            (caller->kind != VS_FRAME_TORCH || caller->file == names->module))
            return true;
    }
    return false;
}

/* Whether frame `at` is a program that runpy runs: `python -m torchtitan.train`. */
static bool is_program(const struct vs_memlist *list, const uint32_t *frames, size_t count,
                       size_t at, const struct rec_python_names *names)
{
    if (at + 1 == count || frame_of(list, frames[at])->func != names->top)
        return false;
    return frame_of(list, frames[at + 1])->kind == VS_FRAME_STDLIB &&
           frame_of(list, frames[at + 1])->func == names->run_code;
}

/* The innermost frame that lies in the package of frame `at`. */
static uint32_t of_package(const struct vs_memlist *list, const uint32_t *frames, size_t at)
{
    const char *file = vs_memlist_text(list, frame_of(list, frames[at])->file);
    const size_t len = strcspn(file, "/") + 1;
    size_t i = 0;

    while (i < at && (frame_of(list, frames[i])->kind != VS_FRAME_PACKAGE ||
                      strncmp(vs_memlist_text(list, frame_of(list, frames[i])->file), file, len)))
        i++;
    return frames[i];
}

uint32_t rec_python_location(const struct vs_memlist *list, const uint32_t *frames, size_t count,
                             const struct rec_python_names *names)
{
    uint32_t package = 0;

    for (size_t i = 0; i < count; i++) {
        const uint8_t kind = frame_of(list, frames[i])->kind;

        if (kind == VS_FRAME_USER)
            return frames[i];
        if (kind != VS_FRAME_PACKAGE)
            continue;
        if (is_of_module(list, frames, count, i, names))
            return frames[i];
        if (is_program(list, frames, count, i, names))
            return of_package(list, frames, i);
        package = package ? package : frames[i];
    }
    return package ? package : count ? frames[0] : 0;
}

void rec_python_names_set(struct vs_memlist *list, struct rec_python_names *names)
{
    *names = (struct rec_python_names){
        .forward = vs_memlist_string(list, "forward", SIZE_MAX),
        .module = vs_memlist_string(list, "torch/nn/modules/module.py", SIZE_MAX),
        .top = vs_memlist_string(list, "<module>", SIZE_MAX),
        .run_code = vs_memlist_string(list, "_run_code", SIZE_MAX),
    };
}
