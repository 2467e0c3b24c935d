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

/* gc_*: since 3.10; where they are missing collection of garbage is not held off. current: no function of the stable interface. */
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
    unsigned misses; /* how often it was not there */
};

static struct python python;

static bool look_up(const char *name, void *out)
{
    void *function = dlsym(RTLD_DEFAULT, name);

    memcpy(out, &function, sizeof(function));
    return function != NULL;
}

static void python_look_up(struct python *py)
{
    if (!look_up("PyGILState_Check", &py->has_lock))
        return;
    if (!look_up("PyThreadState_GetUnchecked", &py->current) &&
        !look_up("_PyThreadState_UncheckedGet", &py->current))
        return;
    py->is_there =
        look_up("Py_IsInitialized", &py->is_initialized) &&
        look_up("PyGILState_GetThisThreadState", &py->of_thread) &&
        look_up("PyEval_GetFrame", &py->frame) && look_up("PyFrame_GetLineNumber", &py->line) &&
        look_up("PyObject_GetAttrString", &py->attribute) &&
        look_up("PyUnicode_AsUTF8String", &py->bytes_of) &&
        look_up("PyBytes_AsString", &py->bytes) && look_up("Py_IncRef", &py->ref) &&
        look_up("Py_DecRef", &py->unref) && look_up("PyErr_Fetch", &py->error_take) &&
        look_up("PyErr_Restore", &py->error_put) && look_up("PyErr_Clear", &py->error_clear);
    if (look_up("PyGC_Disable", &py->gc_disable) && !look_up("PyGC_Enable", &py->gc_enable))
        py->gc_disable = NULL;
}

/* CUDA may come before Python does: it is looked for again, at every doubling of the times that it was not there, as that takes long. */
static struct python python_get(void)
{
    struct python py;

    inj_lock(INJ_LOCK_PYTHON);
    python.misses += !python.is_there;
    py = python;
    inj_unlock(INJ_LOCK_PYTHON);
    if (py.is_there || (py.misses & (py.misses - 1)) != 0)
        return py;
    python_look_up(&py);
    inj_lock(INJ_LOCK_PYTHON);
    if (py.is_there)
        python = py;
    inj_unlock(INJ_LOCK_PYTHON);
    return py;
}

/* PyGILState_Check alone says yes to everything once there are several interpreters. */
static bool lock_is_held(const struct python *py)
{
    return py->is_initialized() && py->has_lock() && py->current() &&
           py->current() == py->of_thread();
}

/* The attribute as UTF-8 into `out`; "" where there is none. */
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

/* Neither a package, nor Python's library, nor the interpreter's own text. */
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
        frame = back; /* the outermost frame's is None, which has no code */
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
