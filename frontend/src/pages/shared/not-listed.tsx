// How many rows the server left out.
interface NotListedProps {
  listed: number;
  total: number;
  text: (listed: number, all: number) => string;
}

export function NotListed({ listed, total, text }: NotListedProps) {
  if (listed >= total) return null;
  return (
    <span class="muted" data-testid="not-listed" data-value={total - listed}>
      {text(listed, total)}
    </span>
  );
}
