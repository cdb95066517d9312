"""The one scenario format: text to a world, steps and expectations, and the comparison.

A scenario is a YAML file that runs as a test, with `gsched whatif FILE`, as the demo, and in the
docs. It is turned into the objects that a federation would hold and decided by `core.run_cycle`
like everything else. Callers read the file: nothing in here opens one, reads a clock or
logs.

Read `format.Scenario` and `world.World` for the file's fields, then `run.run`.
"""

from global_sched.scenario.format import Scenario, ScenarioError, parse, parse_all
from global_sched.scenario.run import Report, run

__all__ = ["Report", "Scenario", "ScenarioError", "parse", "parse_all", "run"]
