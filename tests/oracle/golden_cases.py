"""tests/oracle/golden_cases.py - of which nets make_golden.py writes every event, and which it runs as one process of
several, with which toggles."""

# besides all nets of tests/nets with each of EVENT_TOGGLES
EVENT_NETS = (
    ("sample_nets/lenet.py", {}), ("sample_nets/resnet18.py", {"batch": "2"}),
    ("sample_nets/unet.py", {"batch": "1"}), ("sample_nets/mlp_swish.py", {"zero-grad": "zeros"}),
    ("sample_nets/mlp_swish_custom.py", {}), ("sample_nets/mlp_swish_fused.py", {}),
    ("sample_nets/linear100.py", {"checkpoint": "segments=4"}),
    ("sample_nets/variables.py", {}), ("sample_nets/variables.py", {"grad": "no_grad"}),
    ("sample_nets/variables_rebind.py", {"grad": "no_grad"}),
    ("sample_nets/vit_tiny.py", {"checkpoint": "selective", "batch": "2"}),
    ("sample_nets/densenet121.py", {"checkpoint": "selective", "batch": "2", "steps": "1"}),
    ("sample_nets/resnet50.py", {"checkpoint": "selective", "batch": "2", "steps": "1"}),
    ("sample_nets/gpt2_small.py", {"checkpoint": "selective", "batch": "1", "steps": "1"}),
    ("sample_nets/unet.py", {"checkpoint": "selective", "batch": "1", "steps": "1"}),
    ("sample_nets/lenet.py", {"offload": "activations"}), ("sample_nets/linear100.py", {"offload": "activations"}),
    ("sample_nets/mlp_swish_custom.py", {"offload": "activations"}),
    ("sample_nets/unet.py", {"offload": "activations", "batch": "1", "steps": "2"}),
    ("sample_nets/resnet18.py", {"offload": "activations", "batch": "2"}),
    ("sample_nets/resnet18.py", {"offload": "conv1,bn1,relu,layer1,layer2.0", "batch": "2"}),
    ("tests/nets/gpt_tiny.py", {"offload": "blocks", "steps": "2"}),
    ("sample_nets/vit_tiny.py", {"offload": "activations", "batch": "2", "steps": "2"}),
    ("sample_nets/vit_tiny.py", {"offload": "activations", "checkpoint": "blocks", "batch": "2", "steps": "2"}),
    ("sample_nets/optimizer_in_backward.py", {}), ("sample_nets/optimizer_in_backward.py", {"accumulate": "2"}),
)
EVENT_TOGGLES = (
    {}, {"amp": "fp16"}, {"amp": "bf16"}, {"half": "on"}, {"checkpoint": "blocks"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant"}, {"checkpoint": "segments=2"},
    {"optimizer": "adam"}, {"optimizer": "adamw", "foreach": "off"}, {"optimizer": "momentum"},
    {"accumulate": "2"}, {"zero-grad": "zeros"}, {"drop-outputs": "on"}, {"drop-outputs": "early"}, {"freeze": "half"},
    {"grad": "eval"}, {"grad": "no_grad"}, {"inplace": "on"},
    {"checkpoint": "selective"}, {"checkpoint": "selective", "amp": "fp16"}, {"offload": "activations"},
    {"prefetch": "1"}, {"prefetch": "3", "accumulate": "2"}, {"chunk-loss": "3"}, {"chunk-loss": "2", "amp": "fp16"},
)

# ---- one process of several ----

SHARD_NETS = (
    ("sample_nets/lenet.py", {}), ("sample_nets/resnet18.py", {"batch": "2"}),
    ("sample_nets/gpt2_small.py", {"batch": "1"}), ("sample_nets/vgg16.py", {"batch": "1"}),
    ("sample_nets/mlp_swish.py", {"zero-grad": "zeros"}), ("sample_nets/unet.py", {"batch": "1"}),
    ("tests/nets/shard/mixed_dtypes.py", {}), ("tests/nets/shard/mixed_dtypes.py", {"grad": "no_grad"}),
)
SHARD_WHOLE = ("tests/nets/mlp.py", "tests/nets/gpt_tiny.py", "tests/nets/resnet_small.py",
               "tests/nets/two_losses.py", "tests/nets/shared_module.py")  # others: a fifth of the toggles
SHARD_VALUES = ("ddp", "zero1")
SHARD_TOGGLES = (
    {}, {"amp": "fp16"}, {"half": "on", "optimizer": "adamw"}, {"checkpoint": "blocks", "amp": "bf16"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant"}, {"optimizer": "adam", "world": "3"},
    {"optimizer": "momentum", "foreach": "off"}, {"accumulate": "2"}, {"zero-grad": "zeros"},
    {"freeze": "half"}, {"grad": "eval"}, {"grad": "no_grad"}, {"prefetch": "1", "data": "once"},
    {"world": "1"},
)
FSDP_NETS = (
    ("sample_nets/lenet.py", {}), ("sample_nets/resnet18.py", {"batch": "2"}),
    ("sample_nets/gpt2_small.py", {"batch": "1"}), ("sample_nets/vgg16.py", {"batch": "1"}),
    ("sample_nets/mlp_swish.py", {}), ("sample_nets/unet.py", {"batch": "1"}),
    ("sample_nets/vit_tiny.py", {"batch": "1"}), ("sample_nets/densenet_bc100.py", {"batch": "1"}),
)
FSDP_WHOLE = ("tests/nets/mlp.py", "tests/nets/gpt_tiny.py", "tests/nets/resnet_small.py")  # others: some of the ranks
FSDP_RANKS = tuple({"world": str(w), "rank": str(r)} for w in (2, 8, 1024) for r in sorted({0, w // 2, w - 1}))
FSDP_TOGGLES = (
    {"reshard": "off"}, {"amp": "bf16"}, {"accumulate": "2"}, {"checkpoint": "blocks"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant"}, {"optimizer": "adamw"},
    {"optimizer": "momentum", "foreach": "off"}, {"zero-grad": "zeros"}, {"freeze": "half"}, {"grad": "eval"},
    {"grad": "no_grad"}, {"prefetch": "1", "data": "once"}, {"world": "1"},
    {"reshard": "off", "accumulate": "2", "checkpoint": "blocks"}, {"drop-outputs": "early"},
)
FSDP_MORE = (
    ("tests/nets/shard/transformer.py", {"world": "2"}),
    ("tests/nets/shard/transformer.py", {"world": "2", "reshard": "off"}),
    ("tests/nets/shard/transformer.py", {"world": "2", "offload-policy": "cpu"}),
    ("tests/nets/mlp.py", {"world": "1", "amp": "fp16"}),
    ("tests/nets/gpt_tiny.py", {"checkpoint": "selective"}),
    ("tests/nets/resnet_small.py", {"checkpoint": "segments=2"}),
    ("tests/nets/resnet_small.py", {"checkpoint": "sqrt", "checkpoint-impl": "reentrant"}),
    ("tests/nets/resnet_small.py", {"inplace": "on"}), ("tests/nets/gpt_tiny.py", {"half": "on"}),
    ("tests/nets/mlp.py", {"half": "on", "optimizer": "adam"}),
    ("tests/nets/gpt_tiny.py", {"offload": "activations"}),
    ("tests/nets/gpt_tiny.py", {"amp": "fp16"}), ("tests/nets/mlp.py", {"amp": "fp16"}),
    ("tests/nets/shard/mixed_dtypes.py", {}), ("tests/nets/gpt_tiny.py", {"chunk-loss": "4"}),
    ("tests/nets/vit_small.py", {"checkpoint": "blocks", "amp": "bf16", "accumulate": "2"}),
    ("tests/nets/gpt_tiny.py", {"offload": "activations", "checkpoint": "blocks"}),
    ("sample_nets/gpt2_small.py", {"batch": "1", "steps": "2"}),
)
FSDP_BF16 = (
    ("tests/nets/gpt_tiny.py", ({}, {"world": "1"}, {"checkpoint": "blocks"}, {"freeze": "half"}, {"grad": "no_grad"},
                                {"grad": "eval"}, {"amp": "bf16"}, {"half": "on"},
                                {"accumulate": "2", "checkpoint": "blocks", "offload": "activations"})),
    ("tests/nets/mlp.py", ({"world": "2", "rank": "1", "optimizer": "adam"},)),
    ("tests/nets/resnet_small.py", ({"world": "1024", "rank": "1023"},)), ("tests/nets/vit_small.py", ({},)),
    ("tests/nets/unet_small.py", ({},)), ("tests/nets/conv_small.py", ({"zero-grad": "zeros"},)),
    ("tests/nets/lstm_cells.py", ({},)), ("tests/nets/dense_small.py", ({},)), ("tests/nets/gpt_tiny_sdpa.py", ({},)),
    ("sample_nets/gpt2_small.py", ({"batch": "1", "world": "1024", "rank": "1023"},)),
)
FSDP_BF16_REDUCE = (
    ("tests/nets/gpt_tiny.py", ({}, {"world": "1", "accumulate": "2"},
                                {"accumulate": "2", "reshard": "off", "checkpoint": "blocks",
                                 "checkpoint-impl": "reentrant"})),
    ("tests/nets/mlp.py", ({"accumulate": "2"},)),
    ("tests/nets/resnet_small.py", ({"world": "1024", "rank": "512", "reshard": "off"},)),
)
FSDP_OFFLOAD = (
    ("tests/nets/gpt_tiny.py", ({}, {"world": "1"}, {"world": "1024", "rank": "1023", "optimizer": "adamw"},
                                {"reshard": "off"}, {"checkpoint": "blocks"}, {"accumulate": "2"},
                                {"accumulate": "2", "grad-sync": "last"}, {"amp": "bf16"}, {"half": "on"},
                                {"mp-policy": "bf16"}, {"mp-policy": "bf16", "world": "1"},
                                {"mp-policy": "bf16-reduce"}, {"zero-grad": "zeros", "optimizer": "momentum"},
                                {"freeze": "half"}, {"grad": "no_grad"}, {"offload": "activations"})),
    ("tests/nets/resnet_small.py", ({}, {"world": "1024", "rank": "512"})), ("tests/nets/mlp.py", ({"rank": "7"},)),
    ("tests/nets/vit_small.py", ({},)), ("sample_nets/gpt2_small.py", ({"batch": "1", "steps": "2"},)),
)
FSDP_UNITS = (
    ("tests/nets/gpt_tiny.py", ("Attention", "Block,Attention", "blocks.*,wpe", "Linear,LayerNorm", "blocks.1")),
    ("tests/nets/resnet_small.py", ("Conv2d", "blocks.*.conv*")), ("tests/nets/mlp.py", ("Linear",)),
    ("tests/nets/unet_small.py", ("Conv2d",)),
)
FSDP_SYNC = (
    ("tests/nets/gpt_tiny.py", ({}, {"reshard": "off"}, {"checkpoint": "blocks", "optimizer": "adam"}, {"world": "1"},
                                {"amp": "bf16", "rank": "3"}, {"mp-policy": "bf16-reduce"}, {"mp-policy": "bf16"},
                                {"mp-policy": "bf16", "reshard": "off", "checkpoint": "blocks", "optimizer": "adam"},
                                {"mp-policy": "bf16", "world": "1"})),
    ("tests/nets/resnet_small.py", ({}, {"world": "1024", "rank": "1023"})), ("tests/nets/mlp.py", ({},)),
)
TRAFFIC = (  # net, shard, toggles
    ("tests/nets/gpt_tiny.py", "ddp", ({}, {"world": "2"}, {"world": "3"}, {"world": "1"}, {"accumulate": "2"},
                                       {"accumulate": "2", "grad-sync": "last"}, {"amp": "fp16"}, {"half": "on"},
                                       {"checkpoint": "blocks"}, {"freeze": "half"}, {"grad": "no_grad"})),
    ("tests/nets/resnet_small.py", "ddp", ({}, {"accumulate": "2", "grad-sync": "last"}, {"grad": "eval"})),
    ("tests/nets/shard/mixed_dtypes.py", "ddp", ({},)), ("sample_nets/resnet18.py", "ddp", ({"batch": "2"},)),
    ("tests/nets/gpt_tiny.py", "zero1", ({}, {"world": "2", "optimizer": "adam"}, {"world": "3"}, {"world": "1"},
                                         {"accumulate": "2"})),
    ("tests/nets/resnet_small.py", "zero1", ({},)),
    ("tests/nets/gpt_tiny.py", "fsdp", ({}, {"world": "2", "rank": "1"}, {"world": "1024", "rank": "1023"},
                                        {"world": "1"}, {"reshard": "off"}, {"mp-policy": "bf16"},
                                        {"mp-policy": "bf16-reduce"}, {"accumulate": "2"},
                                        {"accumulate": "2", "grad-sync": "last"}, {"checkpoint": "blocks"},
                                        {"amp": "fp16"}, {"half": "on"}, {"freeze": "half"}, {"grad": "no_grad"},
                                        {"shard-units": "Linear,LayerNorm"})),
    ("tests/nets/resnet_small.py", "fsdp", ({}, {"world": "1024", "rank": "512", "reshard": "off"})),
    ("tests/nets/mlp.py", "fsdp", ({"optimizer": "adam"},)), ("sample_nets/lenet.py", "fsdp", ({},)),
)
TP_MLP = "1.up:colwise,1.down:rowwise,2.up:colwise,2.down:rowwise"
TP_ATTENTION = ",".join("layers.*.attention.%s" % s for s in ("wq:colwise", "wk:colwise", "wv:colwise", "wo:rowwise"))
TP_GPT = TP_ATTENTION + "," + ",".join("layers.*.feed_forward.%s" % s
                                       for s in ("gate:colwise", "up:colwise", "down:rowwise"))
TP_LINEAR = "0:colwise,2:rowwise,4:colwise,6:rowwise"
TP_TOGGLES = (  # each of them with each plan
    {}, {"world": "2", "rank": "1"}, {"world": "4", "rank": "3", "optimizer": "sgd"}, {"amp": "bf16"},
    {"half": "on"}, {"accumulate": "2"}, {"checkpoint": "blocks", "accumulate": "2"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant"}, {"checkpoint": "selective"},
    {"checkpoint": "blocks", "amp": "bf16"}, {"grad": "eval"}, {"grad": "no_grad"}, {"grad": "no_grad", "amp": "bf16"},
    {"freeze": "half"}, {"optimizer": "momentum", "zero-grad": "zeros"}, {"optimizer": "adam", "drop-outputs": "on"},
    {"data": "once", "prefetch": "1"}, {"inplace": "on"}, {"offload": "activations"}, {"world": "3"},
    {"foreach": "auto"}, {"chunk-loss": "4"}, {"drop-outputs": "early", "accumulate": "2", "amp": "bf16"},
)
TP_BLOCKS = ",".join("%d.%s" % (i, s) for i in (1, 2)
                     for s in ("norm:sequence", "up:colwise:input=shard1", "down:rowwise:output=shard1"))
TP_ROWS = "0:rowwise:input=replicate:output=shard1," + TP_BLOCKS + ",3:sequence,4:colwise:input=shard1"
TP_LOSS = TP_ROWS + ":output=shard-1:local=off"  # as tests/programs/tensor_parallel.py
TP_LLAMA = ("tok_embeddings:rowwise:input=replicate:output=shard1,norm:sequence,"
            "output:colwise:input=shard1:output=%s,layers.*.attention_norm:sequence,"
            "layers.*.attention:prepare-input:input=shard1:desired=replicate,layers.*.attention.wq:colwise,"
            "layers.*.attention.wk:colwise,layers.*.attention.wv:colwise,layers.*.attention.wo:rowwise:output=shard1,"
            "layers.*.ffn_norm:sequence,layers.*.feed_forward:prepare-input:input=shard1:desired=replicate,"
            "layers.*.feed_forward.w1:colwise,layers.*.feed_forward.w2:rowwise:output=shard1,"
            "layers.*.feed_forward.w3:colwise")
TP_TITAN = TP_LLAMA % "shard-1:local=off"  # as torchtitan's, with loss_parallel
TP_LOSS_TOGGLES = tuple(dict({"world": "4", "loss-parallel": "on"}, **t) for t in (
    {}, {"foreach": "auto"}, {"optimizer": "sgd", "rank": "3"}, {"optimizer": "sgd", "foreach": "auto"},
    {"optimizer": "momentum", "zero-grad": "zeros"}, {"optimizer": "momentum", "foreach": "auto", "accumulate": "3"},
    {"amp": "bf16", "rank": "2"}, {"half": "on"}, {"accumulate": "3"}, {"world": "2", "checkpoint": "blocks"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant"},
    {"checkpoint": "blocks", "amp": "bf16", "accumulate": "3"}, {"grad": "eval"}, {"grad": "no_grad"},
    {"grad": "no_grad", "amp": "bf16"}, {"freeze": "half"},
    {"drop-outputs": "early", "optimizer": "adam", "foreach": "auto"}, {"data": "once", "prefetch": "1"},
    {"world": "8"}, {"batch": "1"}, {"world": "5"}))
TP_GATHERED_TOGGLES = tuple(dict({"world": "4"}, **t) for t in (
    {}, {"foreach": "auto"}, {"amp": "bf16"}, {"accumulate": "3", "optimizer": "momentum"}, {"checkpoint": "blocks"},
    {"grad": "no_grad"}, {"rank": "1", "world": "2", "batch": "1"}))
TP_FEW = ({"world": "4"}, {"world": "2", "rank": "1", "optimizer": "sgd"}, {"world": "4", "amp": "bf16"},
          {"world": "4", "grad": "no_grad"}, {"world": "2", "accumulate": "3", "freeze": "0"})
TP_PLANS = (  # net, plan, toggles
    ("tests/nets/tp/sequence.py", TP_LOSS, TP_LOSS_TOGGLES),
    ("tests/nets/tp/sequence.py", TP_ROWS + ":output=replicate", TP_GATHERED_TOGGLES),
    ("tests/nets/tp/sequence.py", "0:colwise:output=replicate,1.up:colwise,1.down:rowwise", TP_FEW),
    ("tests/nets/tp/sequence.py", "0:rowwise:input=replicate", TP_FEW),
    ("tests/nets/tp/sequence.py", "0:rowwise:input=replicate:output=shard0,1.norm:sequence:dim=0,"
     "1.up:colwise:input=shard0,1.down:rowwise:output=shard0,2:prepare-input:input=shard0:desired=replicate:local=on",
     tuple(dict(t, batch="4") for t in TP_FEW)),
    ("tests/nets/tp/sequence.py", TP_BLOCKS.replace("norm:sequence", "norm:sequence:local=on") +
     ",1:prepare-input:input=replicate:desired=shard1:local=on,2:prepare-output:output=shard1:desired=replicate",
     TP_FEW),
    ("tests/nets/tp/llama.py", TP_TITAN, TP_LOSS_TOGGLES),
    ("tests/nets/tp/llama.py", TP_LLAMA % "replicate", TP_GATHERED_TOGGLES),
    ("tests/nets/tp/llama.py", TP_TITAN + ",dropout:sequence:local=on", TP_LOSS_TOGGLES[:13]),
    ("tests/nets/tp/mlp.py", TP_MLP, TP_TOGGLES), ("tests/nets/tp/gpt.py", TP_GPT, TP_TOGGLES),
    ("tests/nets/tp/linear.py", TP_LINEAR, TP_TOGGLES),
    ("tests/nets/tp/mlp.py", "1.up:colwise,1.down:rowwise", ({}, {"freeze": "1.up"}, {"freeze": "1.down,0"},
                                                              {"freeze": "0", "amp": "bf16"})),
    ("tests/nets/tp/mlp.py", "*:colwise", ({},)), ("tests/nets/tp/mlp.py", "1.norm:colwise", ({},)),
    ("tests/nets/tp/gpt.py", TP_ATTENTION, ({}, {"amp": "bf16", "checkpoint": "blocks"})),
    ("tests/nets/tp/linear.py", "2:colwise,4:rowwise", ({"foreach": "off"}, {})),
    ("tests/nets/gpt_tiny.py", "blocks.*.fc:colwise,blocks.*.proj:rowwise",
     ({"foreach": "off", "world": "4"}, {"foreach": "off", "world": "4", "amp": "bf16", "checkpoint": "blocks"},
      {"foreach": "off", "world": "2", "rank": "1", "checkpoint": "blocks.0.fc"}, {"foreach": "off", "world": "7"})),
    ("tests/nets/vit_small.py", "qkv:colwise,proj:rowwise", ({"foreach": "off", "world": "4"},)),
    ("sample_nets/gpt2_small.py", "blocks.*.mlp.fc:colwise,blocks.*.mlp.proj:rowwise",
     ({"batch": "1", "optimizer": "adamw", "foreach": "off", "steps": "2"},)),
)
CP_TOGGLES = (  # shard=fsdp, world=2 and cp=2 where they say nothing else
    {}, {"rank": "1"}, {"mp-policy": "bf16"}, {"amp": "bf16"}, {"amp": "fp16", "rank": "1"}, {"half": "on"},
    {"world": "4", "cp": "4"}, {"world": "4", "cp": "4", "rank": "1", "mp-policy": "bf16"},
    {"world": "4", "cp": "4", "rank": "3", "cp-rotate": "alltoall"},
    {"world": "8", "rank": "5"}, {"world": "8", "cp": "4", "rank": "6", "mp-policy": "bf16-reduce"},
    {"world": "1024", "cp": "4", "rank": "1022", "mp-policy": "bf16"}, {"cp-rotate": "alltoall", "amp": "bf16"},
    {"accumulate": "2", "batch": "4"}, {"accumulate": "2", "batch": "4", "data": "once", "mp-policy": "bf16"},
    {"accumulate": "2", "batch": "4", "grad-sync": "last", "mp-policy": "bf16"}, {"data": "once"},
    {"prefetch": "1"}, {"checkpoint": "blocks"}, {"checkpoint": "blocks", "amp": "bf16", "world": "4", "cp": "4"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant", "rank": "1"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant", "mp-policy": "bf16", "world": "4", "cp": "4"},
    {"grad": "no_grad"}, {"grad": "no_grad", "amp": "bf16"}, {"grad": "eval"}, {"grad": "eval", "mp-policy": "bf16"},
    {"drop-outputs": "on"}, {"drop-outputs": "early", "accumulate": "2", "batch": "4"}, {"reshard": "off"},
    {"offload-policy": "cpu"}, {"offload-policy": "cpu", "mp-policy": "bf16"}, {"optimizer": "adamw"},
    {"optimizer": "momentum", "foreach": "off", "zero-grad": "zeros"}, {"freeze": "half"}, {"inplace": "on"},
    {"chunk-loss": "2"}, {"offload": "activations"},
)
CP_ODD = {"world": "3", "cp": "3", "mp-policy": "bf16"}  # without head-tail load balancing
CP_CASES = (  # net, what all of its cases have, toggles
    ("tests/nets/cp/gpt.py", {"cp-buffers": "rope:0"}, CP_TOGGLES), ("tests/nets/cp/gqa.py", {}, CP_TOGGLES),
    ("tests/nets/cp/encoder.py", CP_ODD, (
        {}, {"rank": "1"}, {"rank": "2"}, {"rank": "2", "cp-rotate": "alltoall"},
        {"rank": "1", "cp-rotate": "alltoall"},
        {"world": "5", "cp": "5", "rank": "3"}, {"world": "15", "cp": "5", "rank": "14"}, {"half": "on"},
        {"checkpoint": "blocks", "rank": "1"}, {"grad": "no_grad"}, {"grad": "eval", "rank": "2"},
        {"accumulate": "2", "data": "once"}, {"mp-policy": "off", "amp": "bf16", "rank": "1"}, {"mp-policy": "off"})),
    ("tests/nets/cp/gpt.py", {}, ({}, {"mp-policy": "bf16"})),  # its buffer has the length of the whole sequence
    ("tests/nets/cp/encoder.py", {}, ({"mp-policy": "bf16", "world": "4", "cp": "15"},)),
    ("sample_nets/gpt2_small_sdpa.py", {"batch": "1", "steps": "2", "optimizer": "adamw"},
     ({}, {"world": "8", "cp": "8", "rank": "3", "mp-policy": "bf16"}, {"amp": "bf16", "checkpoint": "blocks"})),
)
MESH_TOGGLES = (  # shard=fsdp, world=8 and tp=2 or replicate=2 where they say nothing else
    {}, {"rank": "7"}, {"mp-policy": "bf16"}, {"mp-policy": "bf16-reduce", "rank": "5"}, {"half": "on"},
    {"amp": "bf16"}, {"accumulate": "2"}, {"accumulate": "2", "mp-policy": "bf16"},
    {"accumulate": "2", "grad-sync": "last"}, {"accumulate": "2", "grad-sync": "last", "mp-policy": "bf16"},
    {"checkpoint": "blocks"}, {"checkpoint": "blocks", "checkpoint-impl": "reentrant", "mp-policy": "bf16"},
    {"checkpoint": "selective"}, {"grad": "eval"}, {"grad": "no_grad", "amp": "bf16"}, {"freeze": "half"},
    {"optimizer": "momentum", "zero-grad": "zeros", "foreach": "auto"}, {"optimizer": "adam", "drop-outputs": "on"},
    {"data": "once", "prefetch": "1"}, {"reshard": "off", "foreach": "auto"},
    {"offload-policy": "cpu"}, {"offload-policy": "cpu", "mp-policy": "bf16"}, {"shard-units": "Linear"},
    {"world": "1024", "rank": "1023", "mp-policy": "bf16"}, {"world": "2"}, {"offload": "activations"},
    {"chunk-loss": "4"}, {"inplace": "on"},
)
MESH_TP_TOGGLES = MESH_TOGGLES + (
    {"tp": "4", "rank": "6"}, {"tp": "8", "rank": "3"}, {"tp": "8", "mp-policy": "bf16"},
    {"replicate": "2", "mp-policy": "bf16"},
    {"replicate": "4", "rank": "3"}, {"replicate": "2", "accumulate": "2", "checkpoint": "blocks"}, {"tp": "3"},
)
MESH_CASES = (  # net, what all of its cases have, toggles
    ("tests/nets/gpt_tiny.py", {"replicate": "2"}, MESH_TOGGLES + (
        {"replicate": "4", "rank": "5"}, {"replicate": "8", "mp-policy": "bf16-reduce"})),
    ("tests/nets/resnet_small.py", {"replicate": "2"}, (
        {}, {"optimizer": "adam", "reshard": "off"}, {"foreach": "off", "freeze": "half"}, {"amp": "fp16"},
        {"amp": "fp16", "replicate": "8"})),
    ("tests/nets/tp/mlp.py", {"tp": "2", "tp-plan": TP_MLP}, MESH_TP_TOGGLES),
    ("tests/nets/tp/llama.py", {"tp": "2", "tp-plan": TP_TITAN, "loss-parallel": "on"}, MESH_TP_TOGGLES),
    ("tests/nets/tp/llama.py", {"tp": "2", "tp-plan": TP_TITAN + ",dropout:sequence:local=on", "loss-parallel": "on"},
     ({}, {"mp-policy": "bf16"}, {"checkpoint": "blocks"})),
    ("tests/nets/tp/llama.py", {"tp": "2", "tp-plan": TP_LLAMA % "replicate"}, MESH_TOGGLES[:3]),
    ("tests/nets/tp/llama.py", {"tp": "2", "tp-plan": TP_TITAN, "loss-parallel": "on", "mp-policy": "bf16"}, (
        {"shard-units": "Attention"}, {"shard-units": "FeedForward,Linear"}, {"shard-units": "RMSNorm"},
        {"shard-units": "tok_embeddings,output,layers.*"}, {"shard-units": "dropout,Block"})),
    ("tests/nets/tp/sequence.py", {"tp": "2", "tp-plan": TP_LOSS, "loss-parallel": "on"}, MESH_TOGGLES[:12]),
    ("tests/nets/tp/sequence.py", {"tp": "2", "tp-plan": "0:colwise:output=replicate,1.up:colwise,1.down:rowwise"},
     MESH_TOGGLES[:4]),
    ("tests/nets/tp/gpt.py", {"tp": "2", "tp-plan": TP_GPT}, MESH_TOGGLES[:12]),
    ("tests/nets/tp/linear.py", {"tp": "2", "tp-plan": TP_LINEAR}, MESH_TOGGLES[:3] + ({"shard-units": "Linear"},)),
    ("tests/nets/gpt_tiny.py", {"tp": "4", "tp-plan": "blocks.*.fc:colwise,blocks.*.proj:rowwise"},
     ({}, {"foreach": "off", "freeze": "half", "optimizer": "adamw"}, {"mp-policy": "bf16", "reshard": "off"})),
    ("tests/nets/cp/gpt.py", {"cp": "2", "cp-buffers": "rope:0"}, (
        {"replicate": "2"}, {"replicate": "4", "rank": "5", "mp-policy": "bf16"},
        {"tp": "2", "tp-plan": "blocks.*.up:colwise,blocks.*.down:rowwise", "rank": "6"},
        {"tp": "2", "tp-plan": "blocks.*.up:colwise,blocks.*.down:rowwise", "replicate": "2", "mp-policy": "bf16"})),
    ("sample_nets/gpt2_small.py", {"batch": "1", "steps": "2", "optimizer": "adamw"}, (
        {"replicate": "2", "mp-policy": "bf16"},
        {"tp": "2", "tp-plan": "blocks.*.mlp.fc:colwise,blocks.*.mlp.proj:rowwise", "mp-policy": "bf16"})),
)
PP_SPLITS = (  # net, world, pp-split
    ("tests/nets/pp/mlp.py", 2, "2"), ("tests/nets/pp/mlp.py", 4, "1,2,3"),
    ("tests/nets/pp/gpt.py", 2, "layers.2"), ("tests/nets/pp/gpt.py", 4, "layers.1,layers.2,layers.3"),
    ("tests/nets/pp/conv.py", 2, "5"), ("tests/nets/pp/conv.py", 4, "1,3,6"),
)
PP_TOGGLES = (  # each of them with each split, on the first, a middle and the last stage
    {}, {"pp-schedule": "gpipe"}, {"microbatches": "8"}, {"amp": "bf16"}, {"checkpoint": "blocks"},
)
PP_MORE = (  # each of them with each split, on one stage, another one each time
    {"microbatches": "8", "pp-schedule": "gpipe", "drop-outputs": "on"}, {"half": "on"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant"}, {"checkpoint": "blocks", "amp": "bf16"},
    {"checkpoint": "selective"}, {"checkpoint": "segments=2"}, {"optimizer": "sgd"}, {"optimizer": "adam"},
    {"optimizer": "adamw", "foreach": "off"}, {"zero-grad": "zeros", "optimizer": "momentum"}, {"drop-outputs": "on"},
    {"drop-outputs": "early"}, {"freeze": "half"}, {"grad": "no_grad"}, {"grad": "no_grad", "amp": "bf16"},
    {"grad": "eval"}, {"grad": "eval", "pp-schedule": "gpipe"}, {"data": "once"}, {"prefetch": "1"},
    {"offload": "activations"}, {"inplace": "on"}, {"batch": "16", "pp-schedule": "gpipe", "amp": "bf16"},
    {"batch": "24", "microbatches": "12", "steps": "3"},
)
PP_PATHS = (  # toggles that name modules, of which a stage has some or none
    ("tests/nets/pp/gpt.py", 4, "layers.1,layers.2,layers.3", {"checkpoint": "layers.0,layers.2", "rank": "2"}),
    ("tests/nets/pp/gpt.py", 4, "layers.1,layers.2,layers.3", {"checkpoint": "layers.0,layers.2", "rank": "1"}),
    ("tests/nets/pp/gpt.py", 2, "layers.2", {"offload": "layers.3,head", "freeze": "layers.0,layers.3.norm1",
                                             "rank": "1"}),
    ("tests/nets/pp/gpt.py", 2, "layers.2.feed_forward", {"rank": "1"}),
    ("tests/nets/pp/mlp.py", 2, "3", {"freeze": "0,1,2", "rank": "1"}),
    ("tests/nets/pp/mlp.py", 2, "3", {"freeze": "0,1,2", "rank": "0"}),
    ("tests/nets/pp/mlp.py", 2, "2", {"batch": "6"}), ("tests/nets/pp/mlp.py", 2, "2", {"microbatches": "1"}),
    ("tests/nets/pp/conv.py", 4, "1,4,7", {"rank": "2"}),  # a stage without parameters
    ("tests/nets/tp/linear.py", 3, "1,4", {"inplace": "on", "rank": "1", "batch": "8"}),
    ("tests/nets/tp/linear.py", 3, "2,5", {"inplace": "on", "rank": "1", "batch": "8"}),
)
PP_TENSORS = (  # several tensors between stages
    ("tests/nets/pp/pair.py", 2, "blocks.2"), ("tests/nets/pp/pair.py", 4, "blocks.1,blocks.2,blocks.3"),
    ("tests/nets/pp/twice.py", 3, "blocks.1,blocks.3"),
)
PP_TENSORS_MORE = (  # on one stage, another one each time
    {"grad": "no_grad"}, {"half": "on"}, {"drop-outputs": "on", "pp-schedule": "gpipe"}, {"optimizer": "sgd"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant"}, {"offload": "activations"}, {"freeze": "embed"},
)
PP_ACCUMULATE = (  # with each split of PP_SPLITS and PP_TENSORS, on one stage, another one each time
    {}, {"pp-schedule": "gpipe"}, {"amp": "bf16"}, {"drop-outputs": "on"}, {"checkpoint": "blocks"},
    {"zero-grad": "zeros", "optimizer": "momentum"}, {"accumulate": "3", "batch": "24"}, {"half": "on"},
    {"grad": "no_grad"}, {"drop-outputs": "early", "pp-schedule": "gpipe"}, {"prefetch": "1"}, {"data": "once"},
)
PP_LOOPED = (  # with several stages in each process: net, world, pp-split
    ("tests/nets/pp/mlp.py", 2, "1,2,3"), ("tests/nets/pp/gpt.py", 2, "layers.1,layers.2,layers.3"),
    ("tests/nets/pp/conv.py", 3, "1,3,6,8,10"), ("tests/nets/pp/conv.py", 2, "1,3,6,8,10"),
    ("tests/nets/pp/conv.py", 4, "1,3,4,6,8,9,10"), ("tests/nets/pp/pair.py", 2, "blocks.1,blocks.2,blocks.3"),
    ("tests/nets/pp/mlp.py", 2, "2"), ("tests/nets/pp/conv.py", 2, "1,2,3,4,6,8,9"),
)
PP_LOOPED_MORE = (  # in one process, another one each time
    {"microbatches": "8", "drop-outputs": "on"}, {"half": "on"}, {"checkpoint": "blocks"},
    {"checkpoint": "blocks", "amp": "bf16"}, {"optimizer": "sgd"}, {"zero-grad": "zeros", "optimizer": "momentum"},
    {"drop-outputs": "early"}, {"freeze": "half"}, {"grad": "no_grad"}, {"grad": "eval"}, {"prefetch": "1"},
    {"offload": "activations"}, {"inplace": "on"}, {"accumulate": "2", "batch": "16"}, {"microbatches": "2"},
    {"batch": "24", "microbatches": "6", "steps": "3"}, {"microbatches": "1"}, {"microbatches": "7", "batch": "14"},
    {"checkpoint": "selective"},
)
FSDP_TARGET = "a100-80"  # whose library workspaces are in the figures
PP_GRID = (
    ("tests/nets/pp/gpt.py", "layers.1,layers.2,layers.3",
     ({}, {"rank": "1", "pp-schedule": "gpipe"}, {"rank": "2", "amp": "bf16"}, {"rank": "3"},
      {"rank": "3", "microbatches": "8", "checkpoint": "blocks"}, {"rank": "1", "accumulate": "2", "batch": "16"},
      {"world": "2", "rank": "1", "pp-schedule": "interleaved1f1b"}, {"world": "2", "pp-schedule": "loopedbfs"},
      {"world": "2", "pp-schedule": "interleaved1f1b", "microbatches": "8", "amp": "bf16"})),
    ("tests/nets/pp/pair.py", "blocks.1,blocks.2,blocks.3", ({"rank": "1"},)),
    ("tests/nets/pp/conv.py", "1,3,6", ({"rank": "1"}, {"rank": "3", "pp-schedule": "gpipe", "optimizer": "adam"})),
    ("tests/nets/pp/mlp.py", "1,2,3", ({"rank": "2", "microbatches": "16", "batch": "64"}, {"grad": "no_grad"})),
)
FSDP_GRID = (
    ("tests/nets/gpt_tiny.py", ({}, {"world": "1024", "rank": "1023"}, {"reshard": "off"}, {"mp-policy": "bf16"},
                                {"mp-policy": "bf16-reduce", "accumulate": "2"}, {"checkpoint": "blocks"},
                                {"accumulate": "2", "optimizer": "adam"})),
    ("tests/nets/resnet_small.py", ({"world": "2", "rank": "1"}, {"optimizer": "adamw", "reshard": "off"})),
    ("tests/nets/mlp.py", ({"optimizer": "momentum", "zero-grad": "zeros"},)),
    ("sample_nets/gpt2_small.py", ({"batch": "1", "optimizer": "adamw"},
                                   {"batch": "1", "optimizer": "adam", "world": "4"},  # lesson 22
                                   {"batch": "1", "optimizer": "adam", "world": "4", "reshard": "off"})),
)
DEEPSPEED_STAGES = ("deepspeed-zero1", "deepspeed-zero2")
DEEPSPEED_WHOLE = ("tests/nets/mlp.py", "tests/nets/gpt_tiny.py", "tests/nets/resnet_small.py")  # others: a part
DEEPSPEED_CASES = FSDP_RANKS + (
    {"reduce-bucket-size": "3000"}, {"reduce-bucket-size": "20000", "rank": "3"},
    {"reduce-bucket-size": "20000", "overlap-comm": "on", "rank": "1"}, {"mp-policy": "bf16", "rank": "7"},
    {"mp-policy": "fp16", "world": "2"}, {"mp-policy": "bf16", "optimizer": "adamw", "accumulate": "2"},
    {"accumulate": "3", "rank": "2", "reduce-bucket-size": "3000"},
    {"accumulate": "2", "overlap-comm": "on", "reduce-bucket-size": "20000", "mp-policy": "fp16", "rank": "4"},
    {"optimizer": "adam", "world": "3", "rank": "2"}, {"optimizer": "momentum", "foreach": "off"},
    {"freeze": "half", "rank": "1"}, {"checkpoint": "blocks", "rank": "5", "reduce-bucket-size": "20000"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant", "rank": "1"}, {"offload": "activations"},
    {"drop-outputs": "early", "prefetch": "1", "rank": "6"}, {"drop-outputs": "on", "accumulate": "2"},
    {"world": "1"}, {"world": "1", "mp-policy": "bf16", "reduce-bucket-size": "3000"}, {"zero-grad": "zeros"},
    {"chunk-loss": "4", "world": "4", "rank": "2"},
)
DEEPSPEED_NETS = (
    ("sample_nets/lenet.py", {"mp-policy": "bf16", "world": "2"}), ("sample_nets/mlp_swish.py", {"rank": "3"}),
    ("sample_nets/resnet18.py", {"batch": "2", "rank": "5"}), ("sample_nets/vgg16.py", {"batch": "1", "rank": "7"}),
    ("sample_nets/gpt2_small.py", {"batch": "1", "mp-policy": "bf16", "optimizer": "adamw"}),
    ("sample_nets/gpt2_small.py", {"batch": "1", "mp-policy": "bf16", "optimizer": "adamw", "world": "1024",
                                   "rank": "1023", "reduce-bucket-size": "50000000", "overlap-comm": "on"}),
    ("sample_nets/unet.py", {"batch": "1", "rank": "1"}), ("sample_nets/vit_tiny.py", {"batch": "1", "rank": "2"}),
)
ZERO3_SMALL = {"stage3-param-persistence-threshold": "100", "stage3-prefetch-bucket-size": "2000",
               "stage3-max-reuse-distance": "0"}  # of nets this small, parameters come and go with their modules
DEEPSPEED_GRID = (
    ("tests/nets/gpt_tiny.py", ({"world": "1024", "rank": "1023"}, {"mp-policy": "bf16", "optimizer": "adam"},
                                {"mp-policy": "fp16", "accumulate": "2", "reduce-bucket-size": "20000"},
                                {"reduce-bucket-size": "20000", "overlap-comm": "on", "rank": "2"})),
    ("tests/nets/gpt_tiny.py", tuple(dict(given, shard="deepspeed-zero3") for given in (
        {"world": "1024", "rank": "1023"}, dict(ZERO3_SMALL, optimizer="adam", **{"mp-policy": "bf16"}),
        dict(ZERO3_SMALL, accumulate="2", **{"mp-policy": "fp16", "reduce-bucket-size": "20000"}),
        dict(ZERO3_SMALL, checkpoint="blocks", rank="2", **{"overlap-comm": "on"})))),
    ("tests/nets/resnet_small.py", ({"world": "2", "rank": "1", "optimizer": "adamw"},
                                    dict(ZERO3_SMALL, shard="deepspeed-zero3", world="2", rank="1"))),
    ("sample_nets/gpt2_small.py", ({"batch": "1", "optimizer": "adam", "mp-policy": "bf16", "world": "4",
                                    "shard": "deepspeed-zero3"},
                                   {"batch": "1", "optimizer": "adam", "mp-policy": "bf16", "world": "4"},
                                   {"batch": "1", "optimizer": "adam", "mp-policy": "bf16", "world": "4",
                                    "reduce-bucket-size": "5000000"})),
)
ZERO3_CASES = FSDP_RANKS + (
    ZERO3_SMALL, {"stage3-param-persistence-threshold": "0"},
    {"stage3-param-persistence-threshold": "0", "stage3-prefetch-bucket-size": "0", "rank": "1"},
    dict(ZERO3_SMALL, rank="3", **{"mp-policy": "bf16"}), dict(ZERO3_SMALL, world="2", **{"mp-policy": "fp16"}),
    {"stage3-param-persistence-threshold": "0", "stage3-max-reuse-distance": "5000", "rank": "7"},
    {"stage3-param-persistence-threshold": "0", "stage3-max-live-parameters": "3000", "rank": "2"},
    dict(ZERO3_SMALL, optimizer="adam", **{"sub-group-size": "500"}),
    {"mp-policy": "bf16", "optimizer": "adamw", "accumulate": "2", "sub-group-size": "200", "rank": "5"},
    dict(ZERO3_SMALL, accumulate="3", rank="2", **{"reduce-bucket-size": "3000"}),
    {"reduce-bucket-size": "20000", "rank": "3"}, {"mp-policy": "fp16", "accumulate": "2", "rank": "6"},
    dict(ZERO3_SMALL, rank="1", **{"overlap-comm": "on", "mp-policy": "bf16"}),
    {"overlap-comm": "on", "accumulate": "2", "reduce-bucket-size": "3000", "rank": "4"},
    {"optimizer": "adam", "world": "3", "rank": "2"}, {"optimizer": "momentum", "foreach": "off"},
    {"freeze": "half", "rank": "1"}, dict(ZERO3_SMALL, freeze="half", checkpoint="blocks"),
    dict(ZERO3_SMALL, checkpoint="blocks", rank="5"),
    {"checkpoint": "blocks", "stage3-param-persistence-threshold": "0"},
    dict(ZERO3_SMALL, checkpoint="blocks", rank="1", **{"checkpoint-impl": "reentrant"}),
    {"checkpoint": "selective", "mp-policy": "bf16"}, {"inplace": "on", "rank": "2"}, {"offload": "activations"},
    {"drop-outputs": "early", "prefetch": "1", "rank": "6"}, {"drop-outputs": "on", "accumulate": "2"},
    {"world": "1"}, dict(ZERO3_SMALL, world="1", **{"mp-policy": "bf16"}), {"zero-grad": "zeros"},
    {"chunk-loss": "4", "world": "4", "rank": "2"},
)


def zero3_cases(nets, is_refused):
    """(net, toggles) of each run with shard=deepspeed-zero3."""
    for net, given in DEEPSPEED_NETS:
        yield net, dict(given, shard="deepspeed-zero3")
    for i, net in enumerate(nets):
        if not is_refused(net):
            yield net, {"shard": "deepspeed-zero3"}
            yield net, dict(ZERO3_SMALL, shard="deepspeed-zero3", rank=str(i % 8), **{"mp-policy": "bf16"})
    for i, net in enumerate(n for n in nets if not is_refused(n)):
        for k, given in enumerate(ZERO3_CASES):
            is_long = given.get("world") == "1024" and given["rank"] != "512" and net != "tests/nets/mlp.py"
            if not is_long and (net in DEEPSPEED_WHOLE or (k + i) % 13 == 0):
                yield net, dict(given, shard="deepspeed-zero3")


def tensor_parallel_cases():
    return [(net, dict({"world": "8"}, **dict(given, shard="tp", **{"tp-plan": plan})))
            for net, plan, several in TP_PLANS for given in several]


def context_parallel_cases():
    return [(net, dict({"world": "2", "cp": "2", "shard": "fsdp"}, **dict(of_all, **given)))
            for net, of_all, several in CP_CASES for given in several]


def mesh_cases():
    return [(net, dict({"world": "8", "shard": "fsdp"}, **dict(of_all, **given)))
            for net, of_all, several in MESH_CASES for given in several]


def pipeline_cases():
    """(net, toggles) of each run with shard=pp."""
    for i, (net, world, split) in enumerate(PP_SPLITS):
        common = {"shard": "pp", "world": str(world), "pp-split": split}
        for rank in sorted({0, world // 2, world - 1}):
            for given in PP_TOGGLES:
                yield net, dict(common, rank=str(rank), **given)
        for k, given in enumerate(PP_MORE):
            yield net, dict(common, rank=str((i + k) % world), **given)
    for net, world, split, given in PP_PATHS:
        yield net, dict({"shard": "pp", "world": str(world), "pp-split": split, "rank": "0"}, **given)
    for i, (net, world, split) in enumerate(PP_TENSORS):
        common = {"shard": "pp", "world": str(world), "pp-split": split}
        for rank in sorted({0, world // 2, world - 1}):
            for given in PP_TOGGLES:
                yield net, dict(common, rank=str(rank), **given)
        for k, given in enumerate(PP_TENSORS_MORE):
            yield net, dict(common, rank=str((i + k) % world), **given)
    for i, (net, world, split) in enumerate(PP_SPLITS + PP_TENSORS):
        for k, given in enumerate(PP_ACCUMULATE):
            yield net, dict({"shard": "pp", "world": str(world), "pp-split": split, "rank": str((i + k) % world),
                             "accumulate": "2", "batch": "16"}, **given)
    for i, (net, world, split) in enumerate(PP_LOOPED):
        common = {"shard": "pp", "world": str(world), "pp-split": split}
        for kind in ("interleaved1f1b", "loopedbfs"):
            for rank in sorted({0, world // 2, world - 1}):
                yield net, dict(common, rank=str(rank), **{"pp-schedule": kind})
        yield net, dict(common, rank=str(i % world), amp="bf16", **{"pp-schedule": "interleaved1f1b"})
        for k, given in enumerate(PP_LOOPED_MORE):
            kind = "loopedbfs" if (i + k) % 3 == 0 else "interleaved1f1b"
            yield net, dict({"pp-schedule": kind}, **dict(common, rank=str((i + k) % world), **given))
