"""What a model folder holds: facts from its files, and its card. Pure but for reading them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import safe_open

from service.weights import verify

CARD = "README.md"


class ModelFolderError(RuntimeError):
    """Not a model folder. The message says what is missing."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """sha256: of the files that the folder's SHA256SUMS names, verified. card: the text of README.md, or None.

    parameters, weight_bytes: over all *.safetensors; tied weights count once.
    """

    path: Path
    architecture: str
    context: int | None
    vocabulary: int | None
    parameters: int
    weight_bytes: int
    dtypes: tuple[str, ...]
    sha256: dict[str, str]
    card: str | None


def read(folder: Path) -> ModelInfo:
    """Raises ModelFolderError, and service.weights.WeightsError for a file that is not what the list says."""
    config = _config(folder)
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise ModelFolderError(
            f"{folder} holds no *.safetensors: name the folder of a model in the Hugging Face format"
        )
    sha256 = verify(folder)
    parameters = 0
    dtypes: set[str] = set()
    for file in files:
        with safe_open(file, framework="numpy") as tensors:
            for name in tensors.keys():  # noqa: SIM118 - not a mapping
                tensor = tensors.get_slice(name)
                size = 1
                for length in tensor.get_shape():
                    size *= length
                parameters += size
                dtypes.add(tensor.get_dtype())
    card = folder / CARD
    return ModelInfo(
        path=folder,
        architecture=", ".join(config.get("architectures") or [str(config.get("model_type", "unknown"))]),
        context=config.get("max_position_embeddings"),
        vocabulary=config.get("vocab_size"),
        parameters=parameters,
        weight_bytes=sum(file.stat().st_size for file in files),
        dtypes=tuple(sorted(dtypes)),
        sha256=sha256,
        card=card.read_text(encoding="utf-8") if card.is_file() else None,
    )


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelFolderError(f"{folder} holds no config.json: name the folder of a model") from error
    except (OSError, ValueError) as error:
        raise ModelFolderError(f"cannot read {path}: {error}") from error
    if not isinstance(config, dict):
        raise ModelFolderError(f"{path} is not the configuration of a model")
    return config
