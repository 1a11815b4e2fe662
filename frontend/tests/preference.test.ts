// @vitest-environment happy-dom
// What the reader prefers is stored under one prefix.
import { afterEach, expect, test } from "vitest";
import { store, stored } from "../src/preference";

afterEach(() => localStorage.clear());

test("a preference is stored, and removed with null", () => {
  expect(stored("rail")).toBeNull();
  expect(store("rail", "collapsed")).toBe(true);
  expect([stored("rail"), localStorage.getItem("tb_privateuse1.rail")]).toEqual(["collapsed", "collapsed"]);
  store("rail", null);
  expect(localStorage.length).toBe(0);
});

test("one under the old prefix is moved, and a newer one goes before it", () => {
  localStorage.setItem("privateuse1.rail", "collapsed");
  expect(stored("rail")).toBe("collapsed");
  expect(Object.entries({ ...localStorage })).toEqual([["tb_privateuse1.rail", "collapsed"]]);
  localStorage.setItem("privateuse1.rail", "open");
  expect(stored("rail")).toBe("collapsed");
});
