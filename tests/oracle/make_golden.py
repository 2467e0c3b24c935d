#!/usr/bin/env python3
"""tests/oracle/make_golden.py - writes tests/golden/oracle/ from real PyTorch.

    python3 tests/oracle/make_golden.py PART ... [--only REGEX] [--with TOGGLE]

ops, ops_amp  every event of one step of each net below tests/nets/ops
ops_scratch   the same with library workspaces and kernel scratch, and of tests/nets/scratch and some sample nets
grid          phase figures, peaks, saved, recomputed: every net with every toggle alone
events        every event of three steps of some nets
articles      the same of the nets of tests/nets/articles
apex          the same with amp=O0 to O3: each net with apex_by_hand.py behind it
shard, fsdp   the same of one process of several, and with fully_shard
deepspeed, deepspeed_zero3  with DeepSpeed's ZeRO 1 and 2, and 3, and how often it calls each collective; need DeepSpeed
tensor_parallel  every event with shard=tp, and how often it calls each collective
context_parallel, mesh, pipeline  the same with shard=fsdp and cp, with replicate and tp, and with shard=pp
fsdp_grid, deepspeed_grid, pipeline_grid  phase figures and peaks of these
traffic       how often a process of several calls each of NCCL's collectives, and with how many bytes
lessons       peak, saved and the ends of phases of the runs of lessons/ (those whose toggles PyTorch has)
random        every event of three steps of the nets of tests/nets/random, and which modules work in place
own_step      every event of the nets of tests/nets/own_step, what autograd saves and what checkpoints run again
numbers, numbers_ops  losses, gradients and updated weights on the CPU; of tests/nets/ops with sgd only

One JSON object a line, sorted, each with the net file, the toggles given and the torch version.
With --only the lines of matching nets are replaced, the others kept; with --with, of events, shard,
fsdp, tensor_parallel, context_parallel, mesh, deepspeed and deepspeed_zero3, those with that toggle.
"""
import gzip
import json
import os
import re
import sys
import tempfile

import golden_cases
import nogpu

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
ROOT = os.path.dirname(TESTS)
GOLDEN = os.path.join(TESTS, "golden", "oracle")


def nets(folder):
    path = os.path.join(ROOT, folder)
    return [folder + "/" + n for n in sorted(os.listdir(path)) if n.endswith(".py")]


def progress(text):
    print(text, file=sys.stderr, flush=True)


def failed(report):
    return {k: report[k] for k in ("error", "refused") if k in report}


# ---- one op a net: every event ----


def op_line(case, net, given):
    """`target` among the toggles: with library workspaces and scratch, on that device."""
    target = given.get("target")
    nogpu.simulate(target or nogpu.GPU)
    oracle_given = {k: v for k, v in given.items() if k != "target"}
    report = case.memory(os.path.join(ROOT, net), dict(oracle_given, steps="1"),
                         target is not None)
    line = {"op": os.path.basename(net)[:-3], "net": net, "toggles": given}
    if "error" in report:
        progress("%s %s: %s" % (net, given, report["error"]))
        return dict(line, **failed(report))
    line["torch"] = report["torch"]
    line["saved"] = report["saved"]
    line["events"] = [[kind, size, op, ident, phase]
                      for kind, size, op, ident, step, phase in report["event_list"]]
    return line


def make_ops(case, only):
    write("ops.jsonl", [op_line(case, n, {}) for n in nets("tests/nets/ops") if only(n)], only)


def make_ops_amp(case, only):
    lines = []
    for net in nets("tests/nets/ops"):
        if only(net):
            for given in ({"amp": "fp16"}, {"amp": "bf16"}, {"half": "on"}):
                lines.append(op_line(case, net, given))
    write("ops_amp.jsonl.gz", lines, only)


SCRATCH_TARGETS = ("a100-80", "h100", "t4")
SCRATCH_SAMPLES = ("gpt2_small", "gpt2_small_sdpa", "vit_tiny", "resnet18", "unet", "mlp_swish",
                   "densenet_bc100", "lenet", "lm4")


def make_ops_scratch(case, only):
    cases = [(n, {"target": "a100-80"}) for n in nets("tests/nets/ops")]
    for net in nets("tests/nets/scratch"):
        targets = SCRATCH_TARGETS[:2] if "huge" in net else SCRATCH_TARGETS  # a T4 is too small
        cases += [(net, {"target": t}) for t in targets]
        if "sorts" not in net:  # keys of two bytes are sorted by another algorithm, see docs/internals/target.md
            cases += [(net, {"target": "a100-80", "half": "on"})]
    for name in SCRATCH_SAMPLES:
        net = "sample_nets/%s.py" % name
        cases.append((net, {"target": "a100-80"}))
        if name != "lm4":  # its own loss asks the device for a kernel that only a GPU compiles
            cases.append((net, {"target": "rtx4090", "amp": "bf16"}))
    lines = [op_line(case, n, given) for n, given in cases if only(n)]
    for line in lines:
        line.pop("saved", None)
    write("ops_scratch.jsonl.gz", lines, only)


# ---- every net, every toggle alone ----

OPTIMIZERS = ("sgd", "momentum", "adam", "adamw")
CHECKPOINTS = ("blocks", "segments=2", "segments=4", "sqrt")
COLUMNS = ("allocated_end", "allocated_peak", "requested_end", "requested_peak", "reserved_end",
           "reserved_peak")


def toggle_sets():
    yield {}
    yield {"batch": "2"}
    yield {"inplace": "on"}
    for amp in ("fp16", "bf16"):
        yield {"amp": amp}
    yield {"half": "on"}
    for kind in CHECKPOINTS:
        yield {"checkpoint": kind}
        yield {"checkpoint": kind, "checkpoint-impl": "reentrant"}
    for kind in OPTIMIZERS:
        yield {"optimizer": kind}
        yield {"optimizer": kind, "foreach": "off"}
    yield {"accumulate": "2"}
    yield {"zero-grad": "zeros"}
    yield {"drop-outputs": "on"}
    for mode in ("eval", "no_grad"):
        yield {"grad": mode}
    yield {"freeze": "half"}
    yield {"checkpoint": "blocks", "amp": "fp16"}
    yield {"checkpoint": "blocks", "inplace": "on"}
    yield {"amp": "fp16", "optimizer": "adam", "zero-grad": "zeros"}
    yield {"amp": "bf16", "accumulate": "2"}
    yield {"half": "on", "optimizer": "adam"}


def grid_line(case, net, given):
    report = case.memory(os.path.join(ROOT, net), given)
    line = {"net": net, "toggles": given}
    if "error" in report:
        if not report.get("refused"):
            progress("%s %s: %s" % (net, given, report["error"]))
        return dict(line, **failed(report))
    for k in ("torch", "parameters", "peak", "saved", "recomputed_ops", "recomputed_kernels",
              "applied", "events"):
        line[k] = report[k]
    line["phases"] = [[step["step"], p["phase"]] + [p[c] for c in COLUMNS]
                      for step in report["steps"] for p in step["phases"]]
    if not report["allocator_matches"]:
        progress("%s %s: the allocator model differs from the allocator" % (net, given))
    return line


def make_grid(case, only):
    for net in nets("sample_nets") + nets("tests/nets"):
        if only(net):
            name = os.path.join("grid", os.path.basename(net)[:-3] + ".jsonl")
            lines = [grid_line(case, net, given) for given in toggle_sets()]
            write(name, lines, lambda n, t: True)


# ---- every event of some nets ----


def event_line(case, net, given, sends=False):
    report = case.memory(os.path.join(ROOT, net), given)
    line = {"net": net, "toggles": given}
    if "error" in report:
        if not report.get("refused"):
            progress("%s %s: %s" % (net, given, report["error"]))
        return dict(line, **failed(report))
    line["torch"] = report["torch"]
    line["events"] = report["event_list"]
    return dict(line, collectives=report["collectives"]) if sends else line


def make_events(case, only):
    cases = list(golden_cases.EVENT_NETS) + [(n, t) for n in nets("tests/nets") for t in golden_cases.EVENT_TOGGLES]
    write("events.jsonl.gz", [event_line(case, n, t) for n, t in cases if only(n, t)],
          only)


# ---- what articles write, and what PyTorch says to it ----

ARTICLE_TOGGLES = {}


def make_articles(case, only):
    lines = [event_line(case, n, t) for n in nets("tests/nets/articles")
             for t in ARTICLE_TOGGLES.get(os.path.basename(n)[:-3], ({},)) if only(n, t)]
    write("articles.jsonl", lines, only)


# ---- mixed precision of NVIDIA's Apex ----

APEX_NETS = ("tests/nets/resnet_small.py", "tests/nets/mlp.py", "tests/nets/gpt_tiny.py", "tests/nets/vit_small.py",
             "tests/nets/unet_small.py", "sample_nets/lenet.py")
APEX_OPTIMIZERS = {"sgd": ("SGD", {"lr": 0.01}), "momentum": ("SGD", {"lr": 0.01, "momentum": 0.9}),
                   "adam": ("Adam", {"lr": 0.001})}


def apex_line(case, net, level, given):
    """`net` with apex_by_hand.py behind it, as a line of the net itself with amp=LEVEL."""
    optimizer, options = APEX_OPTIMIZERS[given.get("optimizer", "sgd")]
    settings = {"LEVEL": level, "OPTIMIZER": optimizer, "OPTIONS": options, "DROP": "drop-outputs" in given,
                "TO_NONE": given.get("zero-grad") != "zeros"}
    text = "".join("%s = %r\n" % pair for pair in settings.items())
    for path in (os.path.join(ROOT, net), os.path.join(HERE, "apex_by_hand.py")):
        with open(path) as f:
            text += f.read()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, os.path.basename(net))
        with open(path, "w") as f:
            f.write(text)
        return dict(event_line(case, path, {}), net=net, toggles=dict(given, amp=level))


def make_apex(case, only):
    lines = []
    for net in APEX_NETS:
        for level in ("O0", "O1", "O2", "O3"):
            for given in ({"optimizer": "sgd"}, {"optimizer": "momentum", "drop-outputs": "on"}, {"optimizer": "adam"},
                          {"optimizer": "sgd", "zero-grad": "zeros"}):
                if only(net, dict(given, amp=level)):
                    lines.append(apex_line(case, net, level, given))
    write("apex.jsonl.gz", lines, only)


# ---- the runs of lessons ----


def lesson_runs(name):
    """(run, net file, lines to change, toggles) of each run in the head of a lesson, docs/internals/lessons.md."""
    with open(os.path.join(ROOT, name)) as f:
        head = re.match(r"(#[^\n]*\n)*", f.read()).group(0)
    for run, rest in re.findall(r"^# run (\w+):(.*)$", head.replace("\n#   ", " "), re.M):
        net, lines, given = name, [], {}
        for word in rest.split(" : ")[0].split():
            key, equals, value = word.partition("=")
            if not equals:
                net = word
            elif key[0].isupper():
                lines.append((key, value))
            else:
                given[key] = value
        yield run, net, lines, given


def lesson_line(case, name, run, net, lines, given):
    with open(os.path.join(ROOT, net)) as f:
        text = f.read()
    for key, value in lines:
        text, count = re.subn("^%s = .*$" % key, "%s = %s" % (key, value.replace("\\", "")), text, flags=re.M)
        assert count == 1, (name, run, key)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, os.path.basename(net))
        with open(path, "w") as f:
            f.write(text)
        report = case.memory(path, given)
    line = {"net": name, "run": run, "toggles": given}
    if "error" in report:
        progress("%s %s: %s" % (name, run, report["error"]))
        return dict(line, **failed(report))
    line["torch"] = report["torch"]
    line["peak"] = {k: report["peak"][k] for k in ("allocated", "requested", "reserved")}
    line["saved"] = report["saved"]["bytes"]
    line["ends"] = [[step["step"], p["phase"], p["allocated_end"]] for step in report["steps"] for p in step["phases"]]
    return line


def make_lessons(case, only):
    import toggles
    lines = []
    for name in nets("lessons"):
        if os.path.basename(name)[0].isdigit():
            for run, net, changed, given in lesson_runs(name):
                if given.get("checkpoint", "").startswith("auto"):
                    continue  # placed by our planner
                if given.get("shard", "off") not in ("off", "ddp", "zero1"):
                    continue  # fsdp_grid and deepspeed_grid have it: allocator.py knows one stream
                if only(name, given) and all(word in toggles.VALUES for word in given):
                    lines.append(lesson_line(case, name, run, net, changed, given))
    write("lessons.jsonl", lines, only)


# ---- one process of several ----


def make_shard(case, only):
    cases = []
    for value in golden_cases.SHARD_VALUES:
        cases += [(net, {"accumulate": "2", "grad-sync": "last", "shard": value}) for net in golden_cases.SHARD_WHOLE]
        for net, given in golden_cases.SHARD_NETS:
            cases += [(net, dict(given, shard=value)), (net, dict(given, shard=value, optimizer="adam"))]
        for i, net in enumerate(nets("tests/nets")):
            every = net in golden_cases.SHARD_WHOLE
            cases += [(net, dict(given, shard=value)) for k, given in enumerate(golden_cases.SHARD_TOGGLES)
                      if every or k == 0 or (k + i) % 5 == 0]
    write("shard.jsonl.gz", [event_line(case, n, t) for n, t in cases if only(n, t)], only)


FSDP_REFUSED = "def train_step", "def optimizer"  # ours refuses nets that have one


def is_refused_by_fsdp(net):
    with open(os.path.join(ROOT, net)) as f:
        text = f.read()
    return any(word in text for word in FSDP_REFUSED)


def make_fsdp(case, only):
    cases = list(golden_cases.FSDP_MORE)
    for value, of_nets in (("bf16", golden_cases.FSDP_BF16), ("bf16-reduce", golden_cases.FSDP_BF16_REDUCE)):
        cases += [(net, dict(given, **{"mp-policy": value})) for net, several in of_nets for given in several]
    cases += [(net, {"shard-units": units}) for net, several in golden_cases.FSDP_UNITS for units in several]
    cases += [(net, dict(given, **{"offload-policy": "cpu"})) for net, several in golden_cases.FSDP_OFFLOAD
              for given in several]
    cases += [(net, dict(given, accumulate="2", **{"grad-sync": "last"})) for net, several in golden_cases.FSDP_SYNC
              for given in several]
    for net, given in golden_cases.FSDP_NETS:
        cases += [(net, dict(given, optimizer="adam")), (net, dict(given, reshard="off", world="1024", rank="1023"))]
    for i, net in enumerate(nets("tests/nets")):
        every = net in golden_cases.FSDP_WHOLE
        cases += [(net, given) for k, given in enumerate(golden_cases.FSDP_RANKS) if every or (k + i) % 4 == 0]
        cases += [(net, given) for k, given in enumerate(golden_cases.FSDP_TOGGLES) if every or (k + i) % 5 == 0]
    cases = [(net, dict(given, shard="fsdp")) for net, given in cases if not is_refused_by_fsdp(net)]
    write("fsdp.jsonl.gz", [event_line(case, n, t) for n, t in cases if only(n, t)], only)


def sharded_grid_line(case, net, given):
    """What memory_stats() says: the rules of allocator.py know one stream, and here are several."""
    nogpu.simulate(golden_cases.FSDP_TARGET)
    report = case.memory(os.path.join(ROOT, net), given)
    line = {"net": net, "toggles": dict(given, target=golden_cases.FSDP_TARGET)}
    if "error" in report:
        progress("%s %s: %s" % (net, given, report["error"]))
        return dict(line, **failed(report))
    line["torch"] = report["torch"]
    line["parameters"] = report["parameters"]
    line["phases"] = [[step["step"], p["phase"]] + [p[c] for c in COLUMNS]
                      for step in report["stats"] for p in step["phases"]]
    return line


def make_fsdp_grid(case, only):
    lines = [sharded_grid_line(case, net, dict(given, shard="fsdp")) for net, several in golden_cases.FSDP_GRID
             for given in several if only(net)]
    write(os.path.join("grid", "fsdp.jsonl"), lines, only)


def enter_deepspeed():
    """Imports DeepSpeed once, for all cases; importing it uses no GPU."""
    os.environ.setdefault("LOCAL_RANK", "0")
    os.environ.setdefault("DS_ACCELERATOR", "cuda")
    import deepspeed
    return deepspeed.__version__


def deepspeed_line(case, version, net, given):
    report = case.memory(os.path.join(ROOT, net), given)
    line = {"net": net, "toggles": given}
    progress("%s %s: %s" % (net, given, report.get("error", "%d events" % len(report.get("event_list", ())))))
    if "error" in report:
        return dict(line, **failed(report))
    return dict(line, torch=report["torch"], deepspeed=version, events=report["event_list"],
                collectives=report["collectives"])


def make_deepspeed(case, only):
    version = enter_deepspeed()
    cases = [(net, dict(given, shard=stage)) for net, given in golden_cases.DEEPSPEED_NETS
             for stage in golden_cases.DEEPSPEED_STAGES]
    for i, net in enumerate(n for n in nets("tests/nets") if not is_refused_by_fsdp(n)):
        every = net in golden_cases.DEEPSPEED_WHOLE
        for k, given in enumerate(golden_cases.DEEPSPEED_CASES):
            if every or (k + i) % 15 == 0:
                stages = golden_cases.DEEPSPEED_STAGES
                cases += [(net, dict(given, shard=stage)) for stage in (stages[1:] if k % 4 else stages)]
    write("deepspeed.jsonl.gz", [deepspeed_line(case, version, n, t) for n, t in cases if only(n, t)], only)


def make_deepspeed_zero3(case, only):
    version = enter_deepspeed()
    cases = golden_cases.zero3_cases(nets("tests/nets"), is_refused_by_fsdp)
    write("deepspeed_zero3.jsonl.gz", [deepspeed_line(case, version, n, t) for n, t in cases if only(n, t)], only)


def make_deepspeed_grid(case, only):
    enter_deepspeed()
    lines = [sharded_grid_line(case, net, dict({"shard": "deepspeed-zero2"}, **given))
             for net, several in golden_cases.DEEPSPEED_GRID for given in several if only(net)]
    write(os.path.join("grid", "deepspeed.jsonl"), lines, only)


def sent(name):
    """The part `name`: every event of its cases, and what they send."""
    def make(case, only):
        import torch.distributed.tensor.experimental  # here once, not in the process of each case
        import torch.distributed.tensor.parallel
        cases = getattr(golden_cases, name + "_cases")()
        write(name + ".jsonl.gz", [event_line(case, n, t, True) for n, t in cases if only(n, t)], only)

    return make


make_tensor_parallel, make_context_parallel = sent("tensor_parallel"), sent("context_parallel")
make_mesh, make_pipeline = sent("mesh"), sent("pipeline")


def make_pipeline_grid(case, only):
    lines = [sharded_grid_line(case, net, dict({"world": "4"}, **dict(given, shard="pp", **{"pp-split": split})))
             for net, split, several in golden_cases.PP_GRID for given in several if only(net)]
    write(os.path.join("grid", "pipeline.jsonl"), lines, only)


def traffic_line(case, net, given):
    report = case.memory(os.path.join(ROOT, net), given)
    line = {"net": net, "toggles": given}
    if "error" in report:
        progress("%s %s: %s" % (net, given, report["error"]))
        return dict(line, **failed(report))
    return dict(line, torch=report["torch"], collectives=report["collectives"])


def make_traffic(case, only):
    write("traffic.jsonl", [traffic_line(case, net, dict(given, shard=shard)) for net, shard, several
                            in golden_cases.TRAFFIC for given in several if only(net)], only)


# ---- nets made at random ----

RANDOM_TOGGLES = (
    {}, {"inplace": "on"}, {"inplace": "on", "checkpoint": "blocks"}, {"inplace": "on", "amp": "fp16"},
    {"amp": "bf16", "optimizer": "adamw"}, {"half": "on", "grad": "eval"},
)


KEPT_TOGGLES = (  # of random nets of seed 2000 and above, and nets of one op in all choices of what requires grad
    {"checkpoint": "blocks", "checkpoint-impl": "reentrant", "optimizer": "adam", "zero-grad": "zeros"},
    {"amp": "fp16", "accumulate": "2", "freeze": "half"}, {"half": "on", "optimizer": "momentum"},
)


def random_toggles(net):
    seed = re.search(r"seed(\d+)", net)
    if seed is None:
        return ({},)
    return RANDOM_TOGGLES if int(seed[1]) < 2000 else KEPT_TOGGLES


def random_line(case, net, given):
    report = case.memory(os.path.join(ROOT, net), given)
    line = {"net": net, "toggles": given}
    if "error" in report:
        return dict(line, **failed(report))
    line["torch"] = report["torch"]
    line["events"] = report["event_list"]
    if "inplace" in given:
        line["inplace"] = report["applied"]["inplace"]["on"]
    return line


def make_random(case, only):
    write("random.jsonl.gz", [random_line(case, n, t) for n in nets("tests/nets/random") if only(n)
                              for t in random_toggles(n)], only)


# ---- nets with a train_step ----

OWN_STEP_TOGGLES = (
    {}, {"amp": "fp16"}, {"amp": "bf16"}, {"zero-grad": "zeros"}, {"optimizer": "adam"}, {"accumulate": "2"},
    {"drop-outputs": "on"}, {"half": "on"}, {"freeze": "half"}, {"prefetch": "1"}, {"data": "once"},
    {"checkpoint": "blocks", "amp": "fp16", "zero-grad": "zeros"}, {"grad": "no_grad"},
    {"checkpoint": "sqrt", "checkpoint-impl": "reentrant", "optimizer": "momentum"}, {"shard": "ddp"},
    {"drop-outputs": "early"}, {"chunk-loss": "4"}, {"drop-outputs": "early", "amp": "fp16"},
)


def own_step_line(case, net, given):
    report = case.memory(os.path.join(ROOT, net), given)
    line = {"net": net, "toggles": given}
    if "error" in report:
        if not report.get("refused"):
            progress("%s %s: %s" % (net, given, report["error"]))
        return dict(line, **failed(report))
    return dict(line, torch=report["torch"], events=report["event_list"], saved=report["saved"],
                recomputed_ops=report["recomputed_ops"])


def make_own_step(case, only):
    lines = [own_step_line(case, n, t) for n in nets("tests/nets/own_step") for t in OWN_STEP_TOGGLES if only(n, t)]
    write("own_step.jsonl.gz", lines, only)


# ---- numbers ----

NUMBER_TOGGLES = (
    {"optimizer": "sgd"}, {"optimizer": "momentum"}, {"optimizer": "adam"}, {"optimizer": "adamw"},
    {"accumulate": "2"}, {"freeze": "half"}, {"grad": "eval"}, {"checkpoint": "blocks"},
    {"inplace": "on"},
)
NUMBER_NETS = ("sample_nets/lenet.py", "sample_nets/variables.py")


def number_line(case, net, given):
    import numbers_cpu
    path = os.path.join(ROOT, net)
    report = case.in_child(lambda: numbers_cpu.run(path, given))
    line = {"net": net, "toggles": given}
    if "error" in report:
        if not report.get("refused"):
            progress("%s %s: %s" % (net, given, report["error"]))
        return dict(line, **failed(report))
    del report["toggles"]
    return dict(line, **report)


def make_numbers(case, only):
    lines = []
    for net in nets("tests/nets") + list(NUMBER_NETS):
        if only(net):
            small = {"batch": "4"} if net.startswith("sample") else {}
            lines += [number_line(case, net, dict(given, **small)) for given in NUMBER_TOGGLES]
    write("numbers.jsonl", lines, only)


def make_numbers_ops(case, only):
    write("numbers_ops.jsonl",
          [number_line(case, n, {}) for n in nets("tests/nets/ops") if only(n)], only)


# ---- files ----


def write(name, lines, only):
    path = os.path.join(GOLDEN, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        lines = lines + [l for l in read(path) if not only(l["net"], l["toggles"])
                         and os.path.exists(os.path.join(ROOT, l["net"]))]
    lines.sort(key=lambda l: (l["net"], json.dumps(l["toggles"], sort_keys=True)))
    text = "".join(json.dumps(l, separators=(",", ":"), sort_keys=True) + "\n" for l in lines)
    if name.endswith(".gz"):
        with open(path, "wb") as f:
            f.write(gzip.compress(text.encode(), 9, mtime=0))
    else:
        with open(path, "w") as f:
            f.write(text)
    bad = [l for l in lines if "error" in l and not l.get("refused")]
    progress("%s: %d lines, %d failed, %d bytes" % (name, len(lines), len(bad),
                                                    os.path.getsize(path)))


def read(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as f:
        return [json.loads(l) for l in f]


def main():
    words = sys.argv[1:]
    pattern = re.compile("")
    wanted = None
    if "--only" in words:
        at = words.index("--only")
        pattern = re.compile(words[at + 1])
        del words[at:at + 2]
    if "--with" in words:
        at = words.index("--with")
        wanted = words[at + 1]
        del words[at:at + 2]

    def only(net, toggles=None):
        return pattern.search(net) is not None and (wanted is None or toggles is None or wanted in toggles)

    writers = {n[5:]: f for n, f in globals().items() if n.startswith("make_")}
    if not words or any(w not in writers for w in words):
        raise SystemExit(__doc__)
    nogpu.enter()
    import case
    case.warm()
    for word in words:
        writers[word](case, only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
