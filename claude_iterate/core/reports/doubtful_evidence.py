"""Words in the evidence for a requirement that is said to be met, which plainly say otherwise. In doubt it was not
checked: that costs one more look, and the other mistake would be a false "done"."""

from __future__ import annotations

import re

from claude_iterate.core.expressions import expression

_DONE = (
    r"(?:implemented|met|done|complete|completed|finished|fulfilled|satisfied|written|created|added|found|present|there"
    r"|working|verified|checked|tested|run|covered|handled|supported|possible)"
)
_LACKS = r"(?:missing|absent|broken|incomplete|unfinished|fails?|failed|failing|failure|red|empty|undone)"
_AGAINST = expression(
    r"\b(?:not|never|n't|cannot be|could not be|couldn't be)[ ]"
    rf"(?:yet[ ]|fully[ ]|actually[ ]|been[ ]|be[ ]|all[ ]){{0,2}}{_DONE}\b"
    r"|\b(?:unimplemented|unmet|untested|unverified|unchecked|partially|partly|half[ -]done)\b"
    r"|\b(?:is|still|only|just) (?:a )?stub(?:bed)?\b"
    r"|\b(?:does|do|did)(?: not|n't) (?:exist|work|pass|compile|build|run|hold|match)\b"
    r"|\bno such (?:file|test|function)\b"
    r"|\b(?:could not|couldn't|cannot|can't|unable to|did not|didn't) (?:check|verify|confirm|run|test|find|see|look)\b"
    rf"|\b[1-9]\d*(?: \w+){{0,2}} (?:fails?|failed|failing|failures?|errors?|missing)\b"
    rf"|(?:^|[.;:,(] ?){_LACKS}\b(?! (?:with|when|if|on|for|as|files?|values?|input|tests?|names?)\b)"
    rf"|\b{_LACKS}(?=[ ]*(?:$|[.;:,)]))",
    re.IGNORECASE,
)
_ASIDE = expression(
    r"\b(?:if|when|whenever|where|unless|in case|once|for|that|which|with|after|before|until|instead of|rather than)\b"
    r"[^.;:]*"
    r"|\b(?:no|none|nothing|zero|0|without|neither|never)\b(?: [\w`'/-]+){0,5}?"
    rf" (?:{_LACKS}|errors?|failures?|stubs?)\b"
    rf"|\b(?:{_LACKS}|failures|errors)[ ]*[:=][ ]*0\b|\bnot (?:missing|absent|broken|empty|incomplete|failing|red)\b"
    r"|`[^`]*`|\"[^\"]*\"",
    re.IGNORECASE,
)
"""Conditions, denials and quotations: a test for what happens when a file is missing speaks for the work."""


def speaks_against(evidence: str) -> bool:
    """True for `not implemented yet`, `2 of 9 tests fail`, `a.txt is missing`, `could not run it`."""
    return _AGAINST.search(" ".join(_ASIDE.sub(" ", evidence).split())) is not None
