"""tracer/python/vramscope_prompt.py - opens Python's debugger in a program that vramscope_stop.py has stopped at an
event.

The prompt stands in the innermost frame that is the program's own; in backward, whose threads have none, in the main
thread's. Steps of the debugger go on from there, `c` lets the program run to its end, `q` ends it at once.
"""
import os
import pdb
import sys
import threading


def own_frame(frame, folder):
    """The innermost frame that is neither of vramscope nor of an installed package; else the outermost one."""
    apart = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep, "<frozen", folder)
    last = None
    while frame is not None:
        name = frame.f_code.co_filename
        if not any(part in name for part in apart) and not name.startswith(os.path.dirname(os.__file__) + os.sep):
            return frame
        last, frame = frame, frame.f_back
    return last


def is_own(frame):
    name = frame.f_code.co_filename
    return "site-packages" not in name and "dist-packages" not in name


def leave():
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def stop(history):
    folder = history.folder + os.sep
    frame = own_frame(sys._getframe(1), folder)
    is_here = frame is not None and is_own(frame)
    if not is_here:
        frame = own_frame(sys._current_frames()[threading.main_thread().ident], folder)
    history.pid = None  # nothing of this run is kept
    debugger = pdb.Pdb()
    debugger.reset()
    outermost = frame
    while outermost.f_back is not None:
        outermost = outermost.f_back
    debugger.botframe = outermost
    debugger.interaction(frame, None)
    if debugger.quitting:
        leave()
    is_stepping = debugger.stoplineno != -1 or debugger.breaks
    if is_stepping and not is_here:
        debugger.message("a backward runs on another thread, where there are no lines to step through: the program "
                         "goes on")
    elif is_stepping:
        while frame is not None:
            frame.f_trace = debugger.trace_dispatch
            frame = frame.f_back
        sys.settrace(debugger.trace_dispatch)
