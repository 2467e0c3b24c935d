/*
 * lang/prelude/prelude.c - the standard library's files, and the module each belongs to.
 *
 * For:            see prelude.h.
 * Must not know:  the interpreter.
 * Invariant:      every file of lang/prelude/ has a row in the table and the reverse (checked by
 *                 tests/lang/prelude/test_prelude.c).
 */
#include "lang/prelude/prelude.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"

struct embedded_file {
    const char *name;
    const char *text;
    size_t len;
};

#include "prelude.inc" /* made by tools/embed.sh */

/* In the order in which they are run. */
static const struct {
    const char *file;
    const char *module;
} order[] = {
    {"torch_functions.py", "torch"},
    {"linalg.py", "torch.linalg"},
    {"init.py", "torch.nn.init"},
    {"functional.py", "torch.nn.functional"},
    {"functional_loss.py", "torch.nn.functional"},
    {"functional_attention.py", "torch.nn.functional"},
    {"nn_container.py", "torch.nn"},
    {"nn_layers.py", "torch.nn"},
    {"nn_conv.py", "torch.nn"},
    {"nn_norm.py", "torch.nn"},
    {"nn_act.py", "torch.nn"},
    {"copy.py", "copy"},
    {"collections.py", "collections"},
    {"nn_transformer.py", "torch.nn"},
    {"nn_rnn.py", "torch.nn"},
    {"optim.py", "torch.optim"},
    {"lr_scheduler.py", "torch.optim.lr_scheduler"},
    {"nn_utils.py", "torch.nn.utils"},
    {"amp.py", "torch.amp"},
    {"functools.py", "functools"},
    {"selective.py", "torch.utils.checkpoint"},
    {"checkpoint.py", "torch.utils.checkpoint"},
    {"utils_data.py", "torch.utils.data"},
    {"backends.py", "torch.backends"},
    {"cuda_streams.py", "torch.cuda"},
    {"distributed.py", "_distributed"},
    {"deepspeed.py", "_deepspeed"},
    {"deepspeed_params.py", "_deepspeed_params"},
    {"deepspeed_stage3.py", "_deepspeed_stage3"},
    {"dtensor.py", "_dtensor"},
    {"tensor_parallel.py", "_tensor_parallel"},
    {"mesh.py", "_mesh"},
    {"context_parallel.py", "_context_parallel"},
    {"fsdp_params.py", "_fsdp_params"},
    {"fsdp.py", "_fsdp"},
    {"pipeline_schedules.py", "_pipeline_schedules"},
    {"pipeline.py", "_pipeline"},
    {"placement.py", "_placement"},
    {"evaluation.py", "_evaluation"},
    {"apex.py", "_apex"},
    {"chunked_loss.py", "_chunked_loss"},
    {"toggles.py", "_toggles"},
    {"formula.py", "_formula"},
    {"train.py", "_train"},
};

bool lang_prelude_file(size_t i, struct lang_prelude_file *out)
{
    if (i >= sizeof(order) / sizeof(order[0]))
        return false;
    for (size_t k = 0; k < sizeof(embedded) / sizeof(embedded[0]); k++) {
        if (strcmp(embedded[k].name, order[i].file) != 0)
            continue;
        *out = (struct lang_prelude_file){.file = order[i].file,
                                          .module = order[i].module,
                                          .text = embedded[k].text,
                                          .len = embedded[k].len};
        return true;
    }
    VS_ASSERT(false && "a file of the prelude is missing");
}
