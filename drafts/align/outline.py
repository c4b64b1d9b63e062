"""Which syntax nodes define something, and by what name; for all grammars together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

_FUNCTION: Final = "function"
_FUNCTION_WORDS: Final[dict[str, str]] = {
    "go": "func",
    "kotlin": "fun",
    "python": "def",
    "ruby": "def",
    "rust": "fn",
    "scala": "def",
    "swift": "func",
}
_LABELS: Final[dict[str, str]] = {
    **dict.fromkeys(
        ("class_declaration", "abstract_class_declaration", "class_definition", "class_specifier", "class"), "class"
    ),
    **dict.fromkeys(
        (
            "function_declaration",
            "generator_function_declaration",
            "function_definition",
            "function_item",
            "function_signature_item",
            "method",
            "singleton_method",
        ),
        _FUNCTION,
    ),
    **dict.fromkeys(("struct_specifier", "struct_item", "struct_declaration"), "struct"),
    **dict.fromkeys(("enum_specifier", "enum_item", "enum_declaration", "enum_definition"), "enum"),
    **dict.fromkeys(("union_specifier", "union_item"), "union"),
    **dict.fromkeys(("trait_item", "trait_definition", "trait_declaration"), "trait"),
    **dict.fromkeys(("object_declaration", "object_definition"), "object"),
    **dict.fromkeys(("record_declaration", "record_struct_declaration"), "record"),
    **dict.fromkeys(
        ("namespace_definition", "namespace_declaration", "file_scoped_namespace_declaration", "internal_module"),
        "namespace",
    ),
    **dict.fromkeys(("module", "mod_item"), "module"),
    **dict.fromkeys(("type_spec", "type_alias_declaration", "type_definition", "type_item"), "type"),
    **dict.fromkeys(("macro_definition", "preproc_function_def"), "macro"),
    **dict.fromkeys(("constructor_declaration", "init_declaration"), "constructor"),
    **dict.fromkeys(("table", "table_array_element"), "table"),
    **dict.fromkeys(("media_statement", "keyframes_statement", "rule_set", "supports_statement"), "rule"),
    "annotation_type_declaration": "annotation",
    "block_mapping_pair": "key",
    "companion_object": "object",
    "create_function": _FUNCTION,
    "create_table": "table",
    "create_view": "view",
    "element": "element",
    "impl_item": "impl",
    "interface_declaration": "interface",
    "method_declaration": "method",
    "method_definition": "method",
    "property_declaration": "property",
    "protocol_declaration": "protocol",
    "section": "section",
}
"""Node type -> what a definition of that type is called in a path. Grammars agree on most of these names."""

_BINDINGS: Final = frozenset(
    {"variable_declarator", "assignment_expression", "field_definition", "public_field_definition", "pair"}
)
_VALUES: Final[dict[str, str]] = {
    **dict.fromkeys(("arrow_function", "function_expression", "generator_function"), _FUNCTION),
    "class": "class",
    **dict.fromkeys(("object", "array"), "object"),
}
"""Node type of a bound value -> what the binding defines (JavaScript and its kin)."""
_SOMETIMES: Final = _BINDINGS | {"call_expression", "call"}
"""Node types of which only some define something: see `_value_label`."""
_BODIES: Final = frozenset({"arrow_function", "function_expression", "do_block"})
"""Last arguments that make a call with a name, describe("a thing", ...), a definition of that name."""
_NAMED_BY_FIRST: Final = frozenset(
    {"table", "table_array_element", "element", "create_table", "create_view", "create_function"}
)
WRAPPERS: Final = frozenset(
    {"decorated_definition", "export_statement", "template_declaration", "ambient_declaration", "statement"}
    | {"type_declaration", "lexical_declaration", "variable_declaration", "expression_statement"}
)
"""Nodes that belong to the definition inside them: with its decorators, modifiers, keyword."""
_LEADS: Final = frozenset({"comment", "line_comment", "block_comment", "multiline_comment", "attribute_item"})
_NAME_LIMIT: Final = 80
"""Characters of a name in a path."""


@dataclass(frozen=True, slots=True)
class Definition:
    """Lines [start, end) define `name`; line `head` is where the definition itself begins.

    start: with the decorators, attributes and the comment that belong to it. label: what it is called in a path, its
    name included, for example "class Foo".
    """

    start: int
    head: int
    end: int
    name: str
    label: str


def is_lead(node: Node) -> bool:
    """A comment or an attribute, which belongs to the definition right below it."""
    return node.type in _LEADS


def label_and_name(node: Node, data: bytes, language: str) -> tuple[str, str] | None:
    """What a node defines, for example ("class Foo", "Foo"); None for a node that defines nothing with a name."""
    kind = node.type
    label = _LABELS.get(kind)
    if label is None and kind in _SOMETIMES:
        label = _value_label(node, kind)
    if label is None:
        return None
    name = _name(node, kind, data)
    return (f"{_word(label, kind, language)} {name}", name) if name else None


def _word(label: str, kind: str, language: str) -> str:
    if label is _FUNCTION and kind in _LABELS:
        return _FUNCTION_WORDS.get(language, label)
    return "key" if kind == "pair" and language == "json" else label


def _value_label(node: Node, kind: str) -> str | None:
    """What a node defines that only some nodes of its type do: by the value it binds, or as a call with a block."""
    if node.end_point[0] == node.start_point[0]:
        return None
    if kind in _BINDINGS:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        return None if value is None else _VALUES.get(value.type)
    if kind == "call_expression":
        called, last = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        body = last.named_children[-1].type if last is not None and last.named_child_count else ""
    elif kind == "call":
        called, block = node.child_by_field_name("method"), node.child_by_field_name("block")
        body = "" if block is None else block.type
    else:
        return None
    if called is None or called.type != "identifier" or body not in _BODIES:
        return None
    return (called.text or b"").decode("utf-8", "replace")


def _name(node: Node, kind: str, data: bytes) -> str:
    if kind == "impl_item":
        trait, of = node.child_by_field_name("trait"), node.child_by_field_name("type")
        return " for ".join(_text(part, data) for part in (trait, of) if part is not None)
    if kind in ("call_expression", "call"):
        arguments = node.child_by_field_name("arguments")
        first = arguments.named_children[0] if arguments is not None and arguments.named_child_count else None
        return _text(first, data) if first is not None and "string" in first.type else ""
    if _LABELS.get(kind) == "rule":
        return _text(node, data).split("{")[0].strip()
    if kind == "section":
        return _text(node.named_children[0], data).strip("#= -") if node.named_child_count else ""
    for part in ("name", "key", "left", "property"):
        found = node.child_by_field_name(part)
        if found is not None:
            name = _text(found, data)
            receiver = node.child_by_field_name("receiver")
            return name if receiver is None else f"{_text(receiver, data)} {name}"
    found = node.child_by_field_name("declarator")
    while found is not None and (inner := found.child_by_field_name("declarator")) is not None:
        found = inner
    if found is None and kind in _NAMED_BY_FIRST:
        # SQL's keywords are nodes of their own.
        found = next((child for child in node.named_children if not child.type.startswith("keyword")), None)
    if found is None:
        return "init" if kind == "init_declaration" else ""
    return _text(found, data)


def _text(node: Node, data: bytes) -> str:
    """The node's first line, without quotes and surplus blanks."""
    part = data[node.start_byte : min(node.end_byte, node.start_byte + 4 * _NAME_LIMIT)]
    line = part.decode("utf-8", "replace").split("\n", 1)[0]
    return " ".join(line.split()).strip("\"'`")[:_NAME_LIMIT]
