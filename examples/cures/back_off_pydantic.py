"""Retries failed calls of a Pydantic AI agent with exponential backoff: pip install tenacity"""

from mcp import MCPError
from mcp_types import INTERNAL_ERROR
from pydantic_ai.mcp import MCPToolset
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_exponential_jitter


def is_transient(error: BaseException) -> bool:
    # Wraps the error that the SDK raises for each status but 404 in a ModelRetry.
    cause = error.__cause__
    return isinstance(cause, MCPError) and cause.code == INTERNAL_ERROR


# Only for calls that may be executed twice.
@retry(
    retry=retry_if_exception(is_transient),
    wait=wait_exponential_jitter(initial=0.5, max=30),
    stop=stop_after_attempt(5),
    reraise=True,
)
async def with_back_off(ctx, call_tool, name, arguments):
    return await call_tool(name, arguments)


def patient_toolset(url: str) -> MCPToolset:
    return MCPToolset(url, process_tool_call=with_back_off)
