"""tests/oracle/event_cases.py - of which nets make_golden.py writes every event, and with which toggles."""

# besides all nets of tests/nets with each of TOGGLES
NETS = (
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
TOGGLES = (
    {}, {"amp": "fp16"}, {"amp": "bf16"}, {"half": "on"}, {"checkpoint": "blocks"},
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant"}, {"checkpoint": "segments=2"},
    {"optimizer": "adam"}, {"optimizer": "adamw", "foreach": "off"}, {"optimizer": "momentum"},
    {"accumulate": "2"}, {"zero-grad": "zeros"}, {"drop-outputs": "on"}, {"drop-outputs": "early"}, {"freeze": "half"},
    {"grad": "eval"}, {"grad": "no_grad"}, {"inplace": "on"},
    {"checkpoint": "selective"}, {"checkpoint": "selective", "amp": "fp16"}, {"offload": "activations"},
    {"prefetch": "1"}, {"prefetch": "3", "accumulate": "2"}, {"chunk-loss": "3"}, {"chunk-loss": "2", "amp": "fp16"},
)
