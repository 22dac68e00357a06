"""What the programs for processors say of innermost loops."""

from __future__ import annotations

import pytest

from tests.support.plan_text import plan_of
