"""One key for one ticket: the server recognizes a retry by it, and returns the first ticket."""

import uuid

from mcp import Client

from back_off_python import call_tool


async def create_ticket(client: Client, title: str):
    # Made before the first attempt, not for each of them.
    key = str(uuid.uuid4())
    return await call_tool(client, "create_ticket", {"title": title, "idempotency_key": key})
