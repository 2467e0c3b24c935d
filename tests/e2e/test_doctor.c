/*
 * tests/e2e/test_doctor.c - `vramscope doctor` with Pythons and PyTorch installations that the test creates.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor/python.h"
#include "tests/e2e/program.h"
#include "tests/skip.h"

#define LIMIT_MS 30000

static void run(const char *command)
{
    if (system(command) != 0)
        fail_msg("%s failed", command);
}

/* An executable file with this text; a later call with the same name replaces it. */
static const char *script(const char *name, const char *text)
{
    const char *path = program_file(name, text);

    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

/* What a shell says in place of Python. torch: lines more. */
static const char *simulated_python(const char *torch)
{
    char text[2048];

    snprintf(text, sizeof(text),
             "#!/bin/sh\n"
             "echo 'a warning of its own'\n"
             "echo '@vramscope path /opt/python3'\n"
             "echo '@vramscope version 3.12.1'\n"
             "echo '@vramscope machine x86_64'\n"
             "echo '@vramscope libc glibc 2.31'\n"
             "%s",
             torch);
    return script("python3", text);
}

/* The JSON of `doctor` of the Python at `path`. */
static char *doctor(const char *path, int *status)
{
    struct program p = program_run("doctor", "--json", path, NULL);
    char *json = strdup(p.out);

    *status = p.status;
    if (*p.err)
        fail_msg("it said: %s", p.err);
    program_release(&p);
    return json;
}

static void expect(const char *json, const char *path, const char *value)
{
    char *found = json_text(json, path);

    if (!found || strcmp(found, value) != 0)
        fail_msg("%s is %s instead of %s in %s", path, found ? found : "null", value, json);
    free(found);
}

static int setup(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", program_path("cache"), 1);
    unsetenv("VRAMSCOPE_PLUGINS");
    return 0;
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static void doctor_examines_the_python_in_path(void **state)
{
    char path[1024];
    char *kept = strdup(getenv("PATH"));
    struct program p;

    (void)state;
    simulated_python("");
    snprintf(path, sizeof(path), "%s:%s", program_folder(), kept);
    setenv("PATH", path, 1);
    p = program_run("doctor", "--json", NULL);
    setenv("PATH", kept, 1);
    assert_int_equal(p.status, 1); /* there is no PyTorch */
    expect(p.out, "$.python.path", "/opt/python3");
    expect(p.out, "$.python.version", "3.12.1");
    expect(p.out, "$.python.libc", "glibc 2.31");
    assert_null(json_text(p.out, "$.torch"));
    assert_null(json_text(p.out, "$.python.why"));
    program_release(&p);
    free(kept);
}

static void a_cpu_only_build_is_reported(void **state)
{
    char lines[512];
    char *json;
    char *why;
    int status;

    (void)state;
    snprintf(lines, sizeof(lines), "mkdir -p '%s'", program_path("cpu/lib"));
    run(lines);
    program_file("cpu/lib/libtorch_cpu.so", "");
    snprintf(lines, sizeof(lines),
             "echo '@vramscope torch %s'\necho '@vramscope __version__ 2.8.0+cpu'\n",
             program_path("cpu"));
    json = doctor(simulated_python(lines), &status);
    assert_int_equal(status, 1);
    expect(json, "$.torch.version", "2.8.0+cpu");
    why = json_text(json, "$.torch.why");
    if (!why || !strstr(why, "built for the CPU alone"))
        fail_msg("it says %s", why ? why : "nothing");
    free(why);
    free(json);
}

static void a_missing_or_failing_python_is_reported(void **state)
{
    struct doc_python *found = calloc(1, sizeof(*found));
    char *json;
    char *why;
    int status;

    (void)state;
    json = doctor("no-such-python", &status);
    assert_int_equal(status, 1);
    expect(json, "$.python.why", "No such file or directory");
    free(json);
    json =
        doctor(script("not-python", "#!/bin/sh\necho 'unknown option -c' >&2\nexit 2\n"), &status);
    why = json_text(json, "$.python.why");
    if (!why || strcmp(why, "it is no Python: unknown option -c") != 0)
        fail_msg("it says %s", why ? why : "nothing");
    free(why);
    free(json);
    doc_python_query(script("silent", "#!/bin/sh\nsleep 1000\n"), 50, found);
    assert_non_null(strstr(found->why, "did not answer"));
    free(found);
}

/* The text is for a person: a line each, all rows, nothing on stderr. */
static void the_text_of_doctor_has_every_verdict(void **state)
{
    struct program p = program_run("doctor", simulated_python(""), NULL);

    (void)state;
    assert_int_equal(p.status, 1);
    if (!strstr(p.out, "\nfound here\n") || !strstr(p.out, "\nwhat works\n") ||
        !strstr(p.out, "  yes  record NET --device meta\n") ||
        !strstr(p.out, "  no   record -- python3 …\n"))
        fail_msg("it prints %s", p.out);
    assert_string_equal(p.err, "");
    program_release(&p);
}

/* The script itself, under a real Python, with a package `torch` that would fail if it were imported. */
static void a_package_is_found_without_being_imported(void **state)
{
    struct doc_python *found = calloc(1, sizeof(*found));
    char command[1024];

    (void)state;
    if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") != 0)
        tests_skip("there is no python3 of 3.8 or newer");
    snprintf(command, sizeof(command), "mkdir -p '%s'/torch '%s'/torch-9.9.dist-info",
             program_path("site"), program_path("site"));
    run(command);
    program_file("site/torch/__init__.py", "raise SystemExit('imported')\n");
    program_file("site/torch/version.py",
                 "from typing import Optional\n__version__ = '9.9'\ncuda: Optional[str] = '13.2'\n"
                 "hip: Optional[str] = None\n");
    program_file("site/torch-9.9.dist-info/METADATA",
                 "Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n"
                 "Requires-Dist: a-package-that-nobody-has>=1\n"
                 "Requires-Dist: nvidia-cublas==13; platform_system == 'Linux'\n"
                 "Requires-Dist: triton==4\n"
                 "Requires-Dist: another-that-nobody-has; extra == 'more'\n");
    setenv("PYTHONPATH", program_path("site"), 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    doc_python_query("python3", LIMIT_MS, found);
    unsetenv("PYTHONPATH");
    assert_string_equal(found->why, "");
    assert_string_equal(found->torch, program_path("site/torch"));
    assert_string_equal(found->torch_version, "9.9");
    assert_string_equal(found->cuda, "13.2");
    assert_string_equal(found->hip, "");
    assert_string_equal(found->missing, "a-package-that-nobody-has");
    assert_non_null(strstr(found->torch_why, "no libraries of PyTorch are there"));
    free(found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doctor_examines_the_python_in_path),
        cmocka_unit_test(a_cpu_only_build_is_reported),
        cmocka_unit_test(a_missing_or_failing_python_is_reported),
        cmocka_unit_test(the_text_of_doctor_has_every_verdict),
        cmocka_unit_test(a_package_is_found_without_being_imported),
    };

    return cmocka_run_group_tests(tests, setup, cleanup);
}
