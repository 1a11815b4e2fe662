// No text for people stands in the code of the pages: all of them are in i18n, in each language.
import { isNode, type Node, parse, type Sources } from "./sources";
import { SAME } from "./translations";

const of = (node: Node, field: string): Node => node[field] as Node;
const nameOf = (key: Node): string => String(key["name"] ?? key["value"]);

/** Returns the texts that a node itself is. */
export function textsOf(node: Node): string[] {
  if (node.type === "JSXText") return [String(node["value"]).trim()];
  if (node.type === "Literal") return typeof node["value"] === "string" ? [node["value"]] : [];
  return node.type === "TemplateLiteral"
    ? (node["quasis"] as { value: { cooked: string } }[]).map((q) => q.value.cooked)
    : [];
}

/** Files with texts by right: texts, what is generated, the words of C++, what is shown if texts cannot be loaded. */
const OTHERS = /^i18n\/|^lib\/mangled-name\.ts$|^api\/(types|binary)\.ts$|^index\.ts$/;

/** What reads like words for people: several of them, or one that begins as a sentence does. */
const WORDS = /[A-Za-z]{3,}[,;:.]?\s|\s[A-Za-z]{2,}|^\s*[A-Z][a-z]{2,}/;
/** Words of the browser, of formats and of other programs. */
const THEIRS =
  /^(Arrow(Up|Down|Left|Right)|Enter|Escape|Home|End|Page(Up|Down)|Backspace|Delete|Space|Shift|Tab|TimeoutError|Counters)$|^\d+px .*sans-serif$|^(text|application|image)\/|^\(?HTTP( |$)|^VS Code$|^IntelliJ IDEA$|^PyCharm$|^Cursor$|^\(prefers-|^[a-z_]+ =( "[a-z_]*")?$|^(± )?([014] )?(ns|us|ms|MiB|TFLOP)$|^from tb_privateuse1 import |^on_trace_ready=|^nn\.Module:$|^select |^pip install |^TB_PRIVATEUSE1_|^tb-privateuse1 /;
/** Attributes and fields that people do not read, whatever they hold. */
const UNREAD =
  /^(data-.*|class|style|d|viewBox|points|transform|patternTransform|xmlns|accept|autocomplete|testid|fill|stroke|href|rel|icon|key|template|font|translate)$/;
/** Words that people read although there is only one of them. */
const READ =
  /^(title|help|label|placeholder|noun|nouns|alt|aria-label|aria-description|aria-valuetext|hint|message|note|empty|caption|unit|short|word)$/;

/** Returns the texts that stand in a file itself. */
function bare(file: string, text: string): string[] {
  const found: string[] = [];
  const say = (said: string, sure = false): void => {
    if ((sure ? /[A-Za-z]{2,}/ : WORDS).test(said) && !THEIRS.test(said.trim()) && !SAME.test(said.trim()))
      found.push(said.trim());
  };
  // What is shown for certain: one word of small letters is a text there, and a code elsewhere.
  const shown = (node: Node | null): void => {
    if (!node) return;
    if (node.type === "JSXExpressionContainer" || node.type === "ParenthesizedExpression")
      shown(of(node, "expression"));
    else if (node.type === "ConditionalExpression")
      for (const one of ["consequent", "alternate"]) shown(of(node, one));
    else if (node.type === "LogicalExpression")
      for (const one of node["operator"] === "&&" ? ["right"] : ["left", "right"]) shown(of(node, one));
    else if (node.type === "BinaryExpression" && node["operator"] === "+")
      for (const one of ["left", "right"]) shown(of(node, one));
    else for (const said of textsOf(node)) say(said, true);
  };
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) {
      for (const one of value) walk(one);
      return;
    }
    if (!isNode(value)) return;
    const node = value;
    switch (node.type) {
      case "ImportDeclaration":
      case "ExportAllDeclaration":
      case "ImportExpression":
      case "TSTypeAliasDeclaration":
      case "TSInterfaceDeclaration":
      case "TSTypeAnnotation":
      case "TSTypeParameterInstantiation":
        return;
      case "SwitchCase":
        walk(node["consequent"]);
        return;
      case "BinaryExpression":
        if (/^[!=]==?$/.test(String(node["operator"]))) return;
        break;
      case "CallExpression":
        if (isConsole(of(node, "callee"))) return;
        break;
      case "AssignmentExpression":
        if (UNREAD.test(nameOf(of(of(node, "left"), "property") ?? {}))) return;
        break;
      case "JSXElement":
      case "JSXFragment":
        if (node.type === "JSXElement" && isCode(node)) return; // the same in all languages
        (node["children"] as Node[]).forEach((child) => {
          if (child.type !== "JSXElement" && child.type !== "JSXFragment") shown(child);
        });
        break;
      case "JSXAttribute":
      case "Property": {
        const name = nameOf(of(node, node.type === "Property" ? "key" : "name"));
        if (UNREAD.test(name)) return;
        if (READ.test(name)) shown(of(node, "value"));
        walk(node["value"]);
        return;
      }
    }
    for (const said of textsOf(node)) say(said);
    Object.values(node).forEach(walk);
  };
  walk(parse(file, text));
  return [...new Set(found)];
}

const isCode = (element: Node): boolean => nameOf(of(of(element, "openingElement"), "name")) === "code";
const isConsole = (callee: Node): boolean =>
  callee.type === "MemberExpression" && of(callee, "object")["name"] === "console";

export const bareTexts = (sources: Sources): string[] =>
  [...sources]
    .filter(([file]) => !OTHERS.test(file))
    .flatMap(([file, text]) => bare(file, text).map((said) => `${file}: has a text of its own: ${said}`));
