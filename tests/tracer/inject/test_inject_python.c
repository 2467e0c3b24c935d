/*
 * tests/tracer/inject/test_inject_python.c - allocations of a Python program have its functions and lines, where the
 * calling thread holds the GIL.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "tests/e2e/program.h"
#include "tests/sanitizer.h"
#include "tests/skip.h"
#include "tests/tracer/inject/injected.h"

static const char SCRIPT[] =
    "import ctypes, sys\n"
    "hold = len(sys.argv) > 1\n"
    "cuda = (ctypes.PyDLL if hold else ctypes.CDLL)('libcuda.so.1')\n"
    "context = ctypes.c_void_p()\n"
    "cuda.cuInit(0)\n"
    "cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)\n"
    "cuda.cuCtxSetCurrent(context)\n"
    "class Net:\n"
    "    def build(self):\n"
    "        p = ctypes.c_uint64()\n"
    "        assert cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(4096)) == 0\n"
    "try:\n"
    "    raise ValueError('one on its way')\n"
    "except ValueError:\n"
    "    Net().build()\n";

/* ctypes.PyDLL keeps the interpreter's lock, ctypes.CDLL lets it go. */
static void python_frames_are_recorded_where_the_gil_is_held(void **state)
{
    const char *script = program_file("train.py", SCRIPT);
    const char *held[] = {"python3", script, "hold", NULL};
    const char *free_lock[] = {"python3", script, NULL};
    const char *settings[] = {INJECTED_LENIENT, NULL};
    struct injected *run;

    (void)state;
    if (HAS_THREAD_SANITIZER)
        tests_skip(
            "python3 was not built with the thread sanitizer and cannot load a library that was");
    if (system("python3 -c 'import ctypes' >/dev/null 2>&1") != 0)
        tests_skip("there is no python3 with ctypes");
    run = injected_run_args(held, settings);
    injected_assert_exit(run, 0);
    injected_assert_report(run->trace, 4096, 2, 4096);
    injected_assert_sql(run->trace,
                        "SELECT func IN ('train.py:Net.build', 'train.py:build') FROM event "
                        "WHERE kind = 'alloc'",
                        1); /* qualified names are known from 3.11 on */
    injected_assert_sql(run->trace, "SELECT line FROM event WHERE kind = 'alloc'", 11);
    run = injected_run_args(free_lock, settings);
    injected_assert_exit(run, 0);
    injected_assert_report(run->trace, 4096, 2, 4096);
    injected_assert_sql(run->trace,
                        "SELECT line IS NULL OR line = 0 FROM event WHERE kind = 'alloc'", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_frames_are_recorded_where_the_gil_is_held),
    };

    injected_setup();
    return cmocka_run_group_tests(tests, NULL, injected_cleanup);
}
