"""Retries failed calls of an OpenAI agent with exponential backoff, without asking the model."""

import random

from agents.mcp import MCPServerStreamableHttp


def patient_server(url: str) -> MCPServerStreamableHttp:
    return MCPServerStreamableHttp(
        params={"url": url},
        cache_tools_list=True,
        # Applies to all tools and errors: use it only if all tools may be executed twice.
        max_retry_attempts=4,
        # Starts with 0.5 s to 1 s and doubles. The SDK has no jitter, so each client gets its own base.
        retry_backoff_seconds_base=random.uniform(0.5, 1),
        retry_backoff_seconds_max=30,
    )
