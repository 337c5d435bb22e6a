"""Which names speak of secrets: of variables, headers, settings. One pattern for all who ask."""

from __future__ import annotations

import re

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """True for names such as GITHUB_TOKEN."""
    return _SECRET_NAME.search(name) is not None
