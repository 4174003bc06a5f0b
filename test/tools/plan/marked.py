"""Of pages of batonc plan: how many pictures, and where among its points the marked one lies."""

import os
import re
import sys
import xml.etree.ElementTree as ElementTree

for page in sys.argv[1:]:
    with open(page, encoding="utf-8") as file:
        text = file.read()
    pictures = [ElementTree.fromstring(picture) for picture in re.findall(r"<svg.*?</svg>", text, re.S)]
    said = [f"{os.path.basename(page).split('.tmp.')[-1]}: {len(pictures)} pictures"]
    for picture in pictures:
        circles = [element for element in picture.iter() if element.tag.endswith("circle")]
        marked = [float(one.get("cy")) for one in circles if one.get("r") == "7"]
        if not circles:
            continue
        # SVG counts downwards.
        heights = [float(one.get("cy")) for one in circles]
        where = {min(heights): "highest marked", max(heights): "lowest marked"}
        said.append(f"{len(circles)} points, " + (where.get(marked[0], "marked") if marked else "none marked"))
    print("; ".join(said))
