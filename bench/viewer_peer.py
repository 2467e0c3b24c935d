# bench/viewer_peer.py - ptmem on a snapshot: the other peer of bench_viewer's figures.
#
# For:            bench/bench_viewer.c. `python3 bench/viewer_peer.py SNAPSHOT` with ptmem installed (pip install
#                 ptmem): lines of "name milliseconds".
# Must not know:  how ptmem works: a key is what its own main loop does with one, at 160x48.
# Invariant:      what is written to the screen goes nowhere, so that no terminal is needed: the program does everything
#                 but write it out.
import curses
import os
import resource
import shutil
import statistics
import sys
import tempfile
import time

from ptmem import cli

W, H = 160, 48


class Screen:
    """Takes every call."""

    def getmaxyx(self):
        return H, W

    def __getattr__(self, name):
        return lambda *args: None


def cpu():
    return time.process_time() * 1e3


def report(name, number):
    print(f"{name} {number:.3f}", flush=True)


def keys(view, columns, key, count):
    took = []
    for _ in range(count):
        start = cpu()
        view.handle_key(ord(key) if isinstance(key, str) else key, columns)
        view.render(SCREEN, H, W)
        took.append(cpu() - start)
    return statistics.median(took)


SCREEN = Screen()
curses.color_pair = lambda number: 0
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "snapshot.pickle")
    shutil.copyfile(sys.argv[1], path)
    start = cpu()
    data = cli.MemoryProfileData(path)
    report("open_ms", cpu() - start)
    start = cpu()
    view = cli.TimelineView(data)
    view.render(SCREEN, H, W)
    report("first_frame_ms", cpu() - start)
    report("memory_mib", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    report("cursor_ms", keys(view, W - cli.TimelineView.Y_AXIS_W - 1, curses.KEY_RIGHT, 40))
    report("zoom_ms", keys(view, W - cli.TimelineView.Y_AXIS_W - 1, "+", 5))
    alive = []
    for i in range(11):
        start = cpu()
        cli.SnapshotView(data, data.max_time * (2 * i + 1) // 22).render(SCREEN, H, W)
        alive.append(cpu() - start)
    report("alive_ms", statistics.median(alive))
    start = cpu()
    cli.MemoryProfileData(path)
    report("open_again_ms", cpu() - start)
    report("memory_again_mib", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
