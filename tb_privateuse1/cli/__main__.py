"""``python -m tb_privateuse1.cli``."""

import sys

from tb_privateuse1.cli import main

sys.exit(main())
