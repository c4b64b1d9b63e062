"""The replay's JSON file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evals.corpus.records import EditRecord
from evals.environment import describe
from evals.replay.costs import COSTS
from evals.replay.report import NOTE, SCHEMA, Row, best_peers, samples
from evals.replay.run import Replayed
from evals.replay.tokenizers import NamedTokenizer
from service.config import EMBEDDED_MODEL_PATH


def describe_replay(
    replayed: Replayed, made: Sequence[Row], corpus: dict[str, Any], tokenizer: NamedTokenizer, *, seed: int
) -> dict[str, Any]:
    """Everything but the timings is the same in every run."""
    environment = describe(EMBEDDED_MODEL_PATH)
    del environment["model"]  # none runs
    return {
        "schema": SCHEMA,
        "kind": "replay",
        "note": NOTE,
        "complete": replayed.complete,
        "corpus": corpus,
        "tokenizer": {"name": tokenizer.name, "sha256": tokenizer.sha256},
        "seed": seed,
        "costs": list(COSTS),
        "rows": [row.to_json() for row in made],
        "best_peers": best_peers(made),
        "forms": {
            form: {
                "edits": len(edits.ids),
                "tokens": sum(edits.tokens),
                "predicted_exactly": edits.exact,
                "not_expressible": edits.not_expressible,
            }
            for form, edits in replayed.edits.items()
        },
        "environment": environment,
        "samples": samples(replayed),
    }


def describe_corpus(path: Path | None, records: Sequence[EditRecord]) -> dict[str, Any]:
    """file_sha256: of the whole file; records_sha256: of the ids and texts that were replayed."""
    digest = hashlib.sha256()
    for record in records:
        digest.update(f"{record.id}\0{record.before}\0{record.after}\0".encode())
    return {
        "file": "examples" if path is None else path.name,
        "file_sha256": None if path is None else hashlib.sha256(path.read_bytes()).hexdigest(),
        "records": len(records),
        "records_sha256": digest.hexdigest(),
    }
