"""What all assets share: the way one is made, its page in the UI, and where its step may run."""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import dagster as dg

from grpo_assets.assets.automation import condition_of
from grpo_assets.assets.partitions import PROJECT, inputs_of, partitions_of
from grpo_assets.domain.health import verifier_health
from grpo_assets.domain.lineage import Ref
from grpo_assets.domain.mistakes import FailedWork, UserMistake
from grpo_assets.runtime.artifacts import Check, Draft, FailedCheck, Inputs, Made, make
from grpo_assets.runtime.project import Project
from grpo_assets.runtime.rollouts import verified_again, verified_anew
from grpo_assets.runtime.store import read_table

# partitioned checks work and are still called a preview; plain ones would let one bad partition block all others
warnings.filterwarnings("ignore", category=dg.PreviewWarning)

GPU_POOL = "gpu"
GPU_OP_TAGS: dict[str, Any] = {
    "gpu": "true",
    "dagster-celery/queue": "gpu",
    "dagster-ray/config": {"num_gpus": 1},
    "dagster-k8s/config": {"container_config": {"resources": {"limits": {"nvidia.com/gpu": "1"}}}},
}
"""Each executor reads its own tag; a step has a GPU to itself under any of them."""

HEALTH_CHECK = {
    "verifier_health": "verdicts hold when repeated, few are missing or late, few completions pass only shown tests"
}


def verified(said: Sequence[dict], tasks: Sequence[dict], draft: Draft) -> tuple[list[dict], dict[str, Any]]:
    """Rollouts with their verdicts repeated where it matters, and their health, which goes into the draft's check."""
    rows, repeats = verified_again(said, tasks)
    health = verifier_health(rows, repeats)
    draft.checks["verifier_health"] = Check(not health["troubles"], health)
    return rows, health


def verdicts_anew(
    context: dg.AssetExecutionContext, tasks: Sequence[dict], draft: Draft, file: str
) -> list[dict] | None:
    """The stored completions with new verdicts, where the verifier alone has changed; None where one must sample."""
    before = draft.same_but_for("verifier")
    if before is None:
        return None
    context.log.info("the completions are kept; their verdicts are new")
    return verified_anew(read_table(before / file), tasks)


REOPEN = "grpo_assets/reopen"
"""Tag of a run: the reason why it may select or open again after an opening of held-out tasks."""


def now() -> str:
    """The time, in UTC, as the ledger states it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


RESOURCES: dict[str, object] = {"project": PROJECT}

Body = Callable[[dg.AssetExecutionContext, Project, Inputs, Draft], None]


def artifact(
    *,
    group: str,
    kinds: set[str],
    reads: Sequence[str] = (),
    gpu: bool = False,
    checks: Mapping[str, str] = MappingProxyType({}),
    blocking: Collection[str] = (),
) -> Callable[[Body], dg.AssetsDefinition]:
    """Turn a body into a partitioned asset: body(context, project, inputs, draft) writes the draft.

    The asset has the body's name and docstring, and its version in Dagster is the fingerprint of what was made.

    Args:
        reads: the upstream assets; a body can open no others.
        gpu: the step takes a slot of the GPU pool and carries the tags by which executors find it a GPU.
        checks: what the body looks at, with what each check is for.
        blocking: those of them without which the artifact is not made.
    """

    def asset_of(body: Body) -> dg.AssetsDefinition:
        name = body.__name__

        @dg.asset(
            name=name,
            description=body.__doc__,
            group_name=group,
            kinds=kinds,
            automation_condition=condition_of(name),
            partitions_def=partitions_of(name),
            deps=inputs_of(name, *reads),
            pool=GPU_POOL if gpu else None,
            op_tags=GPU_OP_TAGS if gpu else None,
            check_specs=[
                dg.AssetCheckSpec(
                    check,
                    asset=name,
                    description=purpose,
                    blocking=check in blocking,
                    partitions_def=partitions_of(name),
                )
                for check, purpose in checks.items()
            ],
        )
        def asset(
            context: dg.AssetExecutionContext, project: dg.ResourceParam[Project]
        ) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
            ref = Ref(name, context.partition_key)
            try:
                made = make(project, ref, lambda inputs, draft: body(context, project, inputs, draft))
            except (FailedWork, UserMistake) as failure:
                if isinstance(cause := failure.__cause__, FailedCheck):
                    yield _check_result(name, cause.name, Check(False, cause.facts), blocks=True)
                raise dg.Failure(str(failure), allow_retries=False) from failure.__cause__
            context.log.info(f"{ref}: {'was there already' if made.reused else 'made'}")
            yield dg.MaterializeResult(
                data_version=dg.DataVersion(made.manifest["fingerprint"]),
                metadata=_metadata(made),
                check_results=[
                    _check_result(name, check, Check(**found), check in blocking)
                    for check, found in made.manifest["checks"].items()
                ],
            )

        return asset

    return asset_of


def _check_result(asset: str, check: str, found: Check, blocks: bool) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=found.passed,
        asset_key=asset,
        check_name=check,
        severity=dg.AssetCheckSeverity.ERROR if blocks else dg.AssetCheckSeverity.WARN,
        metadata={name: _metadata_value(value) for name, value in found.facts.items() if value is not None},
    )


def _metadata(made: Made) -> dict[str, dg.MetadataValue]:
    """What a person wants to see on the asset's page: facts, tables as Markdown, where the files are."""
    facts = {name: _metadata_value(value) for name, value in made.manifest["facts"].items() if value is not None}
    rows = facts.pop("rows", None)
    return {
        **({"dagster/row_count": rows} if rows else {}),
        **facts,
        **{title: dg.MetadataValue.md(page) for title, page in made.pages.items()},
        "reused": dg.MetadataValue.bool(made.reused),
        "path": dg.MetadataValue.path(made.path),
    }


def _metadata_value(value: Any) -> dg.MetadataValue:
    match value:
        case bool():
            return dg.MetadataValue.bool(value)
        case int():
            return dg.MetadataValue.int(value)
        case float():
            return dg.MetadataValue.float(value)
        case str():
            return dg.MetadataValue.text(value)
        case _:
            return dg.MetadataValue.json(value)
