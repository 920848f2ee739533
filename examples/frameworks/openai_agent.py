"""Runs an agent built with OpenAI Agents for Python with default settings."""

import asyncio
import json
import os

from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from script import Script

script = Script()


class Scripted(Model):
    async def get_response(self, *, input, **_):
        call = script.next(input[-1].get("output"))
        if call is None:
            text = ResponseOutputText(type="output_text", text="done", annotations=[])
            output = ResponseOutputMessage(
                id="m", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            name, args = call
            output = ResponseFunctionToolCall(
                type="function_call", name=name, arguments=json.dumps(args), call_id=f"call-{len(input)}"
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


async def main():
    set_tracing_disabled(True)
    async with MCPServerStreamableHttp(params={"url": os.environ["MCP_URL"]}) as server:
        agent = Agent(name="trips", model=Scripted(), mcp_servers=[server])
        await Runner.run(agent, "Book a trip to Lisbon.")


asyncio.run(main())
