// The rules of this code that neither the compiler nor Biome has: each returns what breaks it.
import { bareTexts } from "./bare-texts";
import { firstLine } from "./first-line";
import { functionLength } from "./function-length";
import { layers, lineLength, onePlace } from "./layers";
import { rowFields } from "./row-fields";
import { readSources } from "./sources";
import { columnMeanings, tidyChinese, translations } from "./translations";

export function violations(): string[] {
  const sources = readSources();
  const rules = [firstLine, layers, onePlace, lineLength, functionLength, bareTexts, tidyChinese, rowFields];
  return [...rules.flatMap((rule) => rule(sources)), ...translations(), ...columnMeanings()];
}
