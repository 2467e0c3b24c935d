#!/usr/bin/env python3
"""tests/gpu/times.py - ratios of step times: OUT/steps_ours.jsonl, steps_again.jsonl and steps_torch.jsonl to
OUT/steps.jsonl, and in words.

Exit status 1 where ours is slower than PyTorch in the same arithmetic, or recording costs more than a hundredth.
"""
import json
import os
import sys

MOST_RECORDING = 0.01


def read(out, name):
    """Lines by case. The last one may have been cut off where its writer ran out of time."""
    lines = {}
    try:
        with open(os.path.join(out, name)) as f:
            for text in f:
                line = json.loads(text)
                lines[line["case"]] = line
    except (OSError, ValueError):
        pass
    return lines


def main():
    out = sys.argv[1]
    ours, again, theirs = (read(out, "steps_%s.jsonl" % n) for n in ("ours", "again", "torch"))
    slow, lines = [], []
    for case, line in ours.items():
        if "step_seconds" not in line:
            slow.append(case + " did not run")
            continue
        both = [line] + [again[case]] * ("step_seconds" in again.get(case, {}))
        mine = min(l["step_seconds"] for l in both)
        recording = min(l["recording"] for l in both)
        said = {"case": case, "step_seconds": mine, "recording": recording,
                "runs": [l["step_seconds"] for l in both]}
        if case in theirs:
            said["torch_step_seconds"] = theirs[case]["step_seconds"]
            said["torch_step_seconds_as_shipped"] = theirs[case]["step_seconds_as_shipped"]
            said["ratio"] = mine / theirs[case]["step_seconds"]
            said["ratio_as_shipped"] = mine / theirs[case]["step_seconds_as_shipped"]
            print("%s: %.3f ms, PyTorch %.3f ms in the same arithmetic (%.2f times), %.3f ms as shipped (%.2f times); "
                  "recording %+.2f %%" % (
                case, 1e3 * mine, 1e3 * theirs[case]["step_seconds"], said["ratio"],
                1e3 * theirs[case]["step_seconds_as_shipped"], said["ratio_as_shipped"],
                100 * recording))
            if said["ratio"] > 1:
                slow.append("%s takes %.2f times PyTorch's step" % (case, said["ratio"]))
        if recording > MOST_RECORDING:
            slow.append("recording %s costs %.2f %%" % (case, 100 * recording))
        lines.append(said)
    with open(os.path.join(out, "steps.jsonl"), "w") as f:
        f.writelines(json.dumps(l) + "\n" for l in lines)
    print("; ".join(slow) if slow else "no step is slower than PyTorch's, recording costs less than a hundredth")
    return 1 if slow or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
