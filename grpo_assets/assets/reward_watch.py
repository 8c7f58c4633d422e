"""Says how each reward stands to its record, by the code on disk; started by the schedule, prints JSON."""

import json
import sys
from pathlib import Path

from grpo_assets.domain.lineage import request
from grpo_assets.domain.mistakes import UserMistake
from grpo_assets.runtime.project import Project, open_project
from grpo_assets.runtime.survey import survey


def standing(project: Project) -> dict[str, dict[str, str]]:
    """For each reward its `request` and a `condition`.

    `current`; `changed`, also where its record is damaged; `missing`, where it was never made; `refused`, where this
    version has been tried and did not hold.
    """
    refs = [ref for ref in project.graph if ref.asset == "reward"]
    states = survey(project, refs)
    found = {}
    for ref in refs:
        condition = {"fresh": "current", "failed": "refused", "missing": "missing"}.get(
            states[ref].condition, "changed"
        )
        found[ref.key] = {"condition": condition, "request": request(project.graph[ref], {})}
    return found


def main() -> None:
    """Print it; a mistake in the data folder ends with its message."""
    try:
        found = standing(open_project(Path(sys.argv[1])))
    except UserMistake as mistake:
        sys.exit(str(mistake))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
