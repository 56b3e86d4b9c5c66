"""Chat Completions, through the official SDK: OpenAI's API and any compatible server (Ollama, vLLM, llama.cpp)."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from dragoman.errors import LLMError, LLMRefused, LLMUnreadable
from dragoman.llm.clients import Clients, ClientSource, key, require, side_job
from dragoman.llm.edge import STATUSES, Parameters, envelope, usage, whole, with_schema
from dragoman.llm.hush import hush
from dragoman.llm.reading import read, unreadable
from dragoman.llm.schema import for_provider
from dragoman.protocols import Prompt, Reply

KEY = "OPENAI_API_KEY"
OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "effort": ("reasoning_effort", "reasoning.effort"),
    "format": ("response_format", "json_schema"),
    "limit": ("max_completion_tokens", "max_tokens"),
}
_REASONS = re.compile(r"(?:^|/)(?:o\d|gpt-[5-9](?!.*chat))")
_STOPS: Mapping[str, tuple[type[LLMError], str]] = {
    "length": (LLMUnreadable, "ended for length"),
    "content_filter": (LLMRefused, "was stopped by its provider's content filter"),
    "tool_calls": (LLMUnreadable, "asked for a tool that it was not given"),
    "function_call": (LLMUnreadable, "asked for a tool that it was not given"),
}


def clients(url: str | None, variable: str | None, seconds: float | None, name: str) -> Clients:
    """Clients of the official SDK; `seconds` makes them a side job's, None leaves the SDK's own defaults.

    Args:
        url: another base URL than the SDK's own (which reads OPENAI_BASE_URL).
        variable: of the environment, that holds the key; None sends none.

    Raises:
        MissingExtraError: the SDK is not installed.
        LLMUnavailable: there is no key; the message names the variable.
    """
    require("openai", "openai")
    secret = key(variable, name) if variable else "none"

    def build() -> Any:
        import openai

        more = {} if seconds is None else side_job(openai, seconds, name)
        client = openai.AsyncOpenAI(api_key=secret, base_url=url, **more)
        _ = client.chat.completions.with_streaming_response  # imported when first touched; here no loop waits for it
        return client

    return Clients(build)


class OpenAI:
    """A model behind Chat Completions.

    Answers hold to the schema by the server's constrained decoding (`response_format` json_schema,
    strict), at low effort where the model reasons. `LLM` and `Writer`.

    Args:
        own: OpenAI's own API, which takes `max_completion_tokens` and knows efforts; compatible
            servers take `max_tokens`.
    """

    def __init__(self, model: str, source: ClientSource, name: str = "", *, own: bool = True) -> None:
        self.model = model
        self.name = name or f"openai:{model}"
        self._source = source
        self._limits = ("max_completion_tokens", "max_tokens") if own else ("max_tokens", "max_completion_tokens")
        self._parameters = Parameters(OPTIONAL, () if own and _REASONS.search(model) else {"effort"})

    def __repr__(self) -> str:
        return f"<{self.name}>"

    async def warm(self) -> None:
        """Import the SDK and build the client, so that no question waits for that."""
        await self._source.get()

    async def aclose(self) -> None:
        """Close the running loop's connections."""
        await self._source.aclose()

    async def __call__(self, prompt: Prompt) -> Reply:
        """The value the model gave.

        Raises:
            LLMError: see `dragoman.llm.edge` for what becomes of which fault.
        """
        asked = self._asked(prompt.rules, prompt.input, prompt.max_tokens)
        if "format" in self._parameters:
            schema = {"name": "reply", "strict": True, "schema": for_provider(prompt.schema)}
            asked["response_format"] = {"type": "json_schema", "json_schema": schema}
        else:
            asked["messages"][0]["content"] = with_schema(prompt.rules, prompt.schema)
        try:
            client = await self._source.get()
            hush("openai")
            create = client.chat.completions.with_streaming_response.create
            # The body goes as it stands: the SDK takes a millisecond to look through parameters for what to convert.
            async with create(model=self.model, messages=(), extra_body=asked) as response:
                raw, kind = await whole(response, self.name)
        except Exception as error:  # whatever the SDK or its transport raises is foreign and is mapped here
            raise self._parameters.mapped(error, self.name, STATUSES) from error
        return self._reply(envelope(raw, kind, self.name), prompt)

    def _asked(self, rules: str, input: str, max_tokens: int) -> dict[str, Any]:
        asked: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "system", "content": rules}, {"role": "user", "content": input}],
            self._limits["limit" not in self._parameters]: max_tokens,
        }
        if "effort" in self._parameters:
            asked["reasoning_effort"] = "low"
        return asked

    def _reply(self, body: dict[str, Any], prompt: Prompt) -> Reply:
        choices = body.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise LLMUnreadable(f"{self.name} sent no message; is this the Chat Completions API?")
        if message.get("refusal"):
            raise LLMRefused(f"{self.name} declined to answer")
        text = message.get("content") or ""
        _check_stop(choice.get("finish_reason"), text, self.name)
        counted = usage(body.get("usage"), "prompt_tokens", "completion_tokens")
        return Reply(read(text, prompt.schema), counted, self.name)

    async def stream(self, rules: str, input: str, max_tokens: int) -> AsyncIterator[str]:
        """The text in pieces as they come.

        Raises:
            LLMError: at any piece; LLMUnreadable behind the last one when the text ended for length.
        """
        stop: Any = None
        refused = False
        try:
            client = await self._source.get()
            hush("openai")
            chunks = await client.chat.completions.create(stream=True, **self._asked(rules, input, max_tokens))
            async with chunks:
                async for chunk in chunks:
                    for choice in chunk.choices[:1]:
                        stop = choice.finish_reason or stop
                        refused = refused or bool(choice.delta.refusal)
                        if choice.delta.content:
                            yield choice.delta.content
        except Exception as error:  # as in __call__
            raise self._parameters.mapped(error, self.name, STATUSES) from error
        if refused:
            raise LLMRefused(f"{self.name} declined to answer")
        _check_stop(stop, "", self.name)


def _check_stop(reason: Any, text: Any, name: str) -> None:
    if reason in _STOPS:
        kind, says = _STOPS[reason]
        said = text if isinstance(text, str) else ""
        raise unreadable(f"{name} {says}", said) if kind is LLMUnreadable else kind(f"{name} {says}")
