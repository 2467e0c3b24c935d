# lesson: 8 A DenseNet that recomputes its joins
# claim: A DenseNet keeps a joined copy of all earlier features in each layer. Recompute the join, the norm, the
#   ReLU and the 1x1 convolution in backward, and memory falls from 2.9 to 1.6 GB at hardly any cost.
# run before: sample_nets/densenet_bc100.py steps=2 : DenseNet-BC-100 (k = 12), batch 64
# run after: sample_nets/densenet_bc100_ckpt.py steps=2 : joins recomputed
# show saved, exact: saved(*) as B
# if: saved(after) < 0.5 * saved(before) and recomputed(after) < flops(before) / 3
# verdict: true
# text: What autograd keeps falls from {saved(before) as B} to {saved(after) as B}, the peak from {peak(before)} to
#   {peak(after)}, for {recomputed(after) / flops(before) as %} more floating-point operations: the recomputation
#   stops at the last tensor that backward needs, which is before the convolution, so joins, norms and ReLUs alone
#   run twice, and ops read and write {moved(after) / moved(before) - 1 as %} more bytes. The published 2.863 and
#   1.605 GB include the CUDA context, which no allocator counts.
