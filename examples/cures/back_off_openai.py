"""Retries failed calls of an OpenAI agent with growing pauses, without asking the model."""

import random

from agents.mcp import MCPServerStreamableHttp


def patient_server(url: str) -> MCPServerStreamableHttp:
    return MCPServerStreamableHttp(
        params={"url": url},
        cache_tools_list=True,
        # For all tools and errors: only for a server whose tools may be executed twice.
        max_retry_attempts=4,
        # 0.5 s to 1 s, then twice as long each time. The SDK has no jitter: each client has its own
        # pace instead.
        retry_backoff_seconds_base=random.uniform(0.5, 1),
        retry_backoff_seconds_max=30,
    )
