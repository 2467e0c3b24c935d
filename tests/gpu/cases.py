"""tests/gpu/cases.py - what is measured on a GPU: nets and toggles, the most informative ones first, since time may run
out before the end of the list."""

# net, the program's own variables set otherwise, toggles
CASES = (
    ("sample_nets/lm4.py", {}, {}),
    ("sample_nets/lm4.py", {"LENGTH": "100"}, {}),
    ("sample_nets/lm4_forward.py", {}, {}),
    ("sample_nets/lenet.py", {}, {}),
    ("sample_nets/resnet18.py", {}, {}),
    ("sample_nets/gpt2_small.py", {}, {}),
    ("sample_nets/gpt2_small_sdpa.py", {}, {}),
    ("sample_nets/resnet18.py", {}, {"amp": "fp16"}),
    ("sample_nets/gpt2_small.py", {}, {"amp": "bf16"}),
    ("sample_nets/gpt2_small_sdpa.py", {}, {"amp": "bf16"}),
    ("sample_nets/resnet18.py", {}, {"checkpoint": "blocks"}),
    ("sample_nets/resnet18.py", {}, {"checkpoint": "blocks", "checkpoint-impl": "reentrant"}),
    ("sample_nets/unet.py", {}, {}),
    ("sample_nets/vit_tiny.py", {}, {}),
    ("sample_nets/densenet_bc100.py", {}, {}),
    ("sample_nets/densenet_bc100_ckpt.py", {}, {}),
    ("sample_nets/vgg16.py", {}, {}),
    ("sample_nets/resnet152.py", {}, {}),
    ("sample_nets/mlp_swish.py", {}, {}),
    ("sample_nets/mlp_swish_custom.py", {}, {}),
    ("sample_nets/mlp_swish_fused.py", {}, {}),
    ("sample_nets/variables.py", {}, {}),
    ("sample_nets/variables_rebind.py", {}, {}),
    ("sample_nets/variables.py", {}, {"grad": "no_grad"}),
    ("sample_nets/variables_rebind.py", {}, {"grad": "no_grad"}),
    ("sample_nets/linear100.py", {}, {"checkpoint": "segments=4"}),
    ("sample_nets/linear100.py", {}, {"checkpoint": "sqrt"}),
    ("sample_nets/lenet.py", {}, {"optimizer": "adam"}),
    ("sample_nets/lenet.py", {}, {"optimizer": "adamw", "foreach": "off"}),
    ("sample_nets/lenet.py", {}, {"optimizer": "momentum"}),
    ("sample_nets/lenet.py", {}, {"amp": "fp16", "optimizer": "adam"}),
    ("sample_nets/lenet.py", {}, {"half": "on"}),
    ("sample_nets/lenet.py", {}, {"inplace": "on"}),
    ("sample_nets/lenet.py", {}, {"accumulate": "2"}),
    ("sample_nets/lenet.py", {}, {"zero-grad": "zeros"}),
    ("sample_nets/lenet.py", {}, {"drop-outputs": "on"}),
    ("sample_nets/lenet.py", {}, {"freeze": "half"}),
    ("sample_nets/lenet.py", {}, {"grad": "eval"}),
    ("sample_nets/resnet50.py", {}, {"amp": "bf16"}),
    ("sample_nets/resnet18.py", {}, {"inplace": "on"}),
    ("sample_nets/gpt2_small.py", {}, {"checkpoint": "blocks"}),
    ("sample_nets/vit_tiny.py", {}, {"amp": "bf16", "optimizer": "adamw"}),
    ("sample_nets/unet.py", {}, {"amp": "fp16"}),
    ("sample_nets/densenet121.py", {}, {}),
    ("tests/nets/gpt_tiny_ckpt_reentrant.py", {}, {}),
    ("tests/nets/custom_function.py", {}, {}),
    ("tests/nets/lstm_cells.py", {}, {}),
    ("tests/nets/two_losses.py", {}, {}),
    ("tests/nets/cnn_input.py", {}, {}),
)


def name_of(net, define, toggles):
    """"resnet18 amp=fp16", as the tables print a case."""
    words = [net.rsplit("/", 1)[1][:-3]]
    words += ["%s=%s" % pair for pair in list(define.items()) + list(toggles.items())]
    return " ".join(words)
