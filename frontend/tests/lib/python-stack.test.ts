import { expect, test } from "vitest";
import { frameOf, placeOf, withoutFolders } from "../../src/lib/python-stack";

test.each([
  ["step (train.py:12)", { file: "train.py", line: 12 }],
  ["Net.forward (/a (b)/c.py:3)", { file: "/a (b)/c.py", line: 3 }],
  ["/job/train.py:12 in step", { file: "/job/train.py", line: 12 }],
  ["<built-in method wait of X>", null],
  [null, null],
])("the file and line of %s", (title, place) => expect(placeOf(title)).toEqual(place));

test.each([
  ["Net.forward (a/net.py:3)", "a/net.py(3): "],
  ["a/net.py:3 in forward", "a/net.py(3): "],
  ["aten::add", "aten::add"],
])("the frame of %s", (title, frame) => expect(frameOf(title)).toBe(frame));

test.each([
  ["torch/nn/modules/module.py(1782): _call_impl", "module.py(1782): _call_impl"],
  ["/a b/c.py(3): f", "c.py(3): f"],
  ["<built-in method wait of a/b.py(3): X>", "<built-in method wait of a/b.py(3): X>"],
  ["Net.forward (a/b/net.py:3)", "Net.forward (net.py:3)"],
  ["/a b/c.py:3 in f", "c.py:3 in f"],
  ["aten::add", "aten::add"],
  ["a/b", "a/b"],
])("%s without folders", (name, short) => expect(withoutFolders(name)).toBe(short));
