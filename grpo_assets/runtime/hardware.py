"""What kind of machine this is: times that were measured on another kind say nothing here."""

import os
import platform
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def kind_of_hardware() -> str:
    """The name of the GPU that is visible first, else that of the CPU with the number of cores at hand."""
    tool = shutil.which("nvidia-smi")
    if tool and os.environ.get("CUDA_VISIBLE_DEVICES") != "":
        said = subprocess.run([tool, "--query-gpu=name", "--format=csv,noheader"], capture_output=True, check=False)
        names = said.stdout.decode(errors="replace").strip().splitlines()
        if said.returncode == 0 and names:
            return names[0].strip()
    return f"CPU {_processor()}, {len(os.sched_getaffinity(0))} cores"


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    lines = information.read_text(errors="replace").splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
