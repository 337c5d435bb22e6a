"""What is known of a call of Claude when it is over, and the sort of failure that it shows.

One table has the signs of each sort: Claude Code's types decide; where a failure has none, its words do. `types` are
words of `api_error`, `api_error_type`, `terminal_reason` and of the `error` of an error message that mean one thing
only. They were taken from Claude Code 2.1.327, which lists them; older versions have some of them. `broad` are such
words that stand for several sorts of failures, so the words of the failure go first, as they do in versions that have
no types at all. Only error channels are ever searched: what the model says proves nothing.
"""

from __future__ import annotations

import re

import msgspec

from claude_iterate.core.events import Denial
from claude_iterate.core.events.enums import Kind
from claude_iterate.core.outcomes.call import Call
from claude_iterate.core.outcomes.denials import Granted

_LOOKED_THROUGH = 4000
_PATIENCE = 1.0
"""Seconds that a user's pattern may take; one that runs wild is taken not to match."""


class Signs(msgspec.Struct, frozen=True):
    """One row of the table: what stands for one sort of failure."""

    types: str = ""
    broad: str = ""
    statuses: frozenset[int] = frozenset()
    words: str = ""


SIGNS: dict[Kind, Signs] = {
    Kind.BILLING: Signs(
        types="billing_error account_on_hold verification_required long_context_credits_required",
        words=r"credit balance is too low|billing[_ ](error|issue|problem)|payment required|extra usage is required"
        r"|usage allocation has been disabled|usage limit is set to \$0|organization has been disabled",
    ),
    Kind.USAGE_LIMIT: Signs(
        types="usage_limit_reached",
        words=r"hit your .{0,40}limit|(?<!not your )usage limit|spend limit|\d-hour limit"
        r"|\b(weekly|daily|monthly|session|opus|sonnet|haiku) limit reached\b|out of extra usage"
        r"|usage limits\. you will regain access|group's usage limit",
    ),
    Kind.AUTH: Signs(
        types="""authentication_failed authentication_error oauth_org_not_allowed cloud_credential_error
        provider_credentials gateway_signin_required gateway_session_expired api_key_auth_disabled
        org_disabled_credential invalid_credential_header stored_login_refused""",
        statuses=frozenset({401, 403}),
        words="not logged in|please run /login|invalid api key|failed to authenticate"
        "|oauth (token|session).{0,20}expired",
    ),
    Kind.CONFIG: Signs(
        types="""model_not_found not_found_error claude_code_version_too_old effort_requires_thinking
        advisor_incompatible field_not_granted tls_untrusted_ca tls_cert_signature_failure gateway_content_type
        model_requires_usage_credits consent_unanswered no_allowed_fallback model_substitution_disabled""",
        statuses=frozenset({404}),
        words="issue with the selected model|unknown option|settings file not found|cannot be used with root"
        "|requires --verbose|prompt file not found|invalid session id|no conversation found"
        "|usage credits required|input must be provided|piped stdin input exceeds",
    ),
    Kind.REFUSED: Signs(
        types="""prompt_too_long image_error request_too_large message_over_context_limit pdf_too_large
        pdf_password_protected tool_history_mismatch autocompact_thrashing malformed_tool_use_exhausted
        dlp_request_denied safety_monitor_blocked""",
        broad="invalid_request invalid_request_error",
        statuses=frozenset({400, 413}),
        words="no conversation found|invalid session id|tool_use.{0,20}ids were found without|previous_message_id"
        "|(prompt|conversation|context|input).{0,20} too long|request too large|exceeds?.{0,30}context"
        "|violates? our usage policy|safeguards flagged",
    ),
    Kind.TRANSIENT: Signs(
        types="connection_failed no_response stream_idle_timeout computer_slept overloaded_error timeout_error",
        broad="rate_limit rate_limit_error overloaded server_error",
        statuses=frozenset({408, 409, 429, *range(500, 600)}),
        words="overloaded|connection closed mid-response|temporarily limiting|unable to connect"
        "|connection to the api was lost|timed out"
        "|server-side issue|econnreset|connection ?refused|empty or malformed response"
        r"|api error: (408|409|429|5\d\d)\b|request rejected \(429\)|\b50[0234] |connection error|fetch failed"
        "|socket hang up|etimedout|eai_again|enotfound|epipe|enetunreach|ehostunreach|econnrefused",
    ),
}
_TYPES = {word: kind for kind, signs in SIGNS.items() for word in signs.types.split()}
_BROAD = {word: kind for kind, signs in SIGNS.items() for word in signs.broad.split()}


class Evidence(msgspec.Struct, frozen=True):
    """What is known of a call when it is over. `wrote_status`: the agent wrote a valid report in it."""

    call: Call
    wrote_status: bool = False
    now: float = 0.0
    patterns: tuple[str, ...] = ()
    granted: Granted = Granted()

    @property
    def exit_code(self) -> int:
        """Of the process; 0 when Claude was not called."""
        return self.call.exit_code or 0

    @property
    def words(self) -> str:
        """Claude's own words about what went wrong, from its error channels only. Once it works, what comes on stderr
        may be a hook's or a server's word, and proves nothing."""
        return self._error or ("" if self.call.session else self.call.stderr.strip())

    @property
    def full_words(self) -> str:
        """All that a user may want to read about a failure."""
        return self._error or self.call.stderr.strip()

    @property
    def _error(self) -> str:
        if self.call.result is not None and self.call.result.malformed:
            return "Claude printed a malformed result: its `is_error` is neither true nor false"
        if self.call.result is not None and self.call.result.is_error:
            said = self.call.result.text or "; ".join(self.call.result.errors)
            if said:
                return said
        return self.call.error_said

    @property
    def signs(self) -> frozenset[str]:
        """Claude Code's own words for the sort of the failure."""
        return frozenset({*(self.call.result.signs if self.call.result is not None else ()), self.call.error_sort})

    @property
    def status(self) -> int | None:
        """The HTTP status Claude reported, if any."""
        return self.call.result.api_error_status if self.call.result else None

    @property
    def denials(self) -> tuple[Denial, ...]:
        """The tool calls that were not allowed, by the result."""
        return self.call.result.denials if self.call.result is not None else ()

    @property
    def has_failed(self) -> bool:
        """True when Claude itself says that it failed, or said nothing at all."""
        return self.call.result is None or self.call.result.is_error

    @property
    def typed_sorts(self) -> set[Kind]:
        """What Claude Code's types say for certain."""
        return {_TYPES[sign] for sign in self.signs if sign in _TYPES}

    def points_to(self, kind: Kind) -> bool:
        """True when a failure shows signs of this sort. Which of several it is, the order of the classes says."""
        if not self.has_failed:
            return False
        if typed := self.typed_sorts:
            return kind in typed
        signs = SIGNS[kind]
        if self.status in signs.statuses or any(_BROAD.get(sign) == kind for sign in self.signs):
            return True
        return self.mentions(signs.words)

    def mentions(self, pattern: str) -> bool:
        """True when the words of the failure match one of our patterns."""
        return re.search(pattern, self.words[:_LOOKED_THROUGH], re.IGNORECASE) is not None

    @property
    def is_throttled(self) -> bool:
        """Too many requests at once: a rate limit of the API, not the usage limit of an account."""
        named = self.status == 429 or not {"rate_limit", "rate_limit_error"}.isdisjoint(self.signs)
        return self.has_failed and (named or self.mentions(r"\(429\)|error: 429\b|temporarily limiting"))

    @property
    def matches_user_pattern(self) -> bool:
        """True when a failure's words match one of the patterns that the user added for usage limits."""
        return self.has_failed and any(_matches(pattern, self.words[:_LOOKED_THROUGH]) for pattern in self.patterns)


def _matches(pattern: str, words: str) -> bool:
    import regex  # the standard library cannot stop a search, which would block the run

    try:
        return regex.search(pattern, words, regex.IGNORECASE, timeout=_PATIENCE) is not None
    except TimeoutError:
        return False
