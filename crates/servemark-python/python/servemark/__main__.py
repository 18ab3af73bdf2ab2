"""The program ``servemark``: ``python -m servemark``, and the script of that name."""

import signal
import sys

from . import _servemark


def main() -> int:
    """Runs the program with the arguments of this process and returns its exit code."""
    # The program handles Ctrl-C itself, and ends at once where it does not.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _servemark.main([sys.executable, "-m", "servemark"], sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
