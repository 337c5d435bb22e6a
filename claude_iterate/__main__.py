"""`python -m claude_iterate` is `claude-iterate`."""

import sys

from claude_iterate.cli import main

sys.exit(main())
