/*
 * tests/import/recording.h - recordings written by hand for tests: events with stacks given as text.
 */
#ifndef TESTS_IMPORT_RECORDING_H
#define TESTS_IMPORT_RECORDING_H

#include "base/recorded/memlist.h"
#include "import/importing.h"

/* Zero-initialised: nothing recorded. Times count up by one an event. */
struct recording {
    struct vs_memlist list;
};

/*
 * An allocation, a free (requested and completed) with its own stack. stack: frames, innermost first, each "path func
 * line", with `|` between; a word that begins with `!` is what C++ frames say: !cpp, !engine, !release, !cast,
 * !set_data, !accumulate, !op, !workspace. NULL: no stack.
 */
void recording_alloc(struct recording *r, uint64_t address, uint64_t bytes, const char *stack);
void recording_free(struct recording *r, uint64_t address, uint64_t bytes, const char *stack);
/* A range begins or ends before the next event. */
void recording_note(struct recording *r, const char *name, bool is_end);
void recording_release(struct recording *r);

/*
 * As import/importing.c would make it of these events, without segments: blocks that are freed but never allocated
 * come first, as older. What is derived is not in it yet.
 */
void recording_import(const struct recording *r, struct imp_import *out);

/*
 * Older blocks side by side in front of all that is in an import without any, `count` of so many bytes from an address
 * on.
 */
void recording_old(struct imp_import *import, uint64_t address, uint64_t bytes, size_t count);

/* Some stacks of a training program, to be put together with `|`. */
#define CALL "/p/site-packages/torch/nn/modules/module.py _call_impl 1750"
#define NET "net.py forward 10|" CALL "|train.py main 5"
#define LINEAR "/p/site-packages/torch/nn/modules/linear.py forward 116|" CALL "|" NET
#define LOSS "/p/site-packages/torch/nn/functional.py cross_entropy 3086|train.py main 6"
#define NODE "!cpp|!engine"
#define GRAD "!cpp|!engine|!accumulate"
#define STEP "/p/site-packages/torch/optim/adam.py step 100|train.py main 8"
#define STATE "/p/site-packages/torch/optim/adam.py _init_group 70|" STEP
#define ZERO "/p/site-packages/torch/optim/optimizer.py zero_grad 900|train.py main 9"
#define DATA "train.py main 4"
#define MOVE(line) "/p/site-packages/torch/nn/modules/module.py _apply " line "|train.py main 1"

#endif
