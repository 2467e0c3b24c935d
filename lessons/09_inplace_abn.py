# lesson: 9 Batch norm and activation in one buffer
# claim: InPlace-ABN: let batch norm and an invertible activation share one buffer, keep the output only, and
#   recompute the input from it in backward. Up to half of the memory of a convolutional network is saved.
# run before: sample_nets/batch_norm_act.py : nn.BatchNorm2d, then nn.LeakyReLU(0.01)
# run after: sample_nets/inplace_abn.py : one autograd.Function that overwrites its input (mark_dirty)
# show saved, exact: saved(*) as B
# known autograd keeps 142,610,564 and 50,335,108 B: saved(before) == 142610564 and saved(after) == 50335108
# if: saved(after) < 0.4 * saved(before) and peak(after) < peak(before)
# verdict: true when the activation can be inverted
# text: Of each norm and activation, autograd keeps the output alone: {saved(after) as B} instead of {saved(before)
#   as B}. The peak falls less, from {peak(before)} to {peak(after)}, because the recomputed input is alive while
#   backward uses it. ReLU cannot be inverted; a leaky ReLU can.
