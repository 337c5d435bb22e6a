"""Words in the evidence for a requirement that is said to be met, which plainly say otherwise. In doubt it was not
checked: that costs one more look, and the other mistake would be a false "done"."""

from __future__ import annotations

import re

_DONE = (
    r"(?:implemented|met|done|complete|completed|finished|fulfilled|satisfied|written|created|added|found|present|there"
    r"|working|verified|checked|tested|run|covered|handled|supported|possible)"
)
_LACKS = r"(?:missing|absent|broken|incomplete|unfinished|fails?|failed|failing|failure|red|empty|undone)"
_IS_NOT = r"(?:is|are|was|were|has|have|had|does|do|did|could|ca|would)n't"
_AGAINST = re.compile(
    rf"\b(?:not|never|{_IS_NOT}|cannot be|could not be|couldn't be)[ ]"
    rf"(?:yet[ ]|fully[ ]|actually[ ]|been[ ]|be[ ]|all[ ]){{0,2}}{_DONE}\b"
    r"|\b(?:unimplemented|unmet|untested|unverified|unchecked|partially|partly|mostly|half[ -]done)\b"
    r"|\b(?:is|still|only|just) (?:a )?(?:stub(?:bed)?|placeholder)\b"
    r"|\b(?:does|do|did)(?: not|n't) (?:exist|work|pass|compile|build|run|hold|match)\b"
    r"|\bno such (?:file|test|function)\b|\bnone of\b|\bnothing (?:is |was )?there\b|\blacks\b"
    r"|\bthere (?:is|are|was|were) no\b(?! (?:\w+ ){0,3}(?:left|remaining|more|longer)\b)"
    r"|\b(?:could not|couldn't|cannot|can't|unable to|did not|didn't|have not|haven't) "
    r"(?:check|verify|confirm|run|test|find|see|look|tell|access|execute|checked|verified|run|looked)\b"
    rf"|(?<![\w:./])[1-9]\d*(?: \w+){{0,2}} (?:fails?|failed|failing|failures?|errors?|missing)\b"
    rf"|(?:^|[.;:,(] ?){_LACKS}\b(?!\.\w|-\w"
    r"| (?:with|when|if|on|for|as|files?|values?|input|tests?|names?)\b| \w+ (?:are|is|was|were|gets?)\b)"
    rf"|\b{_LACKS}(?=[ ]*(?:$|[.;:,)(]))"
    r"|\b(?:still )?to be (?:written|done|implemented|added|created|checked|tested)\b"
    r"|\bwill be (?:written|created|implemented|added|done|fixed)\b|\bstill (?:needs?|has to|have to|missing|open)\b"
    r"|\btests? (?:is|are|was|were) (?:marked )?(?:skipped|xfail(?:ed)?|disabled|ignored)\b"
    r"|\b(?:TODO|FIXME)s? (?:still )?(?:remains?|left|open|there)\b|\b(?:build|it|which) (?:breaks|crashes)\b"
    r"|(?:^|[.;:,] ?)crash(?:es|ed)\b|\bhard-?coded (?:values?|results?|answers?|outputs?)\b|\bwould (?:pass|work)\b"
    r"|\b(?:is|are|was|were) (?:still )?(?:missing|absent)\b|\bno \S+ (?:anywhere|at all|yet)\b"
    r"|\bexpected \S+,? (?:but )?got\b|\bdiffers? from (?:the )?expected\b"
    r"|(?:^|[.;:,(] ?|[-–—] )(?:I did not|I have not|I trust|assuming|except|everything but|done except|all except"
    r"|half of|most of|according to (?:the|its?|todo)|per the (?:report|claim|status)|the (?:claim|report|agent) says"
    r"|not quite|needs work|out of scope|seems to|should be (?:fine|ok|there|done)|probably|presumably|wrong)\b"
    r"|(?:^|[-–—:] ?)skipped(?=[ ]*(?:$|[.;:,)]))"
    r"|^\W*(?:no|nope|false|skipped|not run|see above|same as \d+|later|timed out)\W*$"
    r"|[✗✘❌✖☒]",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:except for|if|when|whenever|where|unless|in case|once|for|that|which|with|after|before|until|instead of"
    r"|rather than)\b"
    r"[^.;:]*"
    r"|\b(?:no|none|nothing|zero|0|without|neither|never)\b(?: [\w`'/-]+){0,5}?"
    rf" (?:{_LACKS}|errors?|failures?|stubs?|TODOs?|FIXMEs?|warnings?|issues?|problems?|findings?|leftovers?)\b"
    rf"|\b(?:{_LACKS}|failures|errors)[ ]*[:=][ ]*0\b|\bnot (?:missing|absent|broken|empty|incomplete|failing|red)\b"
    r"|[^.;:]*\b(?:any ?more|any longer|no longer|as (?:asked|required|expected|wanted|intended|requested))\b"
    r"|`[^`]*`|\"[^\"]*\"",
    re.IGNORECASE,
)
"""Conditions, denials and quotations: a test for what happens when a file is missing speaks for the work."""
_TROUBLE = re.compile(
    r"\b(?-i:FAILED)\b|\bTraceback\b|\bAssertionError\b|\b(?:compile|compiler|build|syntax) error\b"
    r"|\bsegfault|\bsegmentation fault|\btimed out\b"
    r"|\bpermission denied\b|\bcommand not found\b|\bcannot access\b|\bno such file\b|\bno evidence\b"
    r"|\bexit(?:s|ed)?\b[^.;]{0,12}\b(?:code|status) [1-9]\d{0,2}\b(?! (?:on|for|when|if|as|by)\b)",
    re.IGNORECASE,
)
"""What programs print when they fail."""
_TOLD = re.compile(
    r"\b(?:raises?|prints?|reports?|shows?|returns?|says|gives|answers?|rejects?|catches|handles?|asserts?|covers?|that"
    r"|if|when|on|for|instead of|expects?|no|without)\b[^.;]*$",
    re.IGNORECASE,
)
"""Before such words: the work is to do so."""
_FILE = re.compile(r"[\w/-]*[A-Za-z_]\.[A-Za-z]\w{0,5}\b(?![\w.])")
"""A file may be called `missing.txt`."""
_OF = re.compile(r"(?<![\w/:.])(\d{1,6})(?: (?:out )?of |/)(\d{1,6})\b(?= [a-z]|[ .;,)]*$)", re.IGNORECASE)
_OF_BAD = re.compile(r"(?: \w+){0,2} (?:fail\w*|errors?|missing|broken|skipped|left|remain\w*|open)\b", re.IGNORECASE)
"""Few of these is good; how many, other words decide."""
_REMOVED = re.compile(r"\b(?:removed?|deleted?|gone|dropped)\b", re.IGNORECASE)
_NOT_THERE = re.compile(
    r"\b(?:is|are|was|were) (?:not there|absent|missing)\b|\b(?:does|do)(?: not|n't) exist\b"
    r"|\bno such file(?: or directory)?|\bnot (?:found|present)\b|\bthere is no\b",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"^\W*(?:not (?:done|complete|verified|finished|met|proven)|incomplete|unfinished)\b"
    r"|\bthe (?:claim|task|work)(?: of completion)? (?:is|was|does|did)"
    r"(?: not (?:done|completed?|hold|verified|finished|proven|true)| false| incomplete| unproven| unfinished)\b",
    re.IGNORECASE,
)
_MINOR = re.compile(
    r"\b(?:optional\w*|nits?|nitpick|minor|cosmetic|style|could|might|would|suggest\w*|nice|not (?:asked|required|part)"
    r"|beyond|out of scope|outside|unrelated|not a requirement)\b",
    re.IGNORECASE,
)


def speaks_against(evidence: str) -> bool:
    """True for `not implemented yet`, `2 of 9 tests fail`, `a.txt is missing`, `could not run it`, `Traceback`."""
    words = " ".join(evidence.replace("’", "'").split())
    if _REMOVED.search(words):
        words = _NOT_THERE.sub(" ", words)
    if _AGAINST.search(" ".join(_ASIDE.sub(" ", _FILE.sub("it", words)).split())) is not None:
        return True
    if any(int(found[1]) < int(found[2]) and not _OF_BAD.match(words[found.end() :]) for found in _OF.finditer(words)):
        return True
    return any(_TOLD.search(words[: found.start()]) is None for found in _TROUBLE.finditer(words))


def denies(summary: str) -> bool:
    """True for a summary such as `Not done: b.txt is missing` or `The claim is false`."""
    return _DENIES.search(summary) is not None


def is_finding(remark: str) -> bool:
    """True for a remark that plainly names something missing, and does not call it minor."""
    return speaks_against(remark) and _MINOR.search(remark) is None
