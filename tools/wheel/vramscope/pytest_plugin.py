"""tools/wheel/vramscope/pytest_plugin.py - a limit for the memory of the GPU that a test allocates.

    @pytest.mark.max_vram("2 GiB")
    def test_a_step_fits(): ...

The test is recorded in a process of its own: `vramscope record -- python -m pytest FILE::TEST`. On a machine without a
GPU it is simulated, and sizes are PyTorch's all the same. The peak is that of the process, fixtures included.

    @pytest.mark.max_vram("20 GiB", gpu="h100")      # as this GPU, even where there is another one
    @pytest.mark.max_vram("2 GiB", timeout=60)       # it fails if it has not ended after so many seconds; else 1800
"""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile

import pytest

TIMEOUT_SECONDS = 1800  # of a test that is recorded, where its mark says no other
INSIDE = "VRAMSCOPE_PYTEST_INSIDE"  # set in the process that is recorded
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def bytes_of(size):
    """2 GiB, "512M", "1.5 GB", 4096: as vramscope reads sizes, in powers of 1024."""
    if isinstance(size, int) and not isinstance(size, bool):
        return size
    found = re.match(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)(?:i?b)?\s*$", str(size).lower())
    if not found:
        raise pytest.UsageError('max_vram("%s") is not a size such as "2 GiB"' % size)
    return int(float(found.group(1)) * UNITS[found.group(2)])


def text_of(size):
    return "%.1f MiB (%d bytes)" % (size / (1 << 20), size)


def pytest_configure(config):
    config.addinivalue_line("markers", 'max_vram(size, gpu=None, timeout=1800): the test allocates at most so much on '
                            'the GPU: "2 GiB"; it is recorded by vramscope, without a GPU on a simulated one')


def record(item, gpu, seconds, folder):
    """Run the test in a process of its own; the path of its trace, or None where it never used the GPU."""
    from vramscope.trace import command

    trace = os.path.join(folder, "test.db")
    words = [command(), "record", "-f", "-o", trace] + (["--gpu", gpu] if gpu else [])
    words += ["--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    # By the name it has here, that of the entry point or of the module: pytest refuses it under both.
    words += ["-p", item.config.pluginmanager.get_name(sys.modules[__name__])]
    words += ["--rootdir", str(item.config.rootpath), item.nodeid]
    done = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            universal_newlines=True, cwd=str(item.config.rootpath), start_new_session=True,
                            env=dict(os.environ, **{INSIDE: "1"}))
    try:
        said = done.communicate(timeout=seconds)[0]
    except BaseException as e:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.killpg(done.pid, signal.SIGKILL)
        said = done.communicate()[0]
        if not isinstance(e, subprocess.TimeoutExpired):
            raise
        pytest.fail("the test did not end within %g seconds where it was recorded:\n%s" % (seconds, said),
                    pytrace=False)
    if done.returncode:
        pytest.fail("the test failed where it was recorded:\n" + said, pytrace=False)
    return trace if os.path.exists(trace) else None


def check(item, limit, gpu, seconds):
    from vramscope.trace import Trace

    with tempfile.TemporaryDirectory(prefix="vramscope-pytest-") as folder:
        trace = record(item, gpu, seconds, folder)
        if trace is None:
            return
        report = Trace(trace).report(3)
        peak = report["peak"]["allocated"]
        if peak <= limit:
            return
        lines = ["%s allocated at most, %s are allowed; at the peak, %s line %s:" % (
            text_of(peak), text_of(limit), report["peak"]["function"], report["peak"]["line"])]
        lines += ["  %s  %s" % (text_of(block["bytes"]), "; ".join(block["holders"]) or block["function"])
                  for block in report["largest"]]
        pytest.fail("\n".join(lines), pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    mark = pyfuncitem.get_closest_marker("max_vram")
    if mark is None or os.environ.get(INSIDE):
        return None
    if len(mark.args) != 1 or set(mark.kwargs) - {"gpu", "timeout"}:
        raise pytest.UsageError('max_vram takes one size, gpu="NAME" and timeout=SECONDS: max_vram("2 GiB")')
    check(pyfuncitem, bytes_of(mark.args[0]), mark.kwargs.get("gpu"), mark.kwargs.get("timeout", TIMEOUT_SECONDS))
    return True
