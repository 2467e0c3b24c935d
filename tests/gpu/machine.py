#!/usr/bin/env python3
"""tests/gpu/machine.py - prints one JSON object: GPU, driver, CUDA, PyTorch and the libraries beside it, as the golden
files of a GPU name them."""
import json
import os
import platform
import subprocess
import sys


def driver_of():
    said = subprocess.run(["nvidia-smi", "--query-gpu=driver_version,name,memory.total,memory.used",
                           "--format=csv,noheader,nounits"], capture_output=True, text=True)
    return [w.strip() for w in said.stdout.split("\n")[0].split(",")] if said.returncode == 0 else []


def main():
    about = {"system": platform.platform(), "python": sys.version.split()[0],
             "processors": os.cpu_count()}
    try:
        driver = driver_of()
    except OSError:
        driver = []
    about.update(zip(("driver", "gpu", "memory_mib", "used_before_mib"), driver))
    try:
        import torch
        about["torch"], about["cuda"] = torch.__version__, torch.version.cuda
        if torch.cuda.is_available():
            p = torch.cuda.get_device_properties(0)
            about.update(gpu=p.name, capability="%d.%d" % (p.major, p.minor), memory=p.total_memory,
                         multiprocessors=p.multi_processor_count,
                         cudnn=torch.backends.cudnn.version())
    except (ImportError, OSError) as reason:
        about["torch"] = None
        about["torch_missing"] = str(reason).splitlines()[0]
    print(json.dumps({"machine": about}))


if __name__ == "__main__":
    main()
