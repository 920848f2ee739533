"""Retries failed calls of a LangChain agent with exponential backoff, without asking the model."""

import httpx
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware


def is_transient(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(is_transient(each) for each in error.exceptions)
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in (429, 502, 503, 504)
    return False


def create_patient_agent(model, tools):
    retries = ToolRetryMiddleware(
        # Lists only tools that may be executed twice.
        tools=["search_docs"],
        retry_on=is_transient,
        max_retries=4,
        initial_delay=0.5,
        backoff_factor=2,
        max_delay=30,
        jitter=True,
    )
    return create_agent(model, tools, middleware=[retries])
