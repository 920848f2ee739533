"""Runs an agent built with the Agent Development Kit with default settings."""

import asyncio
import os

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from google.genai import types
from script import Script

script = Script()


class Scripted(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        response = llm_request.contents[-1].parts[-1].function_response
        call = script.next(response and response.response)
        part = types.Part(text="done")
        if call is not None:
            name, args = call
            part = types.Part(function_call=types.FunctionCall(name=name, args=args))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def main():
    toolset = McpToolset(connection_params=StreamableHTTPConnectionParams(url=os.environ["MCP_URL"]))
    agent = LlmAgent(name="trips", model=Scripted(model="scripted"), tools=[toolset])
    runner = InMemoryRunner(agent=agent, app_name="trips")
    session = await runner.session_service.create_session(app_name="trips", user_id="user")
    question = types.Content(role="user", parts=[types.Part(text="Book a trip to Lisbon.")])
    async for _ in runner.run_async(user_id="user", session_id=session.id, new_message=question):
        pass
    await toolset.close()


asyncio.run(main())
