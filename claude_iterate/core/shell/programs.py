"""What is known of programs, as far as it matters for rules: which only read, which start others, which do anything.

What Claude Code allows by itself, what it looks through and how it compares was measured with 2.1.197 and 2.1.327. A
name of two words is a program with its sub-command.
"""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    """The names between blanks; with a comma in the text, those between commas."""
    return frozenset(" ".join(word.split()) for word in words.split("," if "," in words else None))


HARMLESS = _set(
    """cd ls cat head tail wc grep egrep fgrep rg sort cut echo printf pwd which date find tree stat file diff true
    false test [ : basename dirname realpath readlink sleep seq tr jq type id uname hostname ps df du md5sum sha1sum
    sha256sum nl tac strings comm paste column rev fold expr"""
) | _set("git status, git log, git diff, git show, git branch")
"""Programs that need no rule: Claude Code knows that they only read."""
EDITS = _set("touch mkdir rmdir cp mv rm")
"""Programs that the mode acceptEdits allows within the project. `ln`, `tee` and `sed -i` want a rule all the same."""
LOOKED_THROUGH = {"timeout": 1, "nice": 0, "nohup": 0, "time": 0, "stdbuf": 0}
"""Wrappers that Claude Code ignores, and how many words of their own follow their options."""
PREFIXES = _set("env xargs npx bunx pipx uvx command") | _set(
    """uv run, poetry run, pipenv run, hatch run, pdm run, rye run, bundle exec, pnpm exec, npm exec, yarn exec, pnpm
    dlx, yarn dlx, docker compose"""
)
"""Words that another command follows."""
VALUED_OPTIONS = _set("-n -k -s -i -o -e -I -L -P -u --signal --kill-after")
"""Options of wrappers whose value is the next word."""
INTERPRETERS = _set("sh bash zsh dash ksh fish python pypy node nodejs deno bun ruby perl php lua Rscript osascript")
TASK_RUNNERS = _set("bun deno")
"""Interpreters with sub-commands."""
MODEST_OPTIONS = _set("-u -B -I -s -O -x -ex -eu -w -W")
"""Options of interpreters that bring no code."""
RUN_ANYTHING = _set(
    "sudo su doas pkexec eval exec source . ssh chroot nsenter awk gawk mawk parallel watch at batch setsid"
)
"""Programs that run whatever they are told: no rule for them is narrow."""
EXACT = _set(
    """rm rmdir shred dd mkfs fdisk chmod chown chgrp kill killall pkill reboot shutdown halt poweroff curl wget nc scp
    sftp rsync crontab systemctl service launchctl mount umount iptables aws gcloud az gh export unset psql mysql
    mongosh redis-cli sqlite3"""
) | _set(
    """git push, git reset, git clean, git checkout, git restore, git rebase, git config, git filter-branch, npm
    publish, pnpm publish, yarn publish, npm token, npm config, cargo publish, docker run, docker exec, docker rm,
    docker system, podman run, kubectl delete, kubectl apply, kubectl exec, terraform apply, terraform destroy, helm
    install, helm delete"""
)
"""What can destroy, send or buy something: offered only for exactly this command."""
ALONE = _set(
    """pytest py.test mypy pyright tox nox eslint tsc prettier jest vitest mocha flake8 pylint black isort coverage
    rspec phpunit shellcheck uniq less more xxd od bc tee sed ln touch mkdir cp mv tar gzip gunzip zip unzip set
    exit read printenv ctest gcc g++ clang cc rustc javac java ninja"""
)
"""Programs without sub-commands: their first argument is a file or a value."""
TASKS = _set("run run-script tool compose remote stash")
"""Sub-commands that say little without the word after them."""
WITH_LEADING_OPTIONS = _set("git npm make docker cargo go")
LEADING_OPTIONS = _set("-C --prefix --manifest-path -f --git-dir")
"""Options with a value that may stand before a sub-command: `git -C folder commit`."""
IGNORED_VARIABLES = _set(
    """NODE_ENV PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE RUST_LOG GOOS GOARCH CGO_ENABLED GO111MODULE
    LANG LANGUAGE LC_ALL LC_CTYPE TERM COLORTERM NO_COLOR FORCE_COLOR TZ"""
)
"""Variables that Claude Code looks through when they are set before a program."""
