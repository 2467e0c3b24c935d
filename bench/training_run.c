/*
 * bench/training_run.c - see training_run.h.
 */
#include "bench/training_run.h"

#include <stdio.h>
#include <string.h>

#include "base/dtype.h"

static void emit(struct training_run *run, struct vs_event event)
{
    run->obs->emit(run->obs->user, &event);
    run->emitted++;
}

static uint32_t location(struct training_run *run, const struct training_layer *l, uint32_t line,
                         uint32_t op)
{
    return run->obs->location(run->obs->user,
                              &(struct vs_location){run->phase, l->module, run->func, line, op});
}

void training_run_init(struct training_run *run, const struct eng_observer *obs)
{
    static const char *const ops[] = {"conv2d", "batch_norm", "relu", "add", "linear"};
    static const char *const backward_ops[] = {"ConvolutionBackward0", "NativeBatchNormBackward0",
                                               "ReluBackward0", "AddBackward0", "AddmmBackward0"};
    char name[64];

    memset(run, 0, sizeof(*run));
    run->obs = obs;
    run->next_block = 1;
    run->next_tensor = 1;
    run->func = obs->string(obs->user, "Net.forward");
    run->step_func = obs->string(obs->user, "train_step");
    run->adam = obs->string(obs->user, "adam");
    for (int i = 0; i < TRAINING_RUN_LAYERS; i++) {
        struct training_layer *l = &run->layers[i];

        snprintf(name, sizeof(name), "layer%d.%d.conv%d", i / 12, i / 4 % 3, i % 4);
        l->module = obs->string(obs->user, name);
        l->op = obs->string(obs->user, ops[i % 5]);
        l->backward_op = obs->string(obs->user, backward_ops[i % 5]);
        l->bytes = UINT64_C(64) * 56 * 56 * 4 * (uint64_t)(1 + i / 12) + (uint64_t)(i % 12) * 768;
        l->address[0] = UINT64_C(0x7f1200000000) + (uint64_t)i * (UINT64_C(1) << 25);
        l->address[1] = l->address[0] + (UINT64_C(1) << 24);
    }
}

static void alloc(struct training_run *run, struct training_layer *l, uint32_t at, uint8_t category,
                  uint64_t address)
{
    struct vs_tensor_desc desc = {.block = run->next_block++,
                                  .id = run->next_tensor++,
                                  .dtype = VS_F32,
                                  .ndim = 4,
                                  .sizes = {32, 64, 56, (int64_t)(l->bytes % 1000)},
                                  .strides = {200704, 3136, 56, 1}};

    l->block = desc.block;
    l->tensor = desc.id;
    run->obs->tensor(run->obs->user, &desc);
    emit(run, (struct vs_event){.kind = VS_EV_ALLOC,
                                .location = at,
                                .alloc = {.category = category,
                                          .block = desc.block,
                                          .requested_bytes = l->bytes,
                                          .block_bytes = (l->bytes + 511) & ~UINT64_C(511),
                                          .address = address,
                                          .tensor = desc.id}});
}

static void free_block(struct training_run *run, const struct training_layer *l, uint32_t at,
                       uint64_t block, uint64_t address)
{
    emit(run, (struct vs_event){.kind = VS_EV_FREE,
                                .location = at,
                                .free = {.block = block,
                                         .requested_bytes = l->bytes,
                                         .block_bytes = (l->bytes + 511) & ~UINT64_C(511),
                                         .address = address}});
}

static void use(struct training_run *run, const struct training_layer *l, uint32_t at, uint32_t op)
{
    emit(run, (struct vs_event){.kind = VS_EV_USE,
                                .location = at,
                                .use = {.block = l->block, .tensor = l->tensor, .op = op}});
}

static void save(struct training_run *run, uint8_t kind, const struct training_layer *l,
                 uint32_t at, uint64_t node)
{
    emit(run, (struct vs_event){.kind = kind,
                                .location = at,
                                .save = {.block = l->block, .tensor = l->tensor, .node = node}});
}

static void hold(struct training_run *run, uint8_t kind, const struct training_layer *l,
                 uint32_t at, uint32_t name, uint32_t scope, enum vs_holder holder)
{
    emit(run, (struct vs_event){.kind = kind,
                                .location = at,
                                .hold = {.block = l->block,
                                         .tensor = l->tensor,
                                         .name = name,
                                         .scope = scope,
                                         .holder = (uint8_t)holder}});
}

static void op(struct training_run *run, uint8_t kind, uint32_t at, uint32_t name, uint64_t node,
               uint64_t flops, uint8_t pass)
{
    emit(run, (struct vs_event){.kind = kind,
                                .location = at,
                                .op = {.name = name, .node = node, .flops = flops, .role = pass}});
}

static void forward(struct training_run *run, int i)
{
    struct training_layer *l = &run->layers[i];
    const struct training_layer *before = &run->layers[i ? i - 1 : 0];
    const struct eng_observer *obs = run->obs;
    uint32_t line = 20 + (uint32_t)i;
    uint32_t at = location(run, l, line, l->op);
    uint64_t node = run->next_tensor;

    op(run, VS_EV_OP_BEGIN, at, l->op, node, l->bytes * 1152, 0);
    use(run, before, at, l->op);
    alloc(run, l, at, VS_CAT_ACTIVATION, l->address[run->step & 1]);
    save(run, VS_EV_SAVE, before, at, node);
    emit(run, (struct vs_event){.kind = VS_EV_CATEGORY,
                                .location = at,
                                .category = {.block = before->block, .category = VS_CAT_SAVED}});
    op(run, VS_EV_OP_END, at, l->op, node, l->bytes * 1152, 0);
    at = location(run, l, line, 0);
    hold(run, VS_EV_HOLD, l, at, obs->string(obs->user, "x"), run->func, VS_HOLD_LOCAL);
    hold(run, VS_EV_DROP, before, at, obs->string(obs->user, "x"), run->func, VS_HOLD_LOCAL);
}

static void backward(struct training_run *run, int i)
{
    struct training_layer *l = &run->layers[i];
    struct training_layer kept = *l;
    uint32_t at = location(run, l, 20 + (uint32_t)i, l->backward_op);

    op(run, VS_EV_OP_BEGIN, at, l->backward_op, l->tensor, 2 * l->bytes * 1152, 1);
    use(run, l, at, l->backward_op);
    alloc(run, l, at, VS_CAT_GRADIENT, l->address[~run->step & 1]);
    hold(run, VS_EV_HOLD, l, at, l->backward_op, 0, VS_HOLD_GRAPH);
    save(run, VS_EV_UNSAVE, &kept, at, l->tensor);
    free_block(run, l, at, kept.block, l->address[run->step & 1]);
    hold(run, VS_EV_DROP, l, at, l->backward_op, 0, VS_HOLD_GRAPH);
    op(run, VS_EV_OP_END, at, l->backward_op, l->tensor, 2 * l->bytes * 1152, 1);
    free_block(run, l, at, l->block, l->address[~run->step & 1]);
}

static void optimizer(struct training_run *run, int i)
{
    struct training_layer *l = &run->layers[i];
    uint32_t at = location(run, l, 60, run->adam);

    op(run, VS_EV_OP_BEGIN, at, run->adam, 0, l->bytes, 0);
    alloc(run, l, at, VS_CAT_TEMPORARY, l->address[0]);
    free_block(run, l, at, l->block, l->address[0]);
    op(run, VS_EV_OP_END, at, run->adam, 0, l->bytes, 0);
}

void training_run_step(struct training_run *run)
{
    static const uint32_t phases[] = {VS_PHASE_FORWARD, VS_PHASE_BACKWARD, VS_PHASE_OPTIMIZER};

    emit(run, (struct vs_event){.kind = VS_EV_STEP, .step = {.number_plus_one = ++run->step}});
    for (int p = 0; p < 3; p++) {
        run->phase = phases[p];
        emit(run, (struct vs_event){.kind = VS_EV_PHASE, .phase = {.phase = phases[p]}});
        for (int i = 0; i < TRAINING_RUN_LAYERS; i++) {
            if (p == 0)
                forward(run, i);
            else if (p == 1)
                backward(run, TRAINING_RUN_LAYERS - 1 - i);
            else
                optimizer(run, i);
        }
    }
}
