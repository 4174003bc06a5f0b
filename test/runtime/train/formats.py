"""Reads a file by its format's description, and prints what it holds as JSON.

    formats.py safetensors FILE
    formats.py svg FILE
"""

import json
import struct
import sys
import xml.etree.ElementTree

ELEMENTS = {"F64": "d", "F32": "f", "F16": "e", "I64": "q", "U8": "B"}


def refuse_twice(pairs):
    result = dict(pairs)
    assert len(result) == len(pairs), "a key is there twice"
    return result


def safetensors(path):
    """https://github.com/huggingface/safetensors#format"""
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack_from("<Q", data)
    assert (8 + size) % 8 == 0, "the header is not padded to 8 bytes"
    text = data[8 : 8 + size]
    assert text.startswith(b"{"), "the header begins with something else"
    header = json.loads(text, object_pairs_hook=refuse_twice)
    data = data[8 + size :]
    metadata = header.pop("__metadata__", None)
    tensors, covered = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == covered, f"{name}: a gap or an overlap before byte {begin}"
        covered = end
        count = 1
        for extent in entry["shape"]:
            count *= extent
        kind = entry["dtype"]
        if kind == "BF16":
            words = struct.unpack(f"<{count}H", data[begin:end])
            values = struct.unpack(f"<{count}f", struct.pack(f"<{count}I", *(word << 16 for word in words)))
        else:
            values = struct.unpack(f"<{count}{ELEMENTS[kind]}", data[begin:end])
        width = (end - begin) // count if count else 1
        assert begin % width == 0, f"{name}: is not aligned"
        tensors[name] = {"dtype": kind, "shape": entry["shape"], "values": values}
    assert covered == len(data), "bytes behind the last tensor"
    return {"metadata": metadata, "tensors": tensors}


def svg(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == space + "svg", root.tag
    links = [value for element in root.iter() for key, value in element.attrib.items() if "href" in key]
    assert not links, f"needs {links}"
    return {
        "title": root.find(space + "title").text,
        "texts": [element.text for element in root.iter(space + "text")],
        "paths": [element.get("d") for element in root.iter(space + "path")],
        "circles": [[float(element.get("cx")), float(element.get("cy"))] for element in root.iter(space + "circle")],
    }


if __name__ == "__main__":
    json.dump({"safetensors": safetensors, "svg": svg}[sys.argv[1]](sys.argv[2]), sys.stdout)
