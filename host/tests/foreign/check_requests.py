"""Checks request bodies against the types of the official SDKs.

Reads lines `{"api": "anthropic" | "responses" | "chat", "name": …, "body": …}` from stdin, prints
a line for each body that does not fit, and exits with 1 if there is one.
"""

import importlib
import inspect
import json
import pkgutil
import sys
import typing

import pydantic
from typing_extensions import is_typeddict

import anthropic.types
import openai.types
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

TYPES = {
    "anthropic": MessageCreateParamsStreaming,
    "responses": ResponseCreateParamsStreaming,
    "chat": CompletionCreateParamsStreaming,
}

# Types for a JSON Schema. They do not list its keywords, so they must allow unknown fields.
OPEN = {"InputSchemaTyped", "InputSchema"}


def forbid_unknown_fields(package):
    """Makes every TypedDict of a package reject fields that it does not list."""
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        for _, item in inspect.getmembers(importlib.import_module(module.name)):
            if is_typeddict(item):
                extra = "allow" if item.__name__ in OPEN else "forbid"
                # Some fields also accept an open file, a type that pydantic cannot validate.
                config = pydantic.ConfigDict(extra=extra, arbitrary_types_allowed=True)
                item.__pydantic_config__ = config


def consume(value):
    """Pydantic checks the elements of an iterable only when they are read."""
    if isinstance(value, dict):
        for item in value.values():
            consume(item)
    elif not isinstance(value, str) and isinstance(value, typing.Iterable):
        for item in value:
            consume(item)


def main():
    forbid_unknown_fields(anthropic.types)
    forbid_unknown_fields(openai.types)
    adapters = {api: pydantic.TypeAdapter(type) for api, type in TYPES.items()}
    checked, wrong = 0, 0
    for line in sys.stdin:
        request = json.loads(line)
        checked += 1
        try:
            consume(adapters[request["api"]].validate_python(request["body"]))
        except pydantic.ValidationError as error:
            wrong += 1
            print(f"{request['api']}, {request['name']}: {error}")
    print(f"{checked} requests checked, {wrong} invalid")
    sys.exit(1 if wrong else 0)


main()
