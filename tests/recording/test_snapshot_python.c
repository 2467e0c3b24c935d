/*
 * tests/recording/test_snapshot_python.c - classifies Python frames as user, library or PyTorch code, and selects the
 * frame that becomes the location. The paths are those of the published snapshots.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/recorded/memlist.h"
#include "recording/snapshot_python.h"

static void check(const char *path, enum vs_frame_kind kind, const char *name)
{
    struct vs_text file = {NULL, 0, 0};

    if (!rec_python_is(path, strlen(path)))
        fail_msg("%s is not taken for Python", path);
    if (rec_python_file(path, strlen(path), &file) != kind || strcmp(vs_text_get(&file), name) != 0)
        fail_msg("%s: kind %d, `%s`; should be %d, `%s`", path,
                 (int)rec_python_file(path, strlen(path), &file), vs_text_get(&file), (int)kind,
                 name);
    vs_text_release(&file);
}

static void a_path_is_classified_as_user_library_or_pytorch_code(void **state)
{
    (void)state;
    check("/home/a/net/train.py", VS_FRAME_USER, "train.py");
    check("train.py", VS_FRAME_USER, "train.py");
    check("C:\\research\\DeComFL\\server.py", VS_FRAME_USER, "server.py");
    check("<stdin>", VS_FRAME_USER, "<stdin>");
    check("<ipython-input-3-7d1f>", VS_FRAME_USER, "<ipython-input-3-7d1f>");
    check("/v/lib/python3.11/site-packages/torch/nn/modules/module.py", VS_FRAME_TORCH,
          "torch/nn/modules/module.py");
    check("D:\\venv\\Lib\\site-packages\\torch\\optim\\adam.py", VS_FRAME_TORCH,
          "torch/optim/adam.py");
    check("/opt/src/pytorch/torch/nn/functional.py", VS_FRAME_TORCH, "torch/nn/functional.py");
    check("/home/a/torch/mine.py", VS_FRAME_USER, "mine.py");
    check("/v/lib/python3.11/site-packages/torchvision/models/resnet.py", VS_FRAME_PACKAGE,
          "torchvision/models/resnet.py");
    check("/usr/lib/python3/dist-packages/einops/einops.py", VS_FRAME_PACKAGE, "einops/einops.py");
    check("/usr/lib/python3.12/copy.py", VS_FRAME_STDLIB, "copy.py");
    check("C:\\u\\cpython-3.10.19-windows\\lib\\copy.py", VS_FRAME_STDLIB, "copy.py");
    check("<frozen runpy>", VS_FRAME_STDLIB, "<frozen runpy>");
    check("/tmp/torchinductor_a/ik/cik.py", VS_FRAME_GENERATED, "cik.py");
}

static void frames_of_other_languages_are_not_python(void **state)
{
    (void)state;
    assert_false(rec_python_is("??", 2));
    assert_false(rec_python_is("", 0));
    assert_false(rec_python_is("CUDACachingAllocator.cpp", 24));
    assert_false(rec_python_is("/lib/libtorch_python.so", 23));
}

/*
 * The frames of a stack, innermost first, as "path func" with the number of the frame as its line; the line of the
 * place.
 */
static uint32_t location(const char *const *frames, size_t count)
{
    struct vs_memlist list = {.events = NULL};
    struct vs_text file = {NULL, 0, 0};
    struct rec_python_names names;
    uint32_t ids[8];
    uint32_t found;

    for (size_t i = 0; i < count; i++) {
        const char *space = strrchr(frames[i], ' ');
        struct vs_frame frame = {.line = (uint32_t)i + 1};

        frame.kind = (uint8_t)rec_python_file(frames[i], (size_t)(space - frames[i]), &file);
        frame.file = vs_memlist_string(&list, vs_text_get(&file), file.len);
        frame.func = vs_memlist_string(&list, space + 1, strlen(space + 1));
        ids[i] = vs_callstacks_frame(&list.stacks, &frame);
    }
    rec_python_names_set(&list, &names);
    found = rec_python_location(&list, ids, count, &names);
    found = found ? list.stacks.frames[found - 1].line : 0;
    vs_text_release(&file);
    vs_memlist_release(&list);
    return found;
}

#define MODULE "/p/site-packages/torch/nn/modules/module.py _call_impl"
#define LOCATION(...)                                                                              \
    location((const char *const[]){__VA_ARGS__},                                                   \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void files_of_the_recorder_are_known(void **state)
{
    static const char *const OWN[] = {"/tmp/vramscope-record-a1B2c3/vramscope_values.py",
                                      "/scratch/me/vramscope-record-x/vramscope_toggles.py"};
    static const char *const OTHERS[] = {"/tmp/vramscope-record-a1B2c3/train.py",
                                         "/home/me/vramscope_values.py", "vramscope_values.py", ""};

    (void)state;
    for (size_t i = 0; i < sizeof(OWN) / sizeof(OWN[0]); i++)
        assert_true(rec_python_is_own(OWN[i], strlen(OWN[i])));
    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
        assert_false(rec_python_is_own(OTHERS[i], strlen(OTHERS[i])));
}

static void the_location_is_the_innermost_line_of_user_code(void **state)
{
    (void)state;
    assert_int_equal(LOCATION("/p/site-packages/torch/nn/functional.py relu",
                              "/p/site-packages/einops/einops.py einsum", "net.py attend",
                              "net.py forward", MODULE, "train.py main"),
                     3);
    assert_int_equal(LOCATION("/usr/lib/python3.10/copy.py deepcopy", "net.py f"), 2);
    assert_int_equal(LOCATION("/tmp/torchinductor_a/x.py call", "net.py f"), 2);
}

static void models_of_packages_count_as_user_code(void **state)
{
    (void)state;
    /* a helper file of the package, a function beside the module, its forward */
    assert_int_equal(LOCATION("/p/site-packages/transformers/sdpa.py attend",
                              "/p/site-packages/transformers/qwen.py rotate",
                              "/p/site-packages/transformers/qwen.py forward", MODULE,
                              "train.py main"),
                     2);
    /* no module's: the user's line */
    assert_int_equal(LOCATION("/p/site-packages/einops/einops.py einsum", "train.py main"), 2);
    /* torch's own Function.forward is none */
    assert_int_equal(LOCATION("/p/site-packages/x/fn.py forward",
                              "/p/site-packages/torch/autograd/function.py apply", "train.py main"),
                     3);
}

#define TITAN "/p/site-packages/torchtitan/"

static void a_package_that_is_run_as_a_program_counts_as_user_code(void **state)
{
    (void)state;
    /* the line of the program, not that of what starts it, and not that of another package which it calls */
    assert_int_equal(LOCATION("/p/site-packages/torch/_tensor.py backward", TITAN "trainer.py step",
                              TITAN "train.py <module>", "<frozen runpy> _run_code",
                              "<frozen runpy> run_module", "start.py <module>"),
                     2);
    assert_int_equal(LOCATION("/p/site-packages/einops/einops.py einsum", TITAN "trainer.py step",
                              TITAN "train.py <module>", "/usr/lib/python3.10/runpy.py _run_code"),
                     2);
    assert_int_equal(LOCATION("/p/site-packages/torchtitanic/x.py f", TITAN "train.py <module>",
                              "<frozen runpy> _run_code"),
                     2);
    /* a program that runs the user's file, and a package that is only imported */
    assert_int_equal(LOCATION("/p/site-packages/x/fn.py f", "net.py forward", TITAN "run.py main",
                              TITAN "run.py <module>", "<frozen runpy> _run_code"),
                     2);
    assert_int_equal(LOCATION(TITAN "trainer.py step", TITAN "train.py <module>",
                              "<frozen importlib._bootstrap> _call_with_frames_removed",
                              "train.py <module>"),
                     4);
}

static void without_user_code_the_innermost_library_line_is_the_location(void **state)
{
    (void)state;
    assert_int_equal(LOCATION("/p/site-packages/torch/a.py f", "/p/site-packages/x/b.py g"), 2);
    assert_int_equal(LOCATION("/p/site-packages/torch/a.py f", "/p/site-packages/torch/b.py g"), 1);
    assert_int_equal(location(NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_classified_as_user_library_or_pytorch_code),
        cmocka_unit_test(frames_of_other_languages_are_not_python),
        cmocka_unit_test(files_of_the_recorder_are_known),
        cmocka_unit_test(the_location_is_the_innermost_line_of_user_code),
        cmocka_unit_test(models_of_packages_count_as_user_code),
        cmocka_unit_test(a_package_that_is_run_as_a_program_counts_as_user_code),
        cmocka_unit_test(without_user_code_the_innermost_library_line_is_the_location),
    };

    return cmocka_run_group_tests_name("recording/snapshot_python", tests, NULL, NULL);
}
