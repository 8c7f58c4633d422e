"""The data dictionary: one pyarrow schema a table."""

import pyarrow as pa

TESTS = pa.struct(
    [
        pa.field("entry_points", pa.list_(pa.string())),
        pa.field("tests", pa.list_(pa.string())),
        pa.field("shown", pa.int64()),
        pa.field("preamble", pa.string()),
        pa.field("setup", pa.string()),
    ]
)

TASKS = pa.schema(
    [
        pa.field("task_id", pa.string(), nullable=False),
        pa.field("task_key", pa.string(), nullable=False),  # sha256 of the content
        pa.field("prompt", pa.string(), nullable=False),
        pa.field("answer", pa.string(), nullable=False),
        pa.field("family", pa.string(), nullable=False),
        pa.field("candidates", pa.list_(pa.string()), nullable=False),  # wrong completions
        pa.field("source", pa.string(), nullable=False),
        pa.field("licence", pa.string(), nullable=False),
        pa.field("verification", pa.string(), nullable=False),  # exact, integer, math, scorer or tests
        pa.field("tests", TESTS),  # of tasks whose completions are programs
        pa.field("entry", pa.string()),  # JSON for the scorer of generated tasks
        pa.field("seconds", pa.float64(), nullable=False),  # that verifying one completion may take
        pa.field("constant_checks", pa.int64(), nullable=False),  # checks that the best constant answer passes
        pa.field("cluster", pa.string(), nullable=False),  # near-duplicates share one
        pa.field("split", pa.string(), nullable=False),  # train, dev or heldout
    ]
)

ROLLOUTS = pa.schema(
    [
        pa.field("step", pa.int64()),  # optimizer step, from 1; null outside training
        pa.field("task_id", pa.string(), nullable=False),
        pa.field("task_key", pa.string(), nullable=False),
        pa.field("rollout_index", pa.int64(), nullable=False),  # position in its group, from 0
        pa.field("decoding", pa.string(), nullable=False),  # sampled or greedy
        pa.field("prompt", pa.string(), nullable=False),
        pa.field("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),  # chats
        pa.field("answer", pa.string(), nullable=False),
        pa.field("completion", pa.string(), nullable=False),
        pa.field("prompt_tokens", pa.int64()),  # null in training, which sees the pilot's prompts
        pa.field("token_count", pa.int64(), nullable=False),  # of the completion, end token included
        pa.field("truncated", pa.bool_(), nullable=False),  # no end token within the budget
        pa.field("finish_reason", pa.string(), nullable=False),  # end_token or length
        pa.field("outcome", pa.string(), nullable=False),  # pass, fail or no_verdict
        pa.field("reason", pa.string(), nullable=False),  # the verifier's code
        pa.field("checks_passed", pa.int64(), nullable=False),
        pa.field("checks", pa.int64(), nullable=False),
        pa.field("constant_checks", pa.int64(), nullable=False),  # of them, passed by the best constant answer
        pa.field("shown_passed", pa.int64(), nullable=False),
        pa.field("shown", pa.int64(), nullable=False),  # checks that stand in the prompt
        pa.field("wall_seconds", pa.float64()),  # of the program; null where none was run
        pa.field("cpu_seconds", pa.float64()),
        pa.field("rewards", pa.map_(pa.string(), pa.float64())),  # by component; null before scoring
        pa.field("kl_to_base", pa.float64()),  # nats a completion; null where not measured
    ]
)

STATISTICS = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),  # original order of the training prompts
        pa.field("task_id", pa.string(), nullable=False),
        pa.field("task_key", pa.string(), nullable=False),
        pa.field("rollouts", pa.int64(), nullable=False),
        pa.field("scored", pa.int64(), nullable=False),  # rollouts with a verdict
        pa.field("passes", pa.int64(), nullable=False),
        pa.field("pass_rate", pa.float64()),  # of the scored ones, in [0, 1]; null if none
        pa.field("reward_mean", pa.float64()),
        pa.field("reward_variance", pa.float64()),  # within the group, population form
        pa.field("informative", pa.bool_(), nullable=False),
        pa.field("reward_values", pa.list_(pa.float64()), nullable=False),  # distinct, ascending
        pa.field("reward_counts", pa.list_(pa.int64()), nullable=False),
        pa.field("prompt_tokens", pa.int64(), nullable=False),
        pa.field("completion_tokens", pa.float64(), nullable=False),  # mean of its rollouts
        pa.field("longest_completion", pa.int64(), nullable=False),  # in tokens
    ]
)

TASK_RATES = pa.schema(
    [
        pa.field("task_key", pa.string(), nullable=False),
        pa.field("sampled", pa.float64(), nullable=False),  # pass rate in [0, 1]
        pa.field("greedy", pa.float64(), nullable=False),
    ]
)

SCORED_TASKS = pa.schema(
    [
        pa.field("task_key", pa.string(), nullable=False),
        pa.field("cluster", pa.int64(), nullable=False),  # of near-duplicates, from 0
    ]
)

SCORES = pa.schema(
    [
        pa.field("variant", pa.string(), nullable=False),  # slug; empty for the untrained policy
        pa.field("pass_rates", pa.list_(pa.float64()), nullable=False),  # in the order of the scored tasks
    ]
)

CURRICULUM = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),  # in the visiting order, from 0
        pa.field("task_id", pa.string(), nullable=False),
        pa.field("task_key", pa.string(), nullable=False),
        pa.field("p_informative", pa.float64(), nullable=False),  # at the group size, in [0, 1]
        pa.field("p_informative_sd", pa.float64(), nullable=False),  # of the posterior
        pa.field("unbiased", pa.float64()),  # estimate of the same; null where the group is larger than the pilot
    ]
)
