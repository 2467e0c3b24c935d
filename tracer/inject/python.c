/*
 * tracer/inject/python.c - see python.h.
 */
#include "tracer/inject/python.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "tracer/inject/frames.h"
#include "tracer/inject/lock.h"

#define TEXT_MAX 400
#define PYTHON_FRAMES_MAX 24

struct object; /* PyObject */

/*
 * gc_*: since Python 3.10; without them garbage collection is not disabled during a walk. current: not part of the
 * stable ABI.
 */
struct python {
    int (*is_initialized)(void);
    int (*has_lock)(void);
    void *(*current)(void);
    void *(*of_thread)(void);
    struct object *(*frame)(void);
    int (*line)(struct object *frame);
    struct object *(*attribute)(struct object *of, const char *name);
    struct object *(*bytes_of)(struct object *text);
    char *(*bytes)(struct object *bytes);
    void (*ref)(struct object *o);
    void (*unref)(struct object *o);
    void (*error_take)(struct object **type, struct object **value, struct object **trace);
    void (*error_put)(struct object *type, struct object *value, struct object *trace);
    void (*error_clear)(void);
    int (*gc_disable)(void);
    int (*gc_enable)(void);
    bool is_there;
    unsigned misses; /* failed searches */
};

static struct python python;

static bool symbol_find(const char *name, void *out)
{
    void *function = dlsym(RTLD_DEFAULT, name);

    memcpy(out, &function, sizeof(function));
    return function != NULL;
}

static void python_find(struct python *py)
{
    if (!symbol_find("PyGILState_Check", &py->has_lock))
        return;
    if (!symbol_find("PyThreadState_GetUnchecked", &py->current) &&
        !symbol_find("_PyThreadState_UncheckedGet", &py->current))
        return;
    py->is_there = symbol_find("Py_IsInitialized", &py->is_initialized) &&
                   symbol_find("PyGILState_GetThisThreadState", &py->of_thread) &&
                   symbol_find("PyEval_GetFrame", &py->frame) &&
                   symbol_find("PyFrame_GetLineNumber", &py->line) &&
                   symbol_find("PyObject_GetAttrString", &py->attribute) &&
                   symbol_find("PyUnicode_AsUTF8String", &py->bytes_of) &&
                   symbol_find("PyBytes_AsString", &py->bytes) &&
                   symbol_find("Py_IncRef", &py->ref) && symbol_find("Py_DecRef", &py->unref) &&
                   symbol_find("PyErr_Fetch", &py->error_take) &&
                   symbol_find("PyErr_Restore", &py->error_put) &&
                   symbol_find("PyErr_Clear", &py->error_clear);
    if (symbol_find("PyGC_Disable", &py->gc_disable) && !symbol_find("PyGC_Enable", &py->gc_enable))
        py->gc_disable = NULL;
}

/*
 * CUDA may be initialised before Python is loaded, so the search is repeated whenever the number of calls without
 * Python has doubled; it is slow.
 */
static struct python python_get(void)
{
    struct python py;

    inj_lock(INJ_LOCK_PYTHON);
    python.misses += !python.is_there;
    py = python;
    inj_unlock(INJ_LOCK_PYTHON);
    if (py.is_there || (py.misses & (py.misses - 1)) != 0)
        return py;
    python_find(&py);
    inj_lock(INJ_LOCK_PYTHON);
    if (py.is_there)
        python = py;
    inj_unlock(INJ_LOCK_PYTHON);
    return py;
}

/* Necessary in addition to PyGILState_Check(), which always returns true if there are several interpreters. */
static bool lock_is_held(const struct python *py)
{
    return py->is_initialized() && py->has_lock() && py->current() &&
           py->current() == py->of_thread();
}

/* Copy the attribute as UTF-8 to `out`; "" if there is none. */
static void text_get(const struct python *py, struct object *of, const char *name, char *out,
                     size_t size)
{
    struct object *text = py->attribute(of, name);
    struct object *bytes = text ? py->bytes_of(text) : NULL;
    const char *chars = bytes ? py->bytes(bytes) : NULL;

    snprintf(out, size, "%s", chars ? chars : "");
    if (bytes)
        py->unref(bytes);
    if (text)
        py->unref(text);
    py->error_clear();
}

/* Whether the file belongs neither to a package nor to Python's library, and is not a name such as "<string>". */
static bool file_is_own(const char *path)
{
    return !strstr(path, "site-packages/") && !strstr(path, "dist-packages/") &&
           !strstr(path, "/lib/python3") && strncmp(path, "<frozen", 7) != 0;
}

static bool frame_fill(const struct python *py, struct object *frame, struct inj_frame *out)
{
    struct object *code = py->attribute(frame, "f_code");
    char file[TEXT_MAX];
    char func[TEXT_MAX / 2];
    char text[2 * TEXT_MAX];
    const char *slash;
    int line;

    if (!code) {
        py->error_clear();
        return false;
    }
    text_get(py, code, "co_filename", file, sizeof(file));
    text_get(py, code, "co_qualname", func, sizeof(func));
    if (!func[0])
        text_get(py, code, "co_name", func, sizeof(func));
    py->unref(code);
    line = py->line(frame);
    slash = strrchr(file, '/');
    snprintf(text, sizeof(text), "%s:%s", slash ? slash + 1 : file, func);
    *out = (struct inj_frame){.text = inj_text_keep(text),
                              .line = line > 0 ? (uint32_t)line : 0,
                              .is_python = true,
                              .is_own = file_is_own(file)};
    return true;
}

static size_t frames_walk(const struct python *py, struct inj_frame *out, size_t max)
{
    struct object *frame = py->frame();
    size_t count = 0;

    if (frame)
        py->ref(frame);
    while (frame && count < max && frame_fill(py, frame, &out[count])) {
        struct object *back = py->attribute(frame, "f_back");

        count++;
        py->unref(frame);
        frame = back; /* the outermost frame's f_back is None, which has no code */
    }
    py->error_clear();
    if (frame)
        py->unref(frame);
    return count;
}

size_t inj_python_frames(struct inj_frame *out, size_t max)
{
    struct object *type = NULL;
    struct object *value = NULL;
    struct object *trace = NULL;
    const struct python py = python_get();
    size_t count;
    int was_on = 0;

    if (!py.is_there || !lock_is_held(&py))
        return 0;
    py.error_take(&type, &value, &trace);
    if (py.gc_disable)
        was_on = py.gc_disable();
    count = frames_walk(&py, out, max < PYTHON_FRAMES_MAX ? max : PYTHON_FRAMES_MAX);
    if (was_on)
        py.gc_enable();
    py.error_put(type, value, trace);
    return count;
}
