"""Runs a Strands agent with default settings."""

import json
import os

from script import Script
from strands import Agent
from strands.models import Model
from strands.tools.mcp import MCPClient

script = Script()


class Scripted(Model):
    def update_config(self, **_):
        pass

    def get_config(self):
        return {"model_id": "scripted"}

    def structured_output(self, *_, **__):
        raise NotImplementedError

    async def stream(self, messages, *_, **__):
        result = messages[-1]["content"][-1].get("toolResult")
        if result is not None and result["status"] == "error":
            result = f"error: {result['content']}"
        call = script.next(result)
        yield {"messageStart": {"role": "assistant"}}
        if call is None:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
        else:
            name, args = call
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": f"call-{len(messages)}"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(args)}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if call is None else "tool_use"}}


client = MCPClient(url=os.environ["MCP_URL"])
with client:
    Agent(model=Scripted(), tools=client.list_tools_sync(), callback_handler=None)("Book a trip to Lisbon.")
