"""Sends the same key with equal calls of one run, even if the model repeats the call."""

import hashlib
import json

from pydantic_ai.mcp import MCPToolset


async def with_key(ctx, call_tool, name, arguments):
    if name == "create_ticket":
        # Replaces any key that the model wrote.
        arguments = {**arguments, "idempotency_key": ""}
        text = json.dumps([ctx.run_id, name, arguments], sort_keys=True)
        arguments["idempotency_key"] = hashlib.sha256(text.encode()).hexdigest()
    return await call_tool(name, arguments)


def keyed_toolset(url: str) -> MCPToolset:
    return MCPToolset(url, process_tool_call=with_key)
