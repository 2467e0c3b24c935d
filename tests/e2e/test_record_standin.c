/*
 * tests/e2e/test_record_standin.c - `vramscope record --gpu NAME -- python3 …`: a GPU is simulated, or a
 * message says why not.
 *
 * PyTorch is a package of the test's own, whose libraries are those of tests/standin/fake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/skip.h"

/* What its torch does: load its library as PyTorch does, and ask it how many devices there are. */
#define TORCH                                                                                      \
    "import ctypes, os\n"                                                                          \
    "ctypes.CDLL(os.environ['FAKE_PLAIN'], ctypes.RTLD_GLOBAL)\n"                                  \
    "lib = ctypes.CDLL(os.path.join(os.path.dirname(__file__), 'lib', 'libtorch_cuda.so'))\n"      \
    "devices, unforeseen = lib.fake_devices, lib.fake_unforeseen\n"
#define VERSION "cuda: str = '13.2'\n"
#define PROGRAM "import torch\nprint(torch.devices(), torch.unforeseen(1))\n"

static void run(const char *command)
{
    if (system(command) != 0)
        fail_msg("%s failed", command);
}

/* The folder of the build that has the program under test. */
static const char *build(void)
{
    static char path[512];
    const char *program = getenv("VRAMSCOPE");

    snprintf(path, sizeof(path), "%s", program ? program : "build/vramscope");
    *strrchr(path, '/') = '\0';
    return path;
}

/* library: the file that becomes torch/lib/NAME. */
static void torch_make(const char *name, const char *library)
{
    char *plain;
    char command[2048];

#ifndef __x86_64__
    tests_skip("a GPU is simulated on x86-64 alone");
#endif
    if (system("python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null") != 0)
        tests_skip("there is no python3 of 3.8 or newer");
    snprintf(command, sizeof(command), "rm -rf '%s'/* && mkdir -p '%s'", program_folder(),
             program_path("site/torch/lib"));
    run(command);
    program_file("site/torch/__init__.py", TORCH);
    program_file("site/torch/version.py", VERSION);
    snprintf(command, sizeof(command), "cp '%s' '%s/%s'", library, program_path("site/torch/lib"),
             name);
    run(command);
    snprintf(command, sizeof(command), "%s/fake/standin/cuda/libplain.so.1", build());
    plain = realpath(command, NULL);
    assert_non_null(plain);
    setenv("FAKE_PLAIN", plain, 1);
    free(plain);
    setenv("PYTHONPATH", program_path("site"), 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("XDG_CACHE_HOME", program_path("cache"), 1);
    setenv("TMPDIR", program_folder(), 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("LOCAL_WORLD_SIZE");
}

static void torch_for_cuda(void)
{
    char library[640];

    snprintf(library, sizeof(library), "%s/fake/standin/torch/lib/libtorch_cuda.so", build());
    torch_make("libtorch_cuda.so", library);
}

static struct program record(const char *gpu, const char *text)
{
    return program_run("record", "--gpu", gpu, "-o", program_path("trace.db"), "--", "python3",
                       program_file("train.py", text), NULL);
}

static void check(struct program p, int status, const char *out, const char *err)
{
    if (p.status != status || strcmp(p.out, out) != 0 || !strstr(p.err, err))
        fail_msg("status %d (not %d), out: %s; err: %s; but should: %s, %s", p.status, status,
                 p.out, p.err, out, err);
    program_release(&p);
}

static int lines_with(const char *text, const char *word)
{
    int n = 0;

    for (; (text = strstr(text, word)) != NULL; text++)
        n++;
    return n;
}

static void a_simulated_gpu_is_announced_in_one_line(void **state)
{
    struct program p;

    (void)state;
    torch_for_cuda();
    p = record("h100",
               "import os, subprocess, sys\nimport torch\nprint(torch.devices())\n"
               "sys.stdout.flush()\n"
               "subprocess.run([sys.executable, '-c', 'import torch; print(torch.devices())'])\n");
    assert_int_equal(lines_with(p.err, "a simulated GPU, H100 SXM, 79.19 GiB, "
                                       "compute capability 9.0"),
                     1);
    check(p, 0, "1\n1\n", "--gpu h100: a simulated GPU");
}

static void functions_without_a_simulation_are_named_at_the_end(void **state)
{
    struct program p;

    (void)state;
    torch_for_cuda();
    p = record("t4", PROGRAM);
    assert_int_equal(lines_with(p.err, "libcudart.so.13 cudaFoo"), 1);
    check(p, 0, "1 801\n",
          "unknown to the simulated GPU: libcudart.so.13 cudaFoo; from there on memory may differ");
}

static void several_gpus_are_simulated_on_request(void **state)
{
    const char *path;

    (void)state;
    torch_for_cuda();
    path = program_file("train.py", "import torch\nprint(torch.devices())\n");
    check(program_run("record", "--gpu", "t4", "--gpus", "3", "-o", program_path("trace.db"), "--",
                      "python3", path, NULL),
          0, "3\n", "Tesla T4");
    setenv("LOCAL_WORLD_SIZE", "4", 1); /* as torchrun says how many processes it started */
    check(record("t4", "import torch\nprint(torch.devices())\n"), 0, "4\n", "Tesla T4");
    unsetenv("LOCAL_WORLD_SIZE");
    setenv("CUDA_VISIBLE_DEVICES", "2,0,7,1", 1); /* CUDA stops at the first that is not there */
    check(program_run("record", "--gpu", "t4", "--gpus", "3", "-o", program_path("trace.db"), "--",
                      "python3", path, NULL),
          0, "2\n", "Tesla T4");
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    check(record("t4", "import torch\nprint(torch.devices())\n"), 0, "-1\n", "Tesla T4");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

#define SAY_RANK                                                                                   \
    "echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE at $MASTER_ADDR; exit 3"

static void a_single_rank_gets_the_environment_of_a_launcher(void **state)
{
    (void)state;
    check(
        program_run("record", "--world", "1024", "--rank", "777", "--", "sh", "-c", SAY_RANK, NULL),
        3, "777 of 1024, 1 of 8 at 127.0.0.1\n", "never called CUDA");
    check(program_run("record", "--world", "6", "--rank", "5", "--gpus", "4", "--", "sh", "-c",
                      SAY_RANK, NULL),
          3, "5 of 6, 1 of 4 at 127.0.0.1\n", "never called CUDA");
    check(program_run("record", "--world", "2", "--", "sh", "-c", SAY_RANK, NULL), 3,
          "0 of 2, 0 of 2 at 127.0.0.1\n", "never called CUDA");
}

static void impossible_ranks_are_refused(void **state)
{
    (void)state;
    check(program_run("record", "--world", "8", "--rank", "8", "--", "true", NULL), 2, "",
          "--rank cannot be 8: the ranks of --world 8 are 0 to 7");
    check(program_run("record", "--rank", "1", "--", "true", NULL), 2, "",
          "--rank is one of --world N");
    check(program_run("record", "--world", "0", "--", "true", NULL), 2, "",
          "toggle `world` cannot be `0`");
    check(program_run("record", "--world", "2", "--gpu", "none", "--", "true", NULL), 2, "",
          "not with --gpu none");
    check(program_run("record", "--shard", "fsdp", "--rank", "8", "tests/nets/mlp.py", NULL), 1, "",
          "rank=8: the ranks of world=8 are 0 to 7");
}

/* The same word is a toggle of nets. */
static void world_of_a_net_is_its_toggle(void **state)
{
    struct program p =
        program_run("record", "--shard", "ddp", "--world", "2", "--device", "meta", "-f", "-o",
                    program_path("net.db"), "sample_nets/lenet.py", NULL);

    (void)state;
    assert_int_equal(p.status, 0);
    program_release(&p);
    p = program_run("report", "--json", program_path("net.db"), NULL);
    assert_int_equal(json_int(p.out, "$.toggles.world"), 2);
    program_release(&p);
}

static void nvidia_smi_is_named_when_the_program_starts_it(void **state)
{
    (void)state;
    torch_for_cuda();
    check(record("t4", "import subprocess, torch\n"
                       "try:\n"
                       "    subprocess.check_output(['/nowhere/nvidia-smi', '-L'])\n"
                       "except FileNotFoundError:\n"
                       "    print('none')\n"),
          0, "none\n",
          "vramscope: the program started nvidia-smi, which belongs to NVIDIA's driver");
}

/* As a Python of another architecture or C library would fail to. */
static void a_python_that_cannot_load_the_simulation_gets_a_message(void **state)
{
    (void)state;
    torch_for_cuda();
    program_file("vramscope_standin.so", "not a library");
    setenv("VRAMSCOPE_PLUGINS", program_folder(), 1);
    check(record("t4", "print(1)\nimport torch\n"), 1, "1\n",
          "this Python must be of x86-64 and glibc");
    unsetenv("VRAMSCOPE_PLUGINS");
}

static void gpu_none_simulates_no_gpu(void **state)
{
    struct program p;

    (void)state;
    torch_for_cuda();
    p = record("none", PROGRAM);
    assert_null(strstr(p.err, "stand-in"));
    assert_int_not_equal(access(program_path("cache"), F_OK), 0);
    check(p, 1, "", "libcudart.so.13"); /* as without vramscope: CUDA is not there */
}

/* Runs a program in a mount namespace whose /dev has what Python needs, and "$1", an empty file. */
#define WITH_DEVICE                                                                                \
    "d=$(mktemp -d) && mount -t tmpfs none $d && for f in null zero urandom; do "                  \
    "touch $d/$f && mount --bind /dev/$f $d/$f || exit 9; done && touch $d/$1 && "                 \
    "ln -s /proc/self/fd $d/fd && mkdir $d/shm && mount --rbind $d /dev || exit 9; shift; "        \
    "exec \"$@\""

static struct program record_with_device(const char *gpu, const char *device)
{
    return program_run("record", "--gpu", gpu, "-f", "-o", program_path("trace.db"), "--",
                       "unshare", "--map-root-user", "--mount", "sh", "-c", WITH_DEVICE, "sh",
                       device, "python3", program_file("train.py", PROGRAM), NULL);
}

static void with_a_driver_of_nvidia_s_a_gpu_is_simulated_on_request_alone(void **state)
{
    struct program p;

    (void)state;
    torch_for_cuda();
    if (system("unshare --map-root-user --mount sh -c '" WITH_DEVICE
               "' sh other true 2>/dev/null") != 0)
        tests_skip("no mount namespace can be made here");
    check(record_with_device("auto", "other"), 0, "1 801\n", "a simulated GPU");
    p = record_with_device("auto", "nvidiactl");
    assert_null(strstr(p.err, "a simulated GPU"));
    check(p, 1, "", "libcudart.so.13"); /* as without vramscope: CUDA's libraries are not there */
    check(record_with_device("t4", "nvidiactl"), 0, "1 801\n", "a simulated GPU, Tesla T4");
}

static void the_second_start_uses_the_cache_of_the_first(void **state)
{
    struct program p;
    char command[512];

    (void)state;
    torch_for_cuda();
    check(record("t4", PROGRAM), 0, "1 801\n", "a simulated GPU");
    /* newer files would be written anew: nothing below the cache may be newer than this */
    snprintf(command, sizeof(command), "touch '%s'", program_path("mark"));
    run(command);
    p = record("t4", PROGRAM);
    assert_int_equal(p.status, 0);
    program_release(&p);
    snprintf(command, sizeof(command), "test -z \"$(find '%s' -newer '%s')\"",
             program_path("cache"), program_path("mark"));
    run(command);
}

static void an_unwritable_cache_does_not_prevent_recording(void **state)
{
    (void)state;
    torch_for_cuda();
    setenv("XDG_CACHE_HOME", program_file("file", "no folder"), 1);
    check(record("t4", PROGRAM), 0, "1 801\n", "a simulated GPU, Tesla T4");
}

static void a_build_for_the_cpu_alone_is_refused_with_what_to_install(void **state)
{
    (void)state;
    torch_make("libtorch_cpu.so", "/dev/null");
    program_file("site/torch/__init__.py", "");
    check(record("t4", "import torch\nprint(1)\n"), 0, "1\n", "for the CPU alone");
    check(record("t4", "import torch\nprint(1)\n"), 0, "1\n", "install PyTorch's build for CUDA");
}

static void unknown_gpus_and_illegal_counts_are_refused(void **state)
{
    (void)state;
    check(program_run("record", "--gpu", "gtx", "--", "true", NULL), 2, "",
          "--gpu cannot be `gtx`; legal: auto, none, v100-16");
    check(program_run("record", "--gpus", "65", "--", "true", NULL), 2, "", "--gpus");
    check(program_run("record", "--values", "ones", "--", "true", NULL), 2, "",
          "--values cannot be `ones`; legal: zeros, uniform");
    check(program_run("record", "--async", "soon", "--", "true", NULL), 2, "",
          "--async cannot be `soon`; legal: early, late");
    check(program_run("record", "--gpu", "t4", "sample_nets/lenet.py", NULL), 2, "",
          "--gpu is for programs; a net's GPU is --target");
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_simulated_gpu_is_announced_in_one_line),
        cmocka_unit_test(functions_without_a_simulation_are_named_at_the_end),
        cmocka_unit_test(several_gpus_are_simulated_on_request),
        cmocka_unit_test(a_single_rank_gets_the_environment_of_a_launcher),
        cmocka_unit_test(impossible_ranks_are_refused),
        cmocka_unit_test(world_of_a_net_is_its_toggle),
        cmocka_unit_test(nvidia_smi_is_named_when_the_program_starts_it),
        cmocka_unit_test(a_python_that_cannot_load_the_simulation_gets_a_message),
        cmocka_unit_test(gpu_none_simulates_no_gpu),
        cmocka_unit_test(with_a_driver_of_nvidia_s_a_gpu_is_simulated_on_request_alone),
        cmocka_unit_test(the_second_start_uses_the_cache_of_the_first),
        cmocka_unit_test(an_unwritable_cache_does_not_prevent_recording),
        cmocka_unit_test(a_build_for_the_cpu_alone_is_refused_with_what_to_install),
        cmocka_unit_test(unknown_gpus_and_illegal_counts_are_refused),
    };

    /* python3 was not linked with the address sanitizer, and keeps memory to its end */
    setenv("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0", 1);
    return cmocka_run_group_tests(tests, NULL, cleanup);
}
