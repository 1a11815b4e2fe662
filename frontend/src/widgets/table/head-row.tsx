// The heads of a small table.

interface Head {
  title: string;
  help?: string | undefined;
  class?: string;
}

/** Returns the head of a column of numbers. */
export const numbers = (title: string, help?: string): Head => ({ title, help, class: "number" });

/** The row of heads: texts, or heads with more than a text; what is false is left out. */
export function HeadRow({ of }: { of: readonly (string | Head | false | null)[] }) {
  const heads = of.flatMap((one) => (typeof one === "string" ? { title: one } : one || []));
  return (
    <thead>
      <tr>
        {heads.map((head, i) => (
          <th key={i} scope="col" class={head.class} title={head.help}>
            {head.title}
          </th>
        ))}
      </tr>
    </thead>
  );
}
