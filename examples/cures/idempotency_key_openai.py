"""Sends the same key with equal calls of one run, even if the model repeats the call."""

import hashlib
import json

from agents.mcp import MCPServerStreamableHttp


class KeyedServer(MCPServerStreamableHttp):
    def __init__(self, run_id: str, **options):
        super().__init__(**options)
        self.run_id = run_id

    async def call_tool(self, tool_name, arguments, *rest, **more):
        if tool_name == "create_ticket":
            # Replaces any key that the model wrote.
            arguments = {**(arguments or {}), "idempotency_key": ""}
            text = json.dumps([self.run_id, tool_name, arguments], sort_keys=True)
            arguments["idempotency_key"] = hashlib.sha256(text.encode()).hexdigest()
        return await super().call_tool(tool_name, arguments, *rest, **more)
