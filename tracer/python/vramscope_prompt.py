"""tracer/python/vramscope_prompt.py - opens Python's debugger in a program that vramscope_stop.py has stopped at an
event.

The prompt stands in the innermost frame that is the program's own; in backward, whose threads have none, in the main
thread's. Steps of the debugger go on from there, `c` lets the program run to its end, `q` ends it at once, and ^C while
it runs comes back to the prompt.
"""
import _thread
import os
import pdb
import signal
import sys
import threading

try:
    import readline
    import termios
except ImportError:  # without them a line is read as the terminal gives it
    readline = None

APART = ["torch", "torch.*", "vramscope_*"]  # modules in whose code no step ends


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


class Debugger(pdb.Pdb):
    """While a line is typed on a thread of backward ^C is a key that drops it: there the main thread, which alone
    handles signals, waits in C++."""

    def __init__(self):
        super().__init__(skip=APART)
        self.settings = None  # of the terminal, while they are changed
        self.is_key = readline is not None and os.isatty(0) and \
            threading.current_thread() is not threading.main_thread()
        if self.is_key:
            is_libedit = "libedit" in (readline.__doc__ or "")
            readline.parse_and_bind("bind ^C em-kill-line" if is_libedit else r'"\C-c": kill-whole-line')

    def set_quit(self):
        leave()

    def key_begin(self):
        if self.is_key and self.settings is None:
            self.settings = termios.tcgetattr(0)
            changed = termios.tcgetattr(0)
            changed[6][termios.VINTR] = b"\0"
            termios.tcsetattr(0, termios.TCSADRAIN, changed)

    def key_end(self):
        if self.settings is not None:
            termios.tcsetattr(0, termios.TCSADRAIN, self.settings)
            self.settings = None

    def preloop(self):
        super().preloop()
        self.key_begin()

    def precmd(self, line):
        self.key_end()
        return super().precmd(line)

    def postcmd(self, stop, line):
        stop = super().postcmd(stop, line)
        if not stop:
            self.key_begin()
        return stop


class Prompt:
    """Made on the main thread before the program comes to the event: no other thread may handle signals."""

    def __init__(self, history):
        self.folder = history.folder + os.sep
        self.debugger = None
        self.is_awaited = False  # a step ends on the main thread, once that runs Python again
        self.before = signal.getsignal(signal.SIGINT)  # Python's, or that of sitecustomize.py
        if threading.current_thread() is threading.main_thread() and \
                getattr(self.before, "__name__", "") in ("default_int_handler", "on_early_interrupt"):
            signal.signal(signal.SIGINT, self.on_interrupt)

    def stop(self, history):
        frame = own_frame(sys._getframe(1), self.folder)
        is_here = frame is not None and is_own(frame)
        if not is_here:
            frame = own_frame(sys._current_frames()[threading.main_thread().ident], self.folder)
        history.is_kept = False
        self.debugger = Debugger()
        self.debugger.reset()
        outermost = frame
        while outermost.f_back is not None:
            outermost = outermost.f_back
        self.debugger.botframe = outermost
        self.debugger.interaction(frame, None)
        if self.is_stepping() and is_here:
            self.trace(frame)
        if self.is_stepping() and threading.current_thread() is not threading.main_thread():
            self.await_main()

    def is_stepping(self):
        return self.debugger.stoplineno != -1 or self.debugger.breaks

    def trace(self, frame):
        while frame is not None:
            frame.f_trace = self.debugger.trace_dispatch
            frame = frame.f_back
        sys.settrace(self.debugger.trace_dispatch)

    def await_main(self):
        """A backward runs on this thread, and the main thread waits for it: the step ends in Python that this thread
        runs, or on the main thread, which can be reached by a signal alone."""
        if signal.getsignal(signal.SIGINT) != self.on_interrupt:
            self.debugger.message("a backward runs on another thread, and the program handles ^C itself, so no step "
                                  "can end: the program goes on")
            return
        sys.settrace(self.debugger.trace_dispatch)
        self.is_awaited = True
        _thread.interrupt_main()

    def on_interrupt(self, signum, frame):
        if self.debugger is None:
            return self.before(signum, frame)
        if self.debugger.allow_kbdint:  # it waits for a command, or runs one, and says so itself
            raise KeyboardInterrupt
        frame = own_frame(frame, self.folder)
        if not self.is_awaited:
            self.debugger.message("\nInterrupted; `c` goes on.")
            self.debugger.interaction(frame, None)
        self.is_awaited = False
        if self.is_stepping():
            self.trace(frame)
