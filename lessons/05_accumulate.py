# lesson: 5 Gradient accumulation
# claim: Split a batch in two, run forward and backward on each half, and step the optimizer once: the same
#   gradients with half of the memory.
# run before: sample_nets/resnet18.py batch=32 : one batch of 32
# run after: sample_nets/resnet18.py batch=32 accumulate=2 : two halves of 16, one step
# run four: sample_nets/resnet18.py batch=32 accumulate=4 : four parts of 8
# run small: sample_nets/resnet18.py batch=16 : a batch of 16, a step for each
# show gradients at the peak: category(*, gradient)
# if: abs(saved(after) * 2 - saved(before)) < 0.001 * saved(before) and peak(after) > 0.5 * peak(before) and
#   peak(after) > peak(small) and peak(after) < peak(before)
# verdict: true when gradients are small beside activations
# text: What autograd keeps falls to {saved(after) / saved(before) as %}, but the gradients of the first half stay
#   resident while the second runs, so the peak is {peak(after)}: more than half of {peak(before)}, and {peak(after)
#   - peak(small)} more than a plain batch of 16. The gradients are the same only where no layer mixes samples: this
#   net has BatchNorm, which sees 16 images instead of 32.
