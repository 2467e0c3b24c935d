/*
 * tests/store/small_trace.c - a trace of two steps of a net of two layers.
 */
#include "tests/store/small_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "store/work.h"
#include "store/writer.h"

/* clang-format off */
enum {
    S_ROOT = 1, S_FC1, S_FC2, S_FORWARD, S_TRAIN, S_LINEAR, S_RELU, S_MSE, S_LINEAR_BACK, S_RELU_BACK, S_MSE_BACK,
    S_X, S_OUT, S_LOSS, S_HISTORY, S_FC1_WEIGHT, S_FC2_WEIGHT, S_COUNT
};

static const char *const strings[S_COUNT] = {
    [S_ROOT] = "", [S_FC1] = "fc1", [S_FC2] = "fc2", [S_FORWARD] = "Net.forward", [S_TRAIN] = "train_step",
    [S_LINEAR] = "linear", [S_RELU] = "relu", [S_MSE] = "mse_loss", [S_LINEAR_BACK] = "AddmmBackward0",
    [S_RELU_BACK] = "ReluBackward0", [S_MSE_BACK] = "MseLossBackward0", [S_X] = "x", [S_OUT] = "out",
    [S_LOSS] = "loss", [S_HISTORY] = "history", [S_FC1_WEIGHT] = "fc1.weight", [S_FC2_WEIGHT] = "fc2.weight",
};

enum {
    P_SETUP = 1, P_DATA, P_FC1, P_FC1_BIND, P_RELU, P_RELU_BIND, P_FC2, P_FC2_BIND, P_LOSS, P_LOSS_BIND,
    P_MSE_BACK, P_FC2_BACK, P_RELU_BACK, P_FC1_BACK, P_STEP, P_COUNT
};

static const struct vs_location locations[P_COUNT] = {
    [P_SETUP] = {VS_PHASE_SETUP, 0, 0, 0, 0},
    [P_DATA] = {VS_PHASE_DATA, 0, S_TRAIN, 14, 0},
    [P_FC1] = {VS_PHASE_FORWARD, S_FC1, S_FORWARD, 8, S_LINEAR},
    [P_FC1_BIND] = {VS_PHASE_FORWARD, S_ROOT, S_FORWARD, 8, 0},
    [P_RELU] = {VS_PHASE_FORWARD, S_ROOT, S_FORWARD, 9, S_RELU},
    [P_RELU_BIND] = {VS_PHASE_FORWARD, S_ROOT, S_FORWARD, 9, 0},
    [P_FC2] = {VS_PHASE_FORWARD, S_FC2, S_FORWARD, 10, S_LINEAR},
    [P_FC2_BIND] = {VS_PHASE_FORWARD, 0, S_TRAIN, 15, 0},
    [P_LOSS] = {VS_PHASE_LOSS, 0, S_TRAIN, 16, S_MSE},
    [P_LOSS_BIND] = {VS_PHASE_LOSS, 0, S_TRAIN, 17, 0},
    [P_MSE_BACK] = {VS_PHASE_BACKWARD, 0, S_TRAIN, 16, S_MSE_BACK},
    [P_FC2_BACK] = {VS_PHASE_BACKWARD, S_FC2, S_FORWARD, 10, S_LINEAR_BACK},
    [P_RELU_BACK] = {VS_PHASE_BACKWARD, S_ROOT, S_FORWARD, 9, S_RELU_BACK},
    [P_FC1_BACK] = {VS_PHASE_BACKWARD, S_FC1, S_FORWARD, 8, S_LINEAR_BACK},
    [P_STEP] = {VS_PHASE_OPTIMIZER, 0, S_TRAIN, 19, 0},
};
/* clang-format on */

static const char source[] = "class Net(nn.Module):\n"
                             "    ...\n"
                             "history.append(loss)\n";
static const char source_changed[] = "class Net(nn.Module):\n"
                                     "    ...\n"
                                     "history.append(loss.item())\n";

#define OP_MAX 64
#define BLOCK_MAX 64
#define ROUNDING 12

struct build {
    struct sto_writer *w;
    uint64_t time_ns;
    uint64_t next_block;
    uint64_t next_address;
    bool is_changed;
    uint64_t ops[OP_MAX]; /* their op_begin events */
    size_t op_count;
    uint64_t bytes[BLOCK_MAX];
    uint64_t address[BLOCK_MAX];
};

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static void event(struct build *b, struct vs_event e)
{
    struct vs_error err = VS_ERROR_INIT;

    b->time_ns += 1000;
    e.time_ns = b->time_ns;
    ok(sto_writer_events(b->w, &e, 1, &err), &err);
    if (e.kind == VS_EV_OP_BEGIN)
        b->ops[b->op_count++] = sto_writer_event_count(b->w);
}

static void phase(struct build *b, enum vs_phase which)
{
    event(b, (struct vs_event){.kind = VS_EV_PHASE, .phase = {.phase = which}});
}

/* A block with its tensor, which has the same number. */
static uint64_t alloc(struct build *b, uint32_t location, uint64_t bytes, uint8_t category,
                      uint32_t name)
{
    struct vs_error err = VS_ERROR_INIT;
    uint64_t id = b->next_block++;
    struct vs_tensor_desc tensor = {.block = id,
                                    .id = (uint32_t)id,
                                    .name = name,
                                    .dtype = VS_F32,
                                    .ndim = 2,
                                    .sizes = {2, (int64_t)(bytes - ROUNDING) / 8},
                                    .strides = {(int64_t)(bytes - ROUNDING) / 8, 1}};

    b->bytes[id] = bytes;
    b->address[id] = b->next_address;
    b->next_address += bytes;
    ok(sto_writer_tensor(b->w, &tensor, &err), &err);
    event(b, (struct vs_event){.kind = VS_EV_ALLOC,
                               .location = location,
                               .alloc = {.block = id,
                                         .requested_bytes = bytes - ROUNDING,
                                         .block_bytes = bytes,
                                         .address = b->address[id],
                                         .tensor = tensor.id,
                                         .category = category}});
    return id;
}

static void release(struct build *b, uint32_t location, uint64_t id)
{
    event(b, (struct vs_event){.kind = VS_EV_FREE,
                               .location = location,
                               .free = {.block = id,
                                        .requested_bytes = b->bytes[id] - ROUNDING,
                                        .block_bytes = b->bytes[id],
                                        .address = b->address[id]}});
}

static void op(struct build *b, uint8_t kind, uint32_t location, uint64_t flops, uint8_t role)
{
    event(b,
          (struct vs_event){.kind = kind,
                            .location = location,
                            .op = {.name = locations[location].op, .flops = flops, .role = role}});
}

static void save(struct build *b, uint8_t kind, uint32_t location, uint64_t block, uint64_t node)
{
    event(b, (struct vs_event){.kind = kind,
                               .location = location,
                               .save = {.block = block, .tensor = block, .node = node}});
    if (kind == VS_EV_SAVE)
        event(b, (struct vs_event){.kind = VS_EV_CATEGORY,
                                   .location = location,
                                   .category = {.block = block, .category = VS_CAT_SAVED}});
}

static void hold(struct build *b, uint8_t kind, uint32_t location, uint64_t block, uint32_t name,
                 uint32_t scope, uint8_t holder)
{
    event(
        b,
        (struct vs_event){
            .kind = kind,
            .location = location,
            .hold = {
                .block = block, .tensor = block, .name = name, .scope = scope, .holder = holder}});
}

static void let_go(struct build *b, uint64_t block, uint32_t name)
{
    hold(b, VS_EV_DROP, P_STEP, block, name, S_TRAIN, VS_HOLD_LOCAL);
    release(b, P_STEP, block);
}

static uint64_t forward_op(struct build *b, uint32_t location, uint64_t bytes, uint64_t input,
                           uint64_t flops)
{
    uint64_t out;

    op(b, VS_EV_OP_BEGIN, location, flops, 0);
    out = alloc(b, location, bytes, VS_CAT_ACTIVATION, 0);
    save(b, VS_EV_SAVE, location, input, out);
    op(b, VS_EV_OP_END, location, flops, 0);
    return out;
}

static uint64_t backward_op(struct build *b, uint32_t location, uint64_t bytes, uint64_t saved,
                            uint64_t node, uint64_t grad, uint64_t flops)
{
    uint64_t out;

    op(b, VS_EV_OP_BEGIN, location, flops, 1);
    out = alloc(b, location, bytes, VS_CAT_GRADIENT, 0);
    save(b, VS_EV_UNSAVE, location, saved, node);
    release(b, location, grad);
    op(b, VS_EV_OP_END, location, flops, 1);
    return out;
}

static void train_step(struct build *b, uint64_t number, double loss_value)
{
    struct vs_error err = VS_ERROR_INIT;
    uint64_t x, hidden, active, out, loss, grad;

    event(b, (struct vs_event){.kind = VS_EV_STEP, .step = {.number_plus_one = number + 1}});
    phase(b, VS_PHASE_DATA);
    x = alloc(b, P_DATA, 2048, VS_CAT_INPUT, 0);
    hold(b, VS_EV_HOLD, P_DATA, x, S_X, S_TRAIN, VS_HOLD_LOCAL);
    phase(b, VS_PHASE_FORWARD);
    hidden = forward_op(b, P_FC1, 8192, x, 2000000);
    hold(b, VS_EV_HOLD, P_FC1_BIND, hidden, S_X, S_FORWARD, VS_HOLD_LOCAL);
    active = forward_op(b, P_RELU, b->is_changed ? 4096 : 8192, hidden, 2000);
    hold(b, VS_EV_HOLD, P_RELU_BIND, active, S_X, S_FORWARD, VS_HOLD_LOCAL);
    hold(b, VS_EV_DROP, P_RELU_BIND, hidden, S_X, S_FORWARD, VS_HOLD_LOCAL);
    out = forward_op(b, P_FC2, 512, active, 500000);
    hold(b, VS_EV_HOLD, P_FC2_BIND, out, S_OUT, S_TRAIN, VS_HOLD_LOCAL);
    hold(b, VS_EV_DROP, P_FC2_BIND, active, S_X, S_FORWARD, VS_HOLD_LOCAL);
    if (b->is_changed)
        release(b, P_FC2_BIND, alloc(b, P_FC2, 1024, VS_CAT_TEMPORARY, 0));
    phase(b, VS_PHASE_LOSS);
    loss = forward_op(b, P_LOSS, 512, out, 100);
    hold(b, VS_EV_HOLD, P_LOSS_BIND, loss, S_LOSS, S_TRAIN, VS_HOLD_LOCAL);
    if (!b->is_changed)
        hold(b, VS_EV_HOLD, P_LOSS_BIND, loss, S_HISTORY, S_TRAIN, VS_HOLD_ITEM);
    phase(b, VS_PHASE_BACKWARD);
    grad = alloc(b, P_MSE_BACK, 512, VS_CAT_GRADIENT, 0);
    save(b, VS_EV_UNSAVE, P_MSE_BACK, out, loss);
    grad = backward_op(b, P_FC2_BACK, 8192, active, out, grad, 1000000);
    release(b, P_FC2_BACK, active);
    grad = backward_op(b, P_RELU_BACK, 8192, hidden, active, grad, 2000);
    release(b, P_RELU_BACK, hidden);
    grad = backward_op(b, P_FC1_BACK, 4096, x, hidden, grad, 4000000);
    phase(b, VS_PHASE_OPTIMIZER);
    release(b, P_STEP, grad);
    if (b->is_changed)
        let_go(b, x, S_X);
    let_go(b, out, S_OUT);
    if (!b->is_changed)
        let_go(b, x, S_X);
    hold(b, VS_EV_DROP, P_STEP, loss, S_LOSS, S_TRAIN, VS_HOLD_LOCAL);
    if (b->is_changed)
        release(b, P_STEP, loss);
    ok(sto_writer_step(b->w, (int64_t)number, loss_value, &err), &err);
}

/* Each op ran one kernel, recorded in two parts; two copies to the device belong to no op. */
static void work_write(struct build *b)
{
    static const struct sto_task tasks[] = {{1, STO_TASK_KERNEL, "gemm"},
                                            {2, STO_TASK_COPY, "to the device"}};
    static const struct sto_foreign foreign = {"cuMemAlloc_v2", "libother.so", 0, 2, 4096, 1, 2048};
    static const struct sto_work copy = {0, 2, 2, 250, 2048};
    struct vs_error err = VS_ERROR_INIT;

    ok(sto_writer_tasks(b->w, tasks, 2, &err), &err);
    ok(sto_writer_work(b->w, &copy, 1, &err), &err);
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; i < b->op_count; i++) {
            const struct sto_work work = {b->ops[i], 1, (uint64_t)part, 500 + i, 0};

            ok(sto_writer_work(b->w, &work, 1, &err), &err);
        }
    ok(sto_writer_foreign(b->w, &foreign, 1, &err), &err);
}

static void trace_write(const char *path, bool is_changed, bool has_work)
{
    struct vs_error err = VS_ERROR_INIT;
    struct build b = {
        .next_block = 1, .next_address = UINT64_C(0x7f0000000000), .is_changed = is_changed};
    struct sto_writer *w;

    ok(sto_writer_open(path, NULL, &w, &err), &err);
    b.w = w;
    ok(sto_writer_meta_set(w, "net", "two_layers", &err), &err);
    ok(sto_writer_meta_set(w, "device", "meta", &err), &err);
    ok(sto_writer_source_add(w, "two_layers.py", is_changed ? source_changed : source, &err), &err);
    ok(sto_writer_toggle_add(w, "batch", "2", false, &err), &err);
    ok(sto_writer_toggle_add(w, "amp", is_changed ? "bf16" : "off", !is_changed, &err), &err);
    for (uint32_t i = 1; i < S_COUNT; i++)
        ok(sto_writer_string(w, i, strings[i], &err), &err);
    for (uint32_t i = 1; i < P_COUNT; i++)
        ok(sto_writer_location(w, i, &locations[i], &err), &err);
    event(&b, (struct vs_event){.kind = VS_EV_SEGMENT_ALLOC,
                                .location = P_SETUP,
                                .segment = {.bytes = 2097152,
                                            .address = b.next_address,
                                            .size_pool = VS_SEGMENT_SMALL}});
    alloc(&b, P_SETUP, 4096, VS_CAT_PARAMETER, S_FC1_WEIGHT);
    alloc(&b, P_SETUP, 1024, VS_CAT_PARAMETER, S_FC2_WEIGHT);
    train_step(&b, 0, 2.5);
    train_step(&b, 1, 2.25);
    if (has_work)
        work_write(&b);
    ok(sto_writer_close(w, true, &err), &err);
}

void small_trace_write(const char *path)
{
    trace_write(path, false, false);
}

void small_trace_changed_write(const char *path)
{
    trace_write(path, true, false);
}

void small_trace_gpu_write(const char *path)
{
    trace_write(path, false, true);
}
