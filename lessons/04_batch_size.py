# lesson: 4 A smaller batch
# claim: Halve the batch size, and training needs half of the memory.
# run before: sample_nets/resnet18.py batch=64 : ResNet-18, batch 64
# run after: sample_nets/resnet18.py batch=32 : batch 32
# run batch16: sample_nets/resnet18.py batch=16 : batch 16
# run batch8: sample_nets/resnet18.py batch=8 : batch 8
# run batch4: sample_nets/resnet18.py batch=4 : batch 4
# show for each image, from 32 to 64: (peak(before) - peak(after)) / 32
# show for each image, from 8 to 16: (peak(batch16) - peak(batch8)) / 8
# show for no image, by the line through 16 and 32: 2 * peak(batch16) - peak(after)
# if: abs((peak(before) - peak(after)) / 32 - (peak(batch16) - peak(batch8)) / 8) < 0.03 * (peak(batch16) -
#   peak(batch8)) / 8 and peak(after) > 0.5 * peak(before) and peak(batch4) > 0.55 * peak(batch8)
# verdict: true when activations are nearly all of the memory
# text: The peak is a line over the batch with a constant: about {(peak(before) - peak(after)) / 32} for each image,
#   and {2 * peak(batch16) - peak(after)} of parameters, gradients and buffers that no batch size changes. From 64
#   to 32 the peak falls by {1 - peak(after) / peak(before) as %}, from 8 to 4 only by {1 - peak(batch4) /
#   peak(batch8) as %}. `vramscope whatif TRACE --curve batch` draws the line of any recorded net.
