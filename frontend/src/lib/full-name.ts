// Kernels have two names: one that people read, and the one that their compiler wrote. The second is
// the key of links and searches, as several kernels may have the same first one.

export interface Named {
  name: string;
  /** Null if it is the name. */
  full_name: string | null;
}

export const fullName = ({ name, full_name }: Named): string => full_name ?? name;
