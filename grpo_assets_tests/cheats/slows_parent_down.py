# group: host; expect: fail
# Tries to slow down its parent, and so all later programs: priority, processors, scheduling class, limits.
import os
import resource

parent = os.getppid()


def priority():
    os.setpriority(os.PRIO_PROCESS, parent, os.getpriority(os.PRIO_PROCESS, parent) + 1)


def processors():
    allowed = os.sched_getaffinity(parent)
    if len(allowed) > 1:
        os.sched_setaffinity(parent, allowed - {max(allowed)})


def scheduling_class():
    os.sched_setscheduler(parent, os.SCHED_BATCH, os.sched_param(0))


def limits():
    soft, hard = resource.prlimit(parent, resource.RLIMIT_CORE)
    resource.prlimit(parent, resource.RLIMIT_CORE, (0, hard))


for way in (priority, processors, scheduling_class, limits):
    try:
        way()
    except (OSError, ValueError):
        pass


def add(a, b):
    return None
