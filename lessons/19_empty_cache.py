# lesson: 19 Emptying the cache
# claim: Call torch.cuda.empty_cache() after every step: it frees memory that PyTorch holds back.
# run before: sample_nets/resnet18.py : ResNet-18
# run after: sample_nets/resnet18.py empty-cache=step : empty_cache() after every step
# run phase: sample_nets/resnet18.py empty-cache=phase : after every phase
# show reserved at the end: end_reserved(*)
# if: peak(after) == peak(before) and end_reserved(after) < end_reserved(before)
# verdict: true when another process needs the memory
# text: The peak of allocated bytes is {peak(before)} with and without it. What the driver has given falls at the
#   end of a step from {end_reserved(before)} to {end_reserved(after)}; the next step asks for it again, which is
#   slow. The highest is {reserved(after)} instead of {reserved(before)}, so it does not help against running out of
#   memory, except where the cache is cut into pieces that nothing fits.
