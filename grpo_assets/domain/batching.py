"""How the rollouts of a step are cut into batches, so that a step is the same for every group size."""

from typing import NamedTuple


class Batches(NamedTuple):
    """Completions a device takes at once, such batches per optimizer step, completions generated at once."""

    per_device: int
    accumulation: int
    generation: int


def solve(group_size: int, rollouts_per_step: int, largest: int | None = None, devices: int = 1) -> Batches:
    """The batches of a step: one generation of all its rollouts, then one optimizer step over all of them.

    With steps_per_generation equal to the accumulation TRL generates once a step and keeps the order of the data
    step by step; the completions of an optimizer step are `rollouts_per_step` whatever the group size.

    Args:
        largest: the most completions that fit a device in a backward pass; None where all do.
        devices: how many devices share a step.

    Raises:
        ValueError: when no such batches exist, with what would have to change.
    """
    if rollouts_per_step % group_size:
        divisors = [n for n in range(2, rollouts_per_step + 1) if rollouts_per_step % n == 0]
        raise ValueError(
            f"{rollouts_per_step} rollouts a step are no whole number of groups of {group_size}: "
            f"the group size can be one of {', '.join(map(str, divisors))}"
        )
    if rollouts_per_step % devices:
        raise ValueError(f"{rollouts_per_step} rollouts a step cannot be shared evenly by {devices} devices")
    share = rollouts_per_step // devices
    per_device = max(n for n in range(1, min(largest or share, share) + 1) if share % n == 0)
    return Batches(per_device, share // per_device, rollouts_per_step)
