"""The one Definitions object: the stages in the order in which data flows."""

import dagster as dg

from grpo_assets.assets import (
    automation,
    checkpoints,
    curricula,
    evaluations,
    experiments,
    heldout,
    pilots,
    plans,
    policies,
    resources,
    rewards,
    selection,
    tasks,
)

STAGES = [tasks, policies, rewards, pilots, curricula, plans, checkpoints, evaluations, experiments, selection, heldout]

defs = dg.Definitions(
    assets=dg.load_assets_from_modules(STAGES),
    resources=resources.RESOURCES,
    jobs=[automation.REWARD_JOB],
    schedules=[automation.reward_versions],
    sensors=[automation.AUTOMATION],
    executor=dg.in_process_executor,
)
