// A path of names as the server takes it: separated by `;`, which a name may hold, too.

export function joinNames(names: readonly string[]): string {
  return names.map((name) => name.replace(/[\\;]/g, "\\$&")).join(";");
}

export function splitNames(path: string | null): string[] {
  if (path === null) return [];
  const names: string[] = [];
  let name = "";
  for (const match of path.matchAll(/\\[\\;]|[\s\S]/g)) {
    const part = match[0];
    if (part === ";") {
      names.push(name);
      name = "";
    } else name += part.slice(-1);
  }
  return [...names, name];
}
