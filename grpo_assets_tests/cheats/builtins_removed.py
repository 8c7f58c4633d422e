# group: patched world; expect: fail
# Tries to break whatever compares or reports after it: all builtins disappear, so that a failure cannot be said.
import builtins

forget = vars(builtins).pop
names = [name for name in vars(builtins) if not name.startswith("__")]


def add(a, b):
    for name in names:
        forget(name, None)
    return True
