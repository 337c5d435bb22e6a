"""Pure code: no clock, no disk, no thread, no environment. Everything here can be tested with values alone."""
