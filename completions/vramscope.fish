# Completion of vramscope in fish.
# Made from the tables of cli/ and base/toggle.def by `make golden`.

function __vramscope_pairs
    printf '%s\n' batch=
    printf '%s\n' accumulate=
    printf '%s\n' steps=
    printf '%s\n' data=fresh data=once
    printf '%s\n' inplace=off inplace=on
    printf '%s\n' amp=off amp=fp16 amp=bf16 amp=O0 amp=O1 amp=O2 amp=O3
    printf '%s\n' half=off half=on
    printf '%s\n' checkpoint=off checkpoint=blocks checkpoint=selective checkpoint=segments=2 checkpoint=sqrt checkpoint=auto checkpoint=auto:8G
    printf '%s\n' checkpoint-impl=reentrant checkpoint-impl=non-reentrant
    printf '%s\n' preserve-rng=off preserve-rng=on
    printf '%s\n' offload=off offload=activations
    printf '%s\n' compile=off compile=on
    printf '%s\n' optimizer=sgd optimizer=momentum optimizer=adam optimizer=adamw
    printf '%s\n' foreach=auto foreach=off
    printf '%s\n' zero-grad=none zero-grad=zeros
    printf '%s\n' drop-outputs=off drop-outputs=on drop-outputs=early
    printf '%s\n' detach-loss=off detach-loss=on
    printf '%s\n' chunk-loss=off chunk-loss=1
    printf '%s\n' freeze=none freeze=half
    printf '%s\n' grad=train grad=eval grad=no_grad
    printf '%s\n' fuse=off fuse=on
    printf '%s\n' quantize=off quantize=int8
    printf '%s\n' prefetch=off prefetch=1
    printf '%s\n' shard=off shard=ddp shard=zero1 shard=fsdp shard=tp shard=pp shard=deepspeed-zero1 shard=deepspeed-zero2 shard=deepspeed-zero3
    printf '%s\n' world=
    printf '%s\n' rank=0 rank=1
    printf '%s\n' shard-units=blocks
    printf '%s\n' tp-plan=none
    printf '%s\n' loss-parallel=off loss-parallel=on
    printf '%s\n' tp=
    printf '%s\n' replicate=
    printf '%s\n' cp=
    printf '%s\n' cp-buffers=none
    printf '%s\n' cp-rotate=allgather cp-rotate=alltoall
    printf '%s\n' pp-split=none
    printf '%s\n' microbatches=
    printf '%s\n' pp-schedule=1f1b pp-schedule=gpipe pp-schedule=interleaved1f1b pp-schedule=loopedbfs
    printf '%s\n' reshard=on reshard=off
    printf '%s\n' mp-policy=off mp-policy=bf16 mp-policy=bf16-reduce mp-policy=fp16
    printf '%s\n' offload-policy=off offload-policy=cpu
    printf '%s\n' reduce-bucket-size=
    printf '%s\n' overlap-comm=off overlap-comm=on
    printf '%s\n' stage3-prefetch-bucket-size=0 stage3-prefetch-bucket-size=1
    printf '%s\n' stage3-param-persistence-threshold=0 stage3-param-persistence-threshold=1
    printf '%s\n' stage3-max-live-parameters=0 stage3-max-live-parameters=1
    printf '%s\n' stage3-max-reuse-distance=0 stage3-max-reuse-distance=1
    printf '%s\n' sub-group-size=
    printf '%s\n' grad-sync=always grad-sync=last
    printf '%s\n' empty-cache=never empty-cache=step empty-cache=phase
    printf '%s\n' alloc-conf=default
    printf '%s\n' target=none target=v100-16 target=v100-32 target=t4 target=a100-40 target=a100-80 target=a10 target=a10g target=rtx3060 target=rtx3090 target=rtx4090 target=l4 target=l40s target=h100-pcie target=h100 target=h200 target=b200 target=rtx5090
    printf '%s\n' workspace=auto workspace=2.15 workspace=2.11 workspace=2.9 workspace=2.6
    printf '%s\n' torch=2.15 torch=2.11 torch=2.8 torch=2.6 torch=2.4
end

complete -c vramscope -n __fish_use_subcommand -f -a record -d 'Train a net, or run a CUDA program, and record every memory event'
complete -c vramscope -n __fish_use_subcommand -f -a import -d 'Make a trace of a memory snapshot that a PyTorch program dumped'
complete -c vramscope -n __fish_use_subcommand -f -a report -d 'Show the peak of a trace: its tensors and their holders, per step and phase'
complete -c vramscope -n __fish_use_subcommand -f -a tui -d 'Step through a trace like a debugger, and change toggles'
complete -c vramscope -n __fish_use_subcommand -f -a why -d 'Say who holds each block at the peak, or at any other event'
complete -c vramscope -n __fish_use_subcommand -f -a python -d 'Open a prompt in a recorded program at the peak, or at any other event'
complete -c vramscope -n __fish_use_subcommand -f -a whatif -d 'Show the peak the recorded net or program would have with other toggles'
complete -c vramscope -n __fish_use_subcommand -f -a sweep -d 'Run a net with all combinations of toggles, and show what is worth a choice'
complete -c vramscope -n __fish_use_subcommand -f -a diff -d 'Explain the difference between two traces, at their peaks and over a step'
complete -c vramscope -n __fish_use_subcommand -f -a check -d 'Check a trace against limits, for continuous integration'
complete -c vramscope -n __fish_use_subcommand -f -a export -d 'Write a trace in the formats of other tools'
complete -c vramscope -n __fish_use_subcommand -f -a match -d 'Compare a net with what PyTorch recorded on a GPU, event by event'
complete -c vramscope -n __fish_use_subcommand -f -a sql -d 'Query a trace in SQL, without the sqlite3 shell'
complete -c vramscope -n __fish_use_subcommand -f -a toggles -d 'List the toggles: ways to train that change memory, and what each costs'
complete -c vramscope -n __fish_use_subcommand -f -a ops -d 'List the ops a net file may use, and what autograd saves for each'
complete -c vramscope -n __fish_use_subcommand -f -a smi -d 'Show the memory of each GPU by process, as the driver counts it'
complete -c vramscope -n __fish_use_subcommand -f -a lesson -d 'Run what articles advise for saving GPU memory, and say whether it helps'
complete -c vramscope -n __fish_use_subcommand -f -a advise -d 'Say what would help the run of a trace, what each change saves and costs'
complete -c vramscope -n __fish_use_subcommand -f -a doctor -d 'Show what is installed here, and what will therefore work'
complete -c vramscope -n __fish_use_subcommand -f -a mcp -d 'Answer questions about traces for other programs (Model Context Protocol)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -s o -l out -r -d 'the trace to write (default trace.db)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -s f -l force -d 'replace the trace if it exists'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l device -x -a 'auto cpu meta' -d 'cpu: real arithmetic; cuda: the same on the GPU; meta: shapes and lifetimes only, no losses; auto: cuda if a GPU is available, else cpu (default)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l capacity -x -d 'memory of the device, such as 8G (default: unlimited)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l seed -x -d 'seed of all random numbers (default 0)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l keep -x -d 'keep the last steps of a net with N events at least, such as 10m, at most about twice as many, and what was alive before them; N 1 is the last step or the last two (default: all)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l stacks -x -d 'frames to record of a PyTorch program: python, or all, which includes C++ frames, names ops and costs more (default python)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l history -x -d 'how many events of a PyTorch program are kept, the last ones (default 1000000)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l observe -x -d 'of a PyTorch program, note op, module, shape and dtype of each allocation, and the names of parameters (default on)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l gpu -x -d 'the GPU to simulate for a PyTorch program: none, a name as of --target, or auto: a100-80, where there is no driver (default)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l gpus -x -d 'how many of them (default: as many as torchrun starts processes, or 1)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l async -x -d 'when work of the simulated GPU is complete: early: at once, late: when the host has waited for it (default early)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l values -x -d 'values of the simulated GPU: zeros (default); uniform: integers are computed, and what floats choose (experts, indices, masks) is chosen in turn'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l world -x -d 'run the program as one rank of N, alone: the others are simulated (--gpus: how many of them share a machine, default 8); of a net: the toggle'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l rank -x -d 'which of them, from 0 (default 0); of a net: the toggle'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l cupti -x -d 'on cuda, record the time the GPU spends on each op: auto: if CUPTI is available (default), on: fail without it, off'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l json -d 'print what was recorded as JSON'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l batch -x -a '' -d 'samples in a batch'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l accumulate -x -a '' -d 'split each batch into N parts and step the optimizer once for all of them'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l steps -x -a '' -d 'training steps to record'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l data -x -a 'fresh once' -d 'a new batch each step, or one batch moved to the device once'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l inplace -x -a 'off on' -d 'activations and dropouts overwrite their input wherever PyTorch would allow it'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l amp -x -a 'off fp16 bf16 O0 O1 O2 O3' -d 'run forward and loss under autocast, fp16 with a GradScaler; or as an opt_level of NVIDIA\'s Apex'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l half -x -a 'off on' -d 'model.half(): weights, gradients and activations in fp16'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l checkpoint -x -a 'off blocks selective segments=2 sqrt auto auto:8G' -d 'keep only the inputs of the chosen parts and run their forward again in backward; selective: the blocks, and keep what their matrix products, convolutions and attention compute, too'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l checkpoint-impl -x -a 'reentrant non-reentrant' -d 'use_reentrant of the checkpoints that `checkpoint` makes'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l preserve-rng -x -a 'off on' -d 'preserve_rng_state of the checkpoints that `checkpoint` makes'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l offload -x -a 'off activations' -d 'run the model\'s forward, or that of these modules, under torch.autograd.graph.save_on_cpu(pin_memory=True)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l compile -x -a 'off on' -d 'of a program: torch.compile the modules that the script calls; off: leave out its own torch.compile'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l optimizer -x -a 'sgd momentum adam adamw' -d 'SGD, SGD(momentum=0.9), Adam or AdamW(weight_decay=0.01) over what requires grad'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l foreach -x -a 'auto off' -d 'the optimizer\'s multi-tensor path, as PyTorch takes it on CUDA, or one parameter at a time'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l zero-grad -x -a 'none zeros' -d 'zero_grad sets gradients to None, or fills them with zeros'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l drop-outputs -x -a 'off on early' -d 'del output, loss after each backward; early: del output before it, as soon as the loss exists'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l detach-loss -x -a 'off on' -d 'the loop adds up loss.item() over the steps, or the loss tensor itself'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l chunk-loss -x -a 'off 1' -d 'F.cross_entropy over class indices in N chunks of rows, whose gradient overwrites the logits'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l freeze -x -a 'none half' -d 'requires_grad_(False) on the parameters below these modules, or on the first half of them'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l grad -x -a 'train eval no_grad' -d 'train; model.eval() with gradients recorded; or model.eval() under no_grad'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l fuse -x -a 'off on' -d 'fold each batch norm into the convolution before it (torch.nn.utils.fuse_conv_bn_eval); needs grad=eval or no_grad'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l quantize -x -a 'off int8' -d 'keep the weights of linear layers and 2-d convolutions as 8-bit numbers; needs grad=eval or no_grad'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l prefetch -x -a 'off 1' -d 'load N further batches onto the device before the step that uses the first of them'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l shard -x -a 'off ddp zero1 fsdp tp pp deepspeed-zero1 deepspeed-zero2 deepspeed-zero3' -d 'one process of `world`: DistributedDataParallel, and with zero1 a ZeroRedundancyOptimizer; fully_shard of each block and of the model; tensor parallelism of linear layers; a stage of a pipeline; or stage 1, 2 or 3 of DeepSpeed\'s ZeRO. The trace is that of `rank`, with ddp of rank 0'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l world -x -a '' -d 'processes that `shard` is for, each with a batch of its own, with shard=tp all with the same, with cp and tp each cp * tp of them; with pp one or more stages each'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l rank -x -a '0 1' -d 'the process, from 0, that shard=fsdp, zero1, tp, pp and DeepSpeed\'s ZeRO follow; with pp that of the stages'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l shard-units -x -a 'blocks' -d 'modules that fully_shard is called on besides the model: class names and paths with commas between, where `*` stands for any name or the rest of one: Block, layer1.*, encoder.layer*; blocks: those of checkpoint=blocks'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l tp-plan -x -a 'none' -d 'with shard=tp, or tp=N: modules that parallelize_module splits: PATH:STYLE with commas between, where `*` stands for any name or the rest of one: layers.*.up:colwise,layers.*.down:rowwise; styles: colwise, rowwise, sequence, prepare-input, prepare-output, with :input=, :output=, :desired= of replicate, shard0, shard1, …, and :local=on or off'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l loss-parallel -x -a 'off on' -d 'with shard=tp, or tp=N: loss_parallel() around the loop: F.cross_entropy of logits whose classes are split'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l tp -x -a '' -d 'with shard=fsdp: processes that split the modules of tp-plan between them and share each batch; fully_shard shards what each of them has'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l replicate -x -a '' -d 'with shard=fsdp: hybrid sharding (HSDP): N groups of world / N processes, each with all shards'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l cp -x -a '' -d 'with shard=fsdp: processes that share each sequence of a batch, under context_parallel: tensors of the batch are sharded along their second dimension, with ring attention'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l cp-buffers -x -a 'none' -d 'buffers of the model that cp shards, too: PATH:DIMENSION with commas between: rope.cos:0,rope.sin:0'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l cp-rotate -x -a 'allgather alltoall' -d 'how keys and values reach the processes of cp: set_rotate_method'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l pp-split -x -a 'none' -d 'with shard=pp: paths of the modules that the stages after the first one begin with, with commas between: layers.4,layers.8; what a stage has not is None there, or is missing in its list'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l microbatches -x -a '' -d 'with shard=pp: equal parts of a batch that pass through the pipeline one after the other'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l pp-schedule -x -a '1f1b gpipe interleaved1f1b loopedbfs' -d 'with shard=pp: Schedule1F1B: a backward after each forward as soon as there can be one; ScheduleGPipe: all forwards, then all backwards; with several stages in each process ScheduleInterleaved1F1B or ScheduleLoopedBFS'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l reshard -x -a 'on off' -d 'reshard_after_forward of fully_shard: free the gathered parameters of a block after its forward; the model\'s own stay in either case'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l mp-policy -x -a 'off bf16 bf16-reduce fp16' -d 'MixedPrecisionPolicy of fully_shard: bf16: gather parameters and compute in bfloat16, reduce gradients in float32; bf16-reduce: in bfloat16, too. With DeepSpeed\'s ZeRO bf16 and fp16 are its settings of these names, enabled'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l offload-policy -x -a 'off cpu' -d 'offload_policy of fully_shard: cpu: CPUOffloadPolicy(): shards, their gradients and the optimizer\'s state stay on the host'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l reduce-bucket-size -x -a '' -d 'reduce_bucket_size of DeepSpeed\'s ZeRO: elements of the buffer that gradients are reduced in, at most 2147483647'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l overlap-comm -x -a 'off on' -d 'overlap_comm of DeepSpeed\'s ZeRO: gradients are reduced on a stream of their own; with stage 3 parameters are gathered on one, too'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l stage3-prefetch-bucket-size -x -a '0 1' -d 'stage3_prefetch_bucket_size of DeepSpeed\'s ZeRO-3: elements of parameters that are prefetched, gathered before the module that needs them, from the second step on'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l stage3-param-persistence-threshold -x -a '0 1' -d 'stage3_param_persistence_threshold of DeepSpeed\'s ZeRO-3: parameters of at most so many elements are kept whole'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l stage3-max-live-parameters -x -a '0 1' -d 'stage3_max_live_parameters of DeepSpeed\'s ZeRO-3: no parameters are prefetched where so many elements are on the device'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l stage3-max-reuse-distance -x -a '0 1' -d 'stage3_max_reuse_distance of DeepSpeed\'s ZeRO-3: a parameter is kept whole that is used again before so many elements of others are'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l sub-group-size -x -a '' -d 'sub_group_size of DeepSpeed\'s ZeRO-3: elements of a process\'s partitions that the optimizer steps at once'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l grad-sync -x -a 'always last' -d 'with `shard` and accumulate: when processes exchange gradients: after each part, or after the last: set_requires_gradient_sync(False) of fully_shard, no_sync() of DistributedDataParallel'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l empty-cache -x -a 'never step phase' -d 'torch.cuda.empty_cache() after every step or every phase'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l alloc-conf -x -a 'default' -d 'settings of the caching allocator, in the syntax of PYTORCH_CUDA_ALLOC_CONF'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l target -x -a 'none v100-16 v100-32 t4 a100-40 a100-80 a10 a10g rtx3060 rtx3090 rtx4090 l4 l40s h100-pcie h100 h200 b200 rtx5090' -d 'the target GPU: its capacity, and PyTorch\'s workspaces and scratch on it; none: excludes them'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l workspace -x -a 'auto 2.15 2.11 2.9 2.6' -d 'how long cuBLAS workspaces live on a `target` or on cuda: auto: as `torch` says; as in PyTorch 2.15 (for one matrix product), 2.11 (until the end, one per thread, and another for cuBLASLt), 2.9 (one for both) or 2.6 (one per thread, and another for cuBLASLt at each product)'
complete -c vramscope -n '__fish_seen_subcommand_from record' -l torch -x -a '2.15 2.11 2.8 2.6 2.4' -d 'the PyTorch whose memory is followed where versions differ'
complete -c vramscope -n '__fish_seen_subcommand_from import' -s o -l out -x -d 'the trace to write (default trace.db)'
complete -c vramscope -n '__fish_seen_subcommand_from import' -s d -l device -x -a 'auto cpu meta' -d 'only this one of its devices (default: all)'
complete -c vramscope -n '__fish_seen_subcommand_from import' -s f -l force -d 'replace the trace if it exists'
complete -c vramscope -n '__fish_seen_subcommand_from import' -l strict -d 'refuse a history that the allocator cannot have made'
complete -c vramscope -n '__fish_seen_subcommand_from import' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from report' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from report' -l ranks -d 'the traces of all ranks that were recorded with this one: the peak of each, and what differs'
complete -c vramscope -n '__fish_seen_subcommand_from report' -s n -l top -x -d 'how many of the largest tensors to show (default 10)'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -s s -l set -x -a '(__vramscope_pairs)' -d 'open with this what-if; may be given more than once'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -s k -l keys -x -d 'keys to type first: 3s, gb, <enter>, :set amp=bf16<enter>'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l dump -d 'print the screen as text instead of taking the terminal'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l styles -d 'with --dump: also print the style of each stretch of cells'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l size -x -d 'size of the screen that --dump prints (default 80x24)'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l theme -x -a 'dark light mono' -d 'dark, light or mono; NO_COLOR means mono'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l ascii -d 'use only ASCII characters'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l no-mouse -d 'leave the mouse to the terminal'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l no-precompute -d 'run no what-if speculatively, before a key requests it'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l rerun -d 'of a program: what-ifs run it again without asking, even if another user or machine recorded it'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -l ranks -d 'lay the traces of all ranks that were recorded with this one, or those given, beside each other'
complete -c vramscope -n '__fish_seen_subcommand_from tui' -s f -l follow -d 'watch a recording that is still running; on a terminal, wait for one that has not begun'
complete -c vramscope -n '__fish_seen_subcommand_from why' -l at -x -d 'right after this event (default: the peak, or out of memory)'
complete -c vramscope -n '__fish_seen_subcommand_from why' -s n -l top -x -d 'how many of the largest blocks to show (default 20)'
complete -c vramscope -n '__fish_seen_subcommand_from why' -l rerun -d 'of a program: run it again without asking, even if another user or machine recorded it'
complete -c vramscope -n '__fish_seen_subcommand_from why' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from python' -l at -x -d 'right after this event (default: the peak, or out of memory)'
complete -c vramscope -n '__fish_seen_subcommand_from python' -l rerun -d 'run the program again without asking, even if another user or machine recorded it'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -s s -l set -x -a '(__vramscope_pairs)' -d 'a toggle to change; may be given more than once'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -l capacity -x -d 'memory of the device, such as 8G (default: as recorded)'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -l each -d 'try each toggle alone and the best ones combined, in addition to --set; on a device with a limit: which of them fit, and the largest batch; a program runs again for each, once you have agreed'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -l curve -x -d 'the peak over values of a toggle that is a count, such as batch: what each unit takes, and what none does'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -l ranks -d 'with shard=fsdp: run all ranks that differ, and say which has the highest peak and why'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -l rerun -d 'of a program: run it again without asking, even if another user or machine recorded it'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -s o -l out -r -d 'of a program: keep the trace of the run'
complete -c vramscope -n '__fish_seen_subcommand_from whatif' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from sweep' -s v -l vary -x -d 'a toggle and the values that it takes, with commas between: batch=8,12,16; the range 8..256 is 8, 16, 32 and so on, doubled, the range 8..256+8 is 8, 16, 24 and so on; where a value has a comma, put | between values: freeze=half|conv1,bn1; give --vary once for each toggle'
complete -c vramscope -n '__fish_seen_subcommand_from sweep' -l world -x -d 'the same as --vary world=VALUES'
complete -c vramscope -n '__fish_seen_subcommand_from sweep' -s s -l set -x -a '(__vramscope_pairs)' -d 'a toggle of all configurations; may be given more than once'
complete -c vramscope -n '__fish_seen_subcommand_from sweep' -l capacity -x -d 'memory of the device, such as 80G (default: unlimited)'
complete -c vramscope -n '__fish_seen_subcommand_from sweep' -l seed -x -d 'seed of all random numbers (default 0)'
complete -c vramscope -n '__fish_seen_subcommand_from sweep' -s o -l out -r -d 'keep the results in this SQLite file, and do not run what it has; needed to go on after ^C'
complete -c vramscope -n '__fish_seen_subcommand_from sweep' -s j -l jobs -x -d 'how many processes to run at once, 1 to 256 (default: one for each core)'
complete -c vramscope -n '__fish_seen_subcommand_from sweep' -s a -l all -d 'print all configurations, not only the Pareto front'
complete -c vramscope -n '__fish_seen_subcommand_from sweep' -l json -d 'print all configurations as JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from diff' -l by -x -a 'category module line' -d 'what a row stands for: category (default), module, line, tensor'
complete -c vramscope -n '__fish_seen_subcommand_from diff' -l at -x -d 'the events to compare: peak (default), step or step=N (the highest of a step), event=N or event=N,M'
complete -c vramscope -n '__fish_seen_subcommand_from diff' -l max-growth -x -d 'exit with 1 if B has more than A by more than this (1%, 0.5%), else with 0'
complete -c vramscope -n '__fish_seen_subcommand_from diff' -s n -l top -x -d 'how many rows to print (default 20); JSON has all'
complete -c vramscope -n '__fish_seen_subcommand_from diff' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from check' -l max-peak -x -d 'highest allocated bytes: 70G, 512M'
complete -c vramscope -n '__fish_seen_subcommand_from check' -l max-reserved -x -d 'highest bytes in segments'
complete -c vramscope -n '__fish_seen_subcommand_from check' -l max-growth-per-step -x -d 'how much more may be allocated at the end of a step than at that of the one before; 0: no leak'
complete -c vramscope -n '__fish_seen_subcommand_from check' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from export' -l format -x -d 'the format; see above'
complete -c vramscope -n '__fish_seen_subcommand_from export' -s o -l out -r -d 'the file to write; - or none: standard output; a name that ends with .gz is compressed'
complete -c vramscope -n '__fish_seen_subcommand_from export' -l table -x -d 'csv, json: events (default) or blocks'
complete -c vramscope -n '__fish_seen_subcommand_from export' -l at -x -d 'collapsed, speedscope: peak (default), end, event=N, or step=N (the highest of a step)'
complete -c vramscope -n '__fish_seen_subcommand_from export' -s w -l whatif -x -a '(__vramscope_pairs)' -d 'svg: run the net again with this toggle and draw its peak as a line; may be given more than once'
complete -c vramscope -n '__fish_seen_subcommand_from export' -l whatifs -x -d 'html: run the net again with each toggle (default: on, up to 500,000 events)'
complete -c vramscope -n '__fish_seen_subcommand_from export' -s f -l force -d 'replace the file if it exists'
complete -c vramscope -n '__fish_seen_subcommand_from match' -s e -l events -x -a 'tensors allocations all' -d 'tensors: their allocations and frees; allocations: with those of libraries and kernels; all: with addresses, segments and peaks (default: tensors, or all where a target is set)'
complete -c vramscope -n '__fish_seen_subcommand_from match' -s D -l define -x -d 'the net\'s line `NAME = …` becomes `NAME = VALUE`'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l from -x -d 'where the recording begins (steps count from 0), if not at the start of the program'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l gpu -x -d 'which device of a snapshot with several'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l any-free-order -d 'consecutive frees may come in any order: that of autocast\'s copies depends on addresses'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l batch -x -a '' -d 'samples in a batch'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l accumulate -x -a '' -d 'split each batch into N parts and step the optimizer once for all of them'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l steps -x -a '' -d 'training steps to record'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l data -x -a 'fresh once' -d 'a new batch each step, or one batch moved to the device once'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l inplace -x -a 'off on' -d 'activations and dropouts overwrite their input wherever PyTorch would allow it'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l amp -x -a 'off fp16 bf16 O0 O1 O2 O3' -d 'run forward and loss under autocast, fp16 with a GradScaler; or as an opt_level of NVIDIA\'s Apex'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l half -x -a 'off on' -d 'model.half(): weights, gradients and activations in fp16'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l checkpoint -x -a 'off blocks selective segments=2 sqrt auto auto:8G' -d 'keep only the inputs of the chosen parts and run their forward again in backward; selective: the blocks, and keep what their matrix products, convolutions and attention compute, too'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l checkpoint-impl -x -a 'reentrant non-reentrant' -d 'use_reentrant of the checkpoints that `checkpoint` makes'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l preserve-rng -x -a 'off on' -d 'preserve_rng_state of the checkpoints that `checkpoint` makes'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l offload -x -a 'off activations' -d 'run the model\'s forward, or that of these modules, under torch.autograd.graph.save_on_cpu(pin_memory=True)'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l compile -x -a 'off on' -d 'of a program: torch.compile the modules that the script calls; off: leave out its own torch.compile'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l optimizer -x -a 'sgd momentum adam adamw' -d 'SGD, SGD(momentum=0.9), Adam or AdamW(weight_decay=0.01) over what requires grad'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l foreach -x -a 'auto off' -d 'the optimizer\'s multi-tensor path, as PyTorch takes it on CUDA, or one parameter at a time'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l zero-grad -x -a 'none zeros' -d 'zero_grad sets gradients to None, or fills them with zeros'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l drop-outputs -x -a 'off on early' -d 'del output, loss after each backward; early: del output before it, as soon as the loss exists'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l detach-loss -x -a 'off on' -d 'the loop adds up loss.item() over the steps, or the loss tensor itself'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l chunk-loss -x -a 'off 1' -d 'F.cross_entropy over class indices in N chunks of rows, whose gradient overwrites the logits'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l freeze -x -a 'none half' -d 'requires_grad_(False) on the parameters below these modules, or on the first half of them'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l grad -x -a 'train eval no_grad' -d 'train; model.eval() with gradients recorded; or model.eval() under no_grad'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l fuse -x -a 'off on' -d 'fold each batch norm into the convolution before it (torch.nn.utils.fuse_conv_bn_eval); needs grad=eval or no_grad'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l quantize -x -a 'off int8' -d 'keep the weights of linear layers and 2-d convolutions as 8-bit numbers; needs grad=eval or no_grad'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l prefetch -x -a 'off 1' -d 'load N further batches onto the device before the step that uses the first of them'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l shard -x -a 'off ddp zero1 fsdp tp pp deepspeed-zero1 deepspeed-zero2 deepspeed-zero3' -d 'one process of `world`: DistributedDataParallel, and with zero1 a ZeroRedundancyOptimizer; fully_shard of each block and of the model; tensor parallelism of linear layers; a stage of a pipeline; or stage 1, 2 or 3 of DeepSpeed\'s ZeRO. The trace is that of `rank`, with ddp of rank 0'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l world -x -a '' -d 'processes that `shard` is for, each with a batch of its own, with shard=tp all with the same, with cp and tp each cp * tp of them; with pp one or more stages each'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l rank -x -a '0 1' -d 'the process, from 0, that shard=fsdp, zero1, tp, pp and DeepSpeed\'s ZeRO follow; with pp that of the stages'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l shard-units -x -a 'blocks' -d 'modules that fully_shard is called on besides the model: class names and paths with commas between, where `*` stands for any name or the rest of one: Block, layer1.*, encoder.layer*; blocks: those of checkpoint=blocks'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l tp-plan -x -a 'none' -d 'with shard=tp, or tp=N: modules that parallelize_module splits: PATH:STYLE with commas between, where `*` stands for any name or the rest of one: layers.*.up:colwise,layers.*.down:rowwise; styles: colwise, rowwise, sequence, prepare-input, prepare-output, with :input=, :output=, :desired= of replicate, shard0, shard1, …, and :local=on or off'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l loss-parallel -x -a 'off on' -d 'with shard=tp, or tp=N: loss_parallel() around the loop: F.cross_entropy of logits whose classes are split'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l tp -x -a '' -d 'with shard=fsdp: processes that split the modules of tp-plan between them and share each batch; fully_shard shards what each of them has'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l replicate -x -a '' -d 'with shard=fsdp: hybrid sharding (HSDP): N groups of world / N processes, each with all shards'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l cp -x -a '' -d 'with shard=fsdp: processes that share each sequence of a batch, under context_parallel: tensors of the batch are sharded along their second dimension, with ring attention'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l cp-buffers -x -a 'none' -d 'buffers of the model that cp shards, too: PATH:DIMENSION with commas between: rope.cos:0,rope.sin:0'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l cp-rotate -x -a 'allgather alltoall' -d 'how keys and values reach the processes of cp: set_rotate_method'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l pp-split -x -a 'none' -d 'with shard=pp: paths of the modules that the stages after the first one begin with, with commas between: layers.4,layers.8; what a stage has not is None there, or is missing in its list'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l microbatches -x -a '' -d 'with shard=pp: equal parts of a batch that pass through the pipeline one after the other'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l pp-schedule -x -a '1f1b gpipe interleaved1f1b loopedbfs' -d 'with shard=pp: Schedule1F1B: a backward after each forward as soon as there can be one; ScheduleGPipe: all forwards, then all backwards; with several stages in each process ScheduleInterleaved1F1B or ScheduleLoopedBFS'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l reshard -x -a 'on off' -d 'reshard_after_forward of fully_shard: free the gathered parameters of a block after its forward; the model\'s own stay in either case'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l mp-policy -x -a 'off bf16 bf16-reduce fp16' -d 'MixedPrecisionPolicy of fully_shard: bf16: gather parameters and compute in bfloat16, reduce gradients in float32; bf16-reduce: in bfloat16, too. With DeepSpeed\'s ZeRO bf16 and fp16 are its settings of these names, enabled'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l offload-policy -x -a 'off cpu' -d 'offload_policy of fully_shard: cpu: CPUOffloadPolicy(): shards, their gradients and the optimizer\'s state stay on the host'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l reduce-bucket-size -x -a '' -d 'reduce_bucket_size of DeepSpeed\'s ZeRO: elements of the buffer that gradients are reduced in, at most 2147483647'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l overlap-comm -x -a 'off on' -d 'overlap_comm of DeepSpeed\'s ZeRO: gradients are reduced on a stream of their own; with stage 3 parameters are gathered on one, too'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l stage3-prefetch-bucket-size -x -a '0 1' -d 'stage3_prefetch_bucket_size of DeepSpeed\'s ZeRO-3: elements of parameters that are prefetched, gathered before the module that needs them, from the second step on'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l stage3-param-persistence-threshold -x -a '0 1' -d 'stage3_param_persistence_threshold of DeepSpeed\'s ZeRO-3: parameters of at most so many elements are kept whole'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l stage3-max-live-parameters -x -a '0 1' -d 'stage3_max_live_parameters of DeepSpeed\'s ZeRO-3: no parameters are prefetched where so many elements are on the device'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l stage3-max-reuse-distance -x -a '0 1' -d 'stage3_max_reuse_distance of DeepSpeed\'s ZeRO-3: a parameter is kept whole that is used again before so many elements of others are'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l sub-group-size -x -a '' -d 'sub_group_size of DeepSpeed\'s ZeRO-3: elements of a process\'s partitions that the optimizer steps at once'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l grad-sync -x -a 'always last' -d 'with `shard` and accumulate: when processes exchange gradients: after each part, or after the last: set_requires_gradient_sync(False) of fully_shard, no_sync() of DistributedDataParallel'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l empty-cache -x -a 'never step phase' -d 'torch.cuda.empty_cache() after every step or every phase'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l alloc-conf -x -a 'default' -d 'settings of the caching allocator, in the syntax of PYTORCH_CUDA_ALLOC_CONF'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l target -x -a 'none v100-16 v100-32 t4 a100-40 a100-80 a10 a10g rtx3060 rtx3090 rtx4090 l4 l40s h100-pcie h100 h200 b200 rtx5090' -d 'the target GPU: its capacity, and PyTorch\'s workspaces and scratch on it; none: excludes them'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l workspace -x -a 'auto 2.15 2.11 2.9 2.6' -d 'how long cuBLAS workspaces live on a `target` or on cuda: auto: as `torch` says; as in PyTorch 2.15 (for one matrix product), 2.11 (until the end, one per thread, and another for cuBLASLt), 2.9 (one for both) or 2.6 (one per thread, and another for cuBLASLt at each product)'
complete -c vramscope -n '__fish_seen_subcommand_from match' -l torch -x -a '2.15 2.11 2.8 2.6 2.4' -d 'the PyTorch whose memory is followed where versions differ'
complete -c vramscope -n '__fish_seen_subcommand_from sql' -l json -d 'print an array with one object per row'
complete -c vramscope -n '__fish_seen_subcommand_from toggles' -l json -d 'print JSON'
complete -c vramscope -n '__fish_seen_subcommand_from ops' -l json -d 'print JSON'
complete -c vramscope -n '__fish_seen_subcommand_from smi' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -s a -l all -d 'run every lesson and print a line for each'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -l page -d 'run every lesson and print docs/guide/techniques.md'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -l tui -d 'open the runs before and after side by side in the TUI'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -l dump -d 'with --tui: print the screen as text instead of taking the terminal'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -l size -x -d 'with --tui: size of the screen that --dump prints (default 80x24)'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -s k -l keys -x -d 'with --tui: keys to type first'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -l code -d 'print the file of the lesson'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -l from -x -d 'another folder of lessons (docs/internals/lessons.md)'
complete -c vramscope -n '__fish_seen_subcommand_from lesson' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from advise' -l capacity -x -d 'memory of the device, such as 24G (default: as recorded): which changes fit, the cheapest of them, and the largest batch'
complete -c vramscope -n '__fish_seen_subcommand_from advise' -l curve -d 'peak against recomputation: the placements of checkpoints between no checkpoint and the least peak, and copies to the host with their bytes; with --capacity also the cheapest placement within it'
complete -c vramscope -n '__fish_seen_subcommand_from advise' -l points -x -d 'points of the curve, 2 to 200 (default 16)'
complete -c vramscope -n '__fish_seen_subcommand_from advise' -l rerun -d 'of a program: run it again without asking, even if another user or machine recorded it'
complete -c vramscope -n '__fish_seen_subcommand_from advise' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -n '__fish_seen_subcommand_from doctor' -l json -d 'print JSON; docs/formats/json.md lists the fields'
complete -c vramscope -s h -l help -d 'what it does and takes'
