"""The Anthropic Messages API, through the official SDK."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from dragoman.errors import LLMError, LLMRefused, LLMUnreadable
from dragoman.llm.clients import Clients, ClientSource, key, require, side_job
from dragoman.llm.edge import STATUSES, Parameters, envelope, mapped, usage, whole, with_schema
from dragoman.llm.hush import hush
from dragoman.llm.reading import read, unreadable
from dragoman.llm.schema import for_provider
from dragoman.protocols import Prompt, Reply

KEY = "ANTHROPIC_API_KEY"
# What a 400 says when a model does not know a parameter of ours; it is then left out from the next call on.
OPTIONAL: Mapping[str, tuple[str, ...]] = {
    "effort": ("effort",),
    "format": ("output_config.format", "output format", "output_format", "json_schema", "structured output"),
}
_NO_EFFORT = re.compile(r"claude-(?:instant|[123])|haiku-4|sonnet-4-(?:0|5|2)|opus-4-(?:0|1|2)")
_STOPS: Mapping[str, tuple[type[LLMError], str]] = {
    "refusal": (LLMRefused, "declined to answer"),
    "max_tokens": (LLMUnreadable, "ended for length"),
    "model_context_window_exceeded": (LLMUnreadable, "ended for length: the context window is full"),
    "pause_turn": (LLMUnreadable, "stopped before it had answered (pause_turn)"),
    "tool_use": (LLMUnreadable, "asked for a tool that it was not given"),
}


def clients(url: str | None, variable: str | None, seconds: float | None, name: str) -> Clients:
    """Clients of the official SDK; `seconds` makes them a side job's, None leaves the SDK's own defaults.

    Args:
        url: another base URL than the SDK's own (which reads ANTHROPIC_BASE_URL).
        variable: of the environment, that holds the key; None sends none.

    Raises:
        MissingExtraError: the SDK is not installed.
        LLMUnavailable: there is no key; the message names the variable.
    """
    require("anthropic", "anthropic")
    secret = key(variable, name) if variable else "none"

    def build() -> Any:
        import anthropic

        more = {} if seconds is None else side_job(anthropic, seconds, name)
        client = anthropic.AsyncAnthropic(api_key=secret, base_url=url, **more)
        _ = client.messages.with_streaming_response  # imported when first touched; here no loop waits for it
        return client

    return Clients(build)


class Anthropic:
    """A model behind the Messages API.

    Answers hold to the schema by the provider's constrained decoding (`output_config.format`), at
    low effort where the model knows efforts. `LLM` and `Writer`.
    """

    def __init__(self, model: str, source: ClientSource, name: str = "") -> None:
        self.model = model
        self.name = name or f"anthropic:{model}"
        self._source = source
        self._parameters = Parameters(OPTIONAL, {"effort"} if _NO_EFFORT.search(model) else ())

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
        asked = self._asked(prompt)
        try:
            client = await self._source.get()
            hush("anthropic")
            async with client.messages.with_streaming_response.create(**asked) as response:
                raw, kind = await whole(response, self.name)
        except Exception as error:  # whatever the SDK or its transport raises is foreign and is mapped here
            raise self._parameters.mapped(error, self.name, STATUSES) from error
        return self._reply(envelope(raw, kind, self.name), prompt)

    def _asked(self, prompt: Prompt) -> dict[str, Any]:
        rules = prompt.rules
        config: dict[str, Any] = {}
        if "effort" in self._parameters:
            config["effort"] = "low"
        if "format" in self._parameters:
            config["format"] = {"type": "json_schema", "schema": for_provider(prompt.schema)}
        else:
            rules = with_schema(rules, prompt.schema)
        return {
            "model": self.model,
            "max_tokens": prompt.max_tokens,
            "system": rules,
            "messages": [{"role": "user", "content": prompt.input}],
        } | ({"output_config": config} if config else {})

    def _reply(self, body: dict[str, Any], prompt: Prompt) -> Reply:
        blocks = body.get("content")
        if not isinstance(blocks, list):
            raise LLMUnreadable(f"{self.name} sent no message; is this the Messages API?")
        said = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
        text = "".join(piece for piece in said if isinstance(piece, str))
        _check_stop(body.get("stop_reason"), text, self.name)
        counted = usage(body.get("usage"), "input_tokens", "output_tokens")
        return Reply(read(text, prompt.schema), counted, self.name)

    async def stream(self, rules: str, input: str, max_tokens: int) -> AsyncIterator[str]:
        """The text in pieces as they come.

        Raises:
            LLMError: at any piece; LLMUnreadable behind the last one when the text ended for length.
        """
        try:
            client = await self._source.get()
            hush("anthropic")
            messages = [{"role": "user", "content": input}]
            async with client.messages.stream(
                model=self.model, max_tokens=max_tokens, system=rules, messages=messages
            ) as pieces:
                async for piece in pieces.text_stream:
                    yield piece
                stop = (await pieces.get_final_message()).stop_reason
        except Exception as error:  # as in __call__
            raise mapped(error, self.name, STATUSES) from error
        _check_stop(stop, "", self.name)


def _check_stop(reason: Any, text: str, name: str) -> None:
    if reason in _STOPS:
        kind, says = _STOPS[reason]
        raise unreadable(f"{name} {says}", text) if kind is LLMUnreadable else kind(f"{name} {says}")
