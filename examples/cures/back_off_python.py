"""Retries a call of the MCP Python SDK with exponential backoff: pip install "mcp>=2" tenacity"""

from mcp import Client, MCPError
from mcp_types import INTERNAL_ERROR
from tenacity import retry, retry_if_exception, stop_after_attempt, wait_exponential_jitter


def is_transient(error: BaseException) -> bool:
    # The SDK reports every status but 404 as an internal error.
    return isinstance(error, MCPError) and error.code == INTERNAL_ERROR


# Only for calls that may be executed twice. Jitter spreads the retries of clients that failed together.
@retry(
    retry=retry_if_exception(is_transient),
    wait=wait_exponential_jitter(initial=0.5, max=30),
    stop=stop_after_attempt(5),
    reraise=True,
)
async def call_tool(client: Client, name: str, arguments: dict):
    return await client.call_tool(name, arguments)
