"""What holds for all tests: no verdict depends on a clock, so that a busy machine changes none."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Both measure time: how long an example takes, and how long it takes to make one.
settings.register_profile("ringview", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ringview")
