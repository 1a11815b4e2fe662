import { expect, test } from "vitest";
import { sourceOf, withoutFolders } from "../../src/lib/python-stack";

test.each([
  ["train.py(12): step", { file: "train.py", line: 12 }],
  ["/a (b)/c.py(3): <module>", { file: "/a (b)/c.py", line: 3 }],
  ["<frozen runpy>(198): _run_module_as_main", { file: "<frozen runpy>", line: 198 }],
  ["train.py(12)", { file: "train.py", line: 12 }],
  ["<built-in method wait of X>", null],
  ["f(12) of something", null],
  [null, null],
])("the line of %s", (frame, source) => expect(sourceOf(frame)).toEqual(source));

test.each([
  ["torch/nn/modules/module.py(1782): _call_impl", "module.py(1782): _call_impl"],
  ["/a b/c.py(3): f", "c.py(3): f"],
  ["<built-in method wait of a/b.py(3): X>", "<built-in method wait of a/b.py(3): X>"],
  ["aten::add", "aten::add"],
  ["a/b", "a/b"],
])("%s without folders", (name, short) => expect(withoutFolders(name)).toBe(short));
