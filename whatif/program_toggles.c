/*
 * whatif/program_toggles.c - see program_toggles.h.
 */
#include "whatif/program_toggles.h"

#include <stddef.h>
#include <string.h>

#define OF_THE_LOOP "the loop is the script's own: change it there"

/* What is applied has no row. */
static const struct {
    enum vs_toggle toggle;
    const char *reason;
} REFUSED[] = {
    {VS_TOGGLE_STEPS, OF_THE_LOOP},
    {VS_TOGGLE_DATA, OF_THE_LOOP},
    {VS_TOGGLE_PREFETCH, OF_THE_LOOP},
    {VS_TOGGLE_DROP_OUTPUTS,
     "the names that hold the outputs are local names of the script: add `del` there"},
    {VS_TOGGLE_DETACH_LOSS, "the sum of the losses is the script's own: change it there"},
    {VS_TOGGLE_CHUNK_LOSS, "it is not applied to programs yet"},
    {VS_TOGGLE_GRAD, "whether the script trains or evaluates is its own: change it there"},
    {VS_TOGGLE_FUSE, "it is not applied to programs yet"},
    {VS_TOGGLE_QUANTIZE, "it is not applied to programs yet"},
    {VS_TOGGLE_SHARD, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_MP_POLICY, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_SHARD_UNITS, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_TP_PLAN, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_LOSS_PARALLEL, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_TP, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_REPLICATE, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_CP, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_CP_BUFFERS, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_CP_ROTATE, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_PP_SPLIT, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_MICROBATCHES, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_PP_SCHEDULE, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_GRAD_SYNC, OF_THE_LOOP},
    {VS_TOGGLE_RESHARD, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_REDUCE_BUCKET_SIZE, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_OVERLAP_COMM, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_STAGE3_PREFETCH_BUCKET_SIZE,
     "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_STAGE3_PARAM_PERSISTENCE_THRESHOLD,
     "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_STAGE3_MAX_LIVE_PARAMETERS,
     "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_STAGE3_MAX_REUSE_DISTANCE,
     "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_SUB_GROUP_SIZE, "how a script is distributed is its own: change it there"},
    {VS_TOGGLE_WORKSPACE, "the program's own PyTorch decides it"},
    {VS_TOGGLE_TORCH, "the program runs with its own PyTorch: start it with another one"},
};

const char *wif_program_refusal(enum vs_toggle toggle, const char *value)
{
    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++)
        if (REFUSED[i].toggle == toggle)
            return REFUSED[i].reason;
    if (toggle == VS_TOGGLE_AMP && value[0] == 'O')
        return "Apex is not applied to programs; legal: off, fp16, bf16";
    if (toggle == VS_TOGGLE_CHECKPOINT && strncmp(value, "auto", 4) == 0)
        return "a placement is planned for nets; legal: blocks, segments=N, sqrt, module paths";
    return NULL;
}
