"""Schemas for tests: written by hand, and made at random."""

import random

STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
BOOLEAN, NULL = {"type": "boolean"}, {"type": "null"}


def closed(properties, required=None, **more):
    return {"type": "object", "properties": properties,
            "required": list(properties) if required is None else required, "additionalProperties": False, **more}


BY_HAND = [
    True, {}, STRING, INTEGER, NUMBER, BOOLEAN, NULL,
    {"type": ["string", "null"]}, {"type": ["integer", "boolean", "array"]},
    {"enum": ["red", "green", "blü", "a\"b\\c\n", 1, 1.5, None, True, [1, {"a": []}], {}]},
    {"const": {"a": [1, 2, "x"], "b": None}}, {"type": "string", "enum": ["a", "bc", 5]},
    {"enum": ["ab", "abc", "abcd", "b"], "minLength": 3}, {"enum": [1, 5, 10, 2.5], "minimum": 2, "maximum": 9},
    {"enum": [[1], [1, "a"], [1, 2]], "items": {"type": "integer"}},
    {"enum": [{"a": 1}, {"a": "x"}, {"b": 1}], "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    {"type": "string", "minLength": 3}, {"type": "string", "maxLength": 3},
    {"type": "string", "minLength": 2, "maxLength": 300}, {"type": "string", "maxLength": 3000},
    {"type": "string", "pattern": "^[a-z]+$"}, {"type": "string", "pattern": "b+"},
    {"type": "string", "pattern": "^a", "minLength": 3, "maxLength": 6},
    {"type": "string", "pattern": "a$"}, {"type": "string", "pattern": "^(ab|cd)*$"},
    {"type": "string", "pattern": "^[^\"\\\\]{2}$"}, {"type": "string", "pattern": "\\d{3}-\\w+ ?"},
    {"type": "string", "pattern": "^é|日本$"},
    {"allOf": [{"type": "string", "pattern": "a"}, {"pattern": "b"}, {"maxLength": 5}]},
    *({"type": "string", "format": name} for name in (
        "date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri", "uri-reference",
        "json-pointer", "nothing-known")),
    {"type": "string", "format": "date", "pattern": "^2024"}, {"type": "string", "format": "ipv4", "maxLength": 8},
    {"type": "integer", "minimum": 0}, {"type": "integer", "maximum": -3}, {"type": "integer", "minimum": -12, "maximum": 345},
    {"type": "integer", "exclusiveMinimum": 9, "exclusiveMaximum": 101}, {"type": "integer", "minimum": 0.5, "maximum": 3.5},
    {"type": "integer", "multipleOf": 7}, {"type": "integer", "multipleOf": 25, "minimum": -100, "maximum": 1000},
    {"type": "number", "multipleOf": 0.01}, {"type": "number", "minimum": 0, "maximum": 1},
    {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, {"type": "number", "minimum": -0.125, "maximum": 12.75},
    {"type": "number", "maximum": 1e-7, "minimum": 0}, {"type": "number", "minimum": 1e20}, {"type": "number", "multipleOf": 3},
    {"type": "number", "exclusiveMaximum": -1000}, {"minimum": 5, "maximum": 6},
    {"type": "array"}, {"type": "array", "items": INTEGER}, {"type": "array", "items": BOOLEAN, "minItems": 2, "maxItems": 4},
    {"type": "array", "items": BOOLEAN, "minItems": 3}, {"type": "array", "items": NULL, "maxItems": 200},
    {"type": "array", "maxItems": 0}, {"type": "array", "items": False}, {"type": "array", "minItems": 1},
    {"type": "array", "prefixItems": [STRING, INTEGER], "items": BOOLEAN},
    {"type": "array", "prefixItems": [STRING, INTEGER], "items": False, "minItems": 1},
    {"type": "array", "prefixItems": [STRING, INTEGER, NULL], "minItems": 3},
    {"type": "array", "prefixItems": [NULL, NULL, NULL], "items": INTEGER, "minItems": 2, "maxItems": 5},
    {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": INTEGER}}},
    {"allOf": [{"prefixItems": [{"minimum": 3}]}, {"items": {"type": "integer"}}], "type": "array", "minItems": 1},
    {"type": "object"}, {"type": "object", "properties": {"a": INTEGER}}, closed({}),
    closed({"a": STRING, "b": INTEGER, "c": {"type": "array", "items": STRING}}),
    closed({"a": BOOLEAN, "b": BOOLEAN, "c": BOOLEAN, "d": BOOLEAN}, ["b"]), closed({"a": BOOLEAN, "b": BOOLEAN}, []),
    closed({"a \"quoted\"\n": NULL, "é": NULL, "": NULL}),
    {"type": "object", "properties": {"a": INTEGER}, "additionalProperties": STRING},
    {"type": "object", "properties": {"a": INTEGER, "ab": NULL}, "required": ["ab"], "additionalProperties": True},
    {"type": "object", "additionalProperties": INTEGER}, {"type": "object", "required": ["x", "y"]},
    {"type": "object", "required": ["x"], "additionalProperties": NULL},
    {"type": "object", "patternProperties": {"^x": INTEGER, "y$": {"type": "integer", "minimum": 5}}, "additionalProperties": False},
    {"type": "object", "patternProperties": {"^x": INTEGER}, "additionalProperties": BOOLEAN},
    {"type": "object", "properties": {"xa": {"maximum": 4}}, "patternProperties": {"^x": INTEGER}, "required": ["xa"]},
    {"type": "object", "propertyNames": {"pattern": "^[a-c]{1,3}$"}, "additionalProperties": BOOLEAN},
    {"type": "object", "propertyNames": {"enum": ["p", "q"]}, "additionalProperties": NULL},
    closed({"a": NULL, "b": NULL, "c": NULL}, [], minProperties=1, maxProperties=2),
    {"type": "object", "additionalProperties": NULL, "maxProperties": 2},
    {"type": "object", "properties": {"a": False, "b": True}, "required": ["b"], "additionalProperties": False},
    {"anyOf": [STRING, INTEGER]}, {"oneOf": [STRING, {"type": "null"}]}, {"anyOf": [{"const": 1}, {"const": 2}, False]},
    {"type": "string", "anyOf": [{"minLength": 4}, {"pattern": "^x"}]},
    {"anyOf": [closed({"kind": {"const": "a"}, "x": INTEGER}), closed({"kind": {"const": "b"}, "y": STRING})]},
    {"oneOf": [closed({"kind": {"const": "cat"}, "lives": INTEGER}), closed({"kind": {"const": "dog"}, "tail": BOOLEAN})]},
    {"allOf": [{"type": "object", "properties": {"a": INTEGER}, "required": ["a"]},
               {"type": "object", "properties": {"b": STRING, "a": {"minimum": 3}}, "required": ["b"]}]},
    {"allOf": [{"anyOf": [STRING, INTEGER]}, {"anyOf": [INTEGER, NULL]}]},
    {"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 10}, {"multipleOf": 2}]},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer", "maximum": 50}}},
    {"$ref": "#/$defs/a", "minimum": 10, "$defs": {"a": {"type": "integer", "maximum": 50}}},
    {"$ref": "#/$defs/a%25b~1c~0d", "$defs": {"a%b/c~d": BOOLEAN}},
    {"type": "object", "properties": {"next": {"$ref": "#"}, "v": INTEGER}, "required": ["v"], "additionalProperties": False},
    {"$ref": "#/definitions/tree", "definitions": {"tree": closed(
        {"name": STRING, "children": {"type": "array", "items": {"$ref": "#/definitions/tree"}}})}},
    {"$defs": {"e": {"anyOf": [INTEGER, closed({"op": {"enum": ["+", "*"]}, "l": {"$ref": "#/$defs/e"}, "r": {"$ref": "#/$defs/e"}})]}},
     "$ref": "#/$defs/e"},
    {"$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/b"}, "maxItems": 2},
               "b": closed({"a": {"$ref": "#/$defs/a"}}, [])}, "$ref": "#/$defs/b"},
    {"$defs": {"base": {"type": "object", "properties": {"id": INTEGER}, "required": ["id"]}},
     "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"name": STRING}, "required": ["name"]}], "unevaluatedProperties": False},
    {"title": "T", "description": "D", "default": 3, "examples": [1], "x-unknown": {"y": 1}, "type": "integer"},
    closed({"location": {"type": "string", "description": "A city"}, "unit": {"type": ["string", "null"], "enum": ["c", "f", None]},
            "days": {"type": "integer", "minimum": 1, "maximum": 14}}),
]

REFUSED = [
    False, 5, [], {"type": "integer", "minimum": 5, "maximum": 4}, {"type": "strin"}, {"not": {}}, {"if": True},
    {"type": "array", "contains": INTEGER}, {"type": "array", "uniqueItems": True}, {"dependentRequired": {}},
    {"$ref": "other.json"}, {"$ref": "#/nowhere"}, {"$ref": "#"}, {"anyOf": [{"$ref": "#"}, STRING]},
    {"type": "string", "pattern": "(?=a)"}, {"type": "string", "pattern": "("}, {"type": "string", "pattern": "a\\b"},
    {"type": "string", "pattern": "^a$", "minLength": 2}, {"type": "integer", "multipleOf": 0.3}, {"enum": []},
    {"enum": [1], "type": "string"}, {"const": 1, "enum": [2]}, closed({"a": False}), {"required": "a"},
    {"type": "object", "properties": {"a": INTEGER}, "required": ["b"], "additionalProperties": False},
    {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, {"minLength": -1}, {"maxItems": 1.5},
    {"allOf": [STRING, INTEGER]}, {"items": 5, "type": "array", "minItems": 1}, {"properties": []}, {"anyOf": []},
    {"type": "array", "minItems": 3, "maxItems": 2}, {"type": "array", "items": False, "minItems": 1},
]


class Maker:
    """Random schemas of the keywords that Baton takes."""

    NAMES = ["a", "b", "name", "value", "x y", "é", "id", "n0"]

    def __init__(self, seed):
        self.rng = random.Random(seed)

    def chance(self, share):
        return self.rng.random() < share

    def some(self, least, most):
        return self.rng.randint(least, most)

    def schema(self, depth=3):
        kinds = [self.string, self.integer, self.number, self.constant, self.simple]
        if depth > 0:
            kinds += [self.object, self.object, self.array, self.union, self.both]
        return self.rng.choice(kinds)(depth - 1)

    def simple(self, depth):
        return self.rng.choice([BOOLEAN, NULL, {"type": ["boolean", "null"]}, STRING, INTEGER])

    def string(self, depth):
        schema = {"type": "string"}
        if self.chance(0.3):
            schema["pattern"] = self.rng.choice(
                ["^[a-c]*$", "x", "^[A-Z]{2,4}[0-9]?$", "[^a]$", "^(foo|bar)+", "^.{0,5}$", "\\w \\d", "^[\\u00e0-\\u00ff]+$"])
        elif self.chance(0.2):
            schema["format"] = self.rng.choice(["date", "uuid", "ipv4", "time", "email"])
            return schema
        if self.chance(0.3):
            schema["minLength"] = self.some(0, 4)
        if self.chance(0.3):
            schema["maxLength"] = self.some(5, 90)
        return schema

    def bounds(self, schema, value):
        low, high = sorted([value(), value()])
        if self.chance(0.5):
            schema[self.rng.choice(["minimum", "exclusiveMinimum"])] = low
        if self.chance(0.5):
            schema[self.rng.choice(["maximum", "exclusiveMaximum"])] = high + 3
        return schema

    def integer(self, depth):
        schema = self.bounds({"type": "integer"}, lambda: self.some(-1200, 1200))
        if self.chance(0.15):
            schema["multipleOf"] = self.rng.choice([2, 3])
        return schema

    def number(self, depth):
        return self.bounds({"type": "number"}, lambda: round(self.rng.uniform(-120, 120), self.some(0, 4)))

    def constant(self, depth):
        values = ["on", "off", "über", "", 0, -5, 2.25, True, None, ["a", 1], {"k": [None]}]
        if self.chance(0.3):
            return {"const": self.rng.choice(values)}
        return {"enum": self.rng.sample(values, self.some(1, 4))}

    def object(self, depth):
        names = self.rng.sample(self.NAMES, self.some(0, 4))
        schema = {"type": "object", "properties": {name: self.schema(depth) for name in names}}
        schema["required"] = [name for name in names if self.chance(0.6)]
        if self.chance(0.6):
            schema["additionalProperties"] = False
        elif self.chance(0.5):
            schema["additionalProperties"] = self.schema(0)
        if self.chance(0.1):
            schema["maxProperties"] = len(names)
        if self.chance(0.1):
            schema["patternProperties"] = {"^p": self.schema(0)}
        return schema

    def array(self, depth):
        schema = {"type": "array", "items": self.schema(depth)}
        if self.chance(0.3):
            schema["prefixItems"] = [self.schema(0) for _ in range(self.some(1, 3))]
        if self.chance(0.4):
            schema["minItems"] = self.some(0, 2)
        if self.chance(0.6):
            schema["maxItems"] = self.some(2, 5)
        return schema

    def union(self, depth):
        return {"anyOf": [self.schema(depth) for _ in range(self.some(1, 3))]}

    def both(self, depth):
        one = self.schema(depth)
        return {"allOf": [one, self.rng.choice([{}, True, {"title": "x"}, one])], "$comment": "both"}


def random_schemas(count, seed):
    maker = Maker(seed)
    return [maker.schema() for _ in range(count)]
