"""Which names speak of secrets: of variables, headers, settings. One pattern for all who ask."""

from __future__ import annotations

import re

# Authorization is one; GIT_AUTHOR_NAME, XAUTHORITY and a KEYBOARD are none.
_SECRET_NAME = re.compile(r"KEY(?!BOARD)|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH(?!OR(?!I[SZ]))", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """True for names such as GITHUB_TOKEN."""
    return _SECRET_NAME.search(name) is not None
