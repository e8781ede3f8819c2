"""``python -m ackclock``: the command line."""

import sys

from .present.cli import main

sys.exit(main())
