// Completes a translation by English: a text that the translation lacks is shown in English.

/** Some of the texts of `T`, each with the same values. */
export type Translation<T> = T extends (...values: never[]) => unknown
  ? T
  : T extends object
    ? { readonly [Key in keyof T]?: Translation<T[Key]> }
    : T;

/** The translation, completed by English. */
export function withEnglish<T>(english: T, translation: NoInfer<Translation<T>> | undefined): T {
  if (translation === undefined) return english;
  if (!isGroup(english)) return translation as T;
  const translated = translation as Record<string, Translation<unknown> | undefined>;
  return Object.fromEntries(
    Object.entries(english).map(([key, text]) => [key, withEnglish(text, translated[key])]),
  ) as T;
}

/** The paths of the texts that a translation lacks: `timeline.hint`. */
export function missingTexts(english: unknown, translation: unknown, path: readonly string[] = []): string[] {
  if (translation === undefined && !isGroup(english)) return [path.join(".")];
  if (!isGroup(english)) return [];
  const translated = isGroup(translation) ? translation : {};
  return Object.entries(english).flatMap(([key, text]) =>
    missingTexts(text, translated[key], [...path, key]),
  );
}

function isGroup(texts: unknown): texts is Record<string, unknown> {
  return typeof texts === "object" && texts !== null && !Array.isArray(texts);
}
