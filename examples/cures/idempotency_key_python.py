"""Sends one key for each ticket: the server recognizes a retry and returns the first ticket."""

import uuid

from mcp import Client

from back_off_python import call_tool


async def create_ticket(client: Client, title: str):
    # Creates the key once, not for each attempt.
    key = str(uuid.uuid4())
    return await call_tool(client, "create_ticket", {"title": title, "idempotency_key": key})
