"""Parts of the copy drafter that can be switched off, to measure what each is worth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """plan: draft from the predicted text; without it only from the original, the edit and the output so far.

    structure: guess where an edit ends from lines and syntax, not only from n-gram evidence.
    adaptive_k: weigh the chance of every draft token against its cost; without it k is always the largest allowed.
    rewrites: foresee that what was rewritten once is rewritten again.
    kept_cursor: remember the place while the target follows a source; without it the place is searched in every pass.
    """

    plan: bool = True
    structure: bool = True
    adaptive_k: bool = True
    kept_cursor: bool = True
    rewrites: bool = True
