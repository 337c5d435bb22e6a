"""The settings that a run was started with, as its journal has them: what differs from the defaults, secrets masked."""

from __future__ import annotations

from claude_iterate.core.events import RunStarted
from claude_iterate.core.settings.catalogue import canonical
from claude_iterate.core.settings.declared import Settings
from claude_iterate.core.settings.layers import layer_from_document, resolve
from claude_iterate.errors import SettingsProblem

_WITHOUT_SECRETS = ("output", "colors", "attended", "exit_codes", "stop.")
"""Settings that readers of a run depend on; their values hold no secrets, so the journal has them as they were."""


def recorded_settings(started: RunStarted) -> Settings:
    """What the run's settings say about its console and its breaker. A value that this version does not know counts as
    not set."""
    layers = []
    for key, value in started.settings.items():
        if key.startswith(_WITHOUT_SECRETS) and canonical(key) is not None:
            try:
                layers.append(layer_from_document("journal", "journal", {key: value}))
            except SettingsProblem:
                continue
    return resolve(layers).settings
