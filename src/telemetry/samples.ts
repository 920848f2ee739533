import type { Sample } from './text-format.ts'

/** Returns the only sample of a metric without labels. */
export function single(value: number): Sample[] {
  return [{ labels: {}, value }]
}

/** Returns a sample for each value of a label. */
export function byLabel(label: string, counts: Readonly<Record<string, number>>): Sample[] {
  return Object.entries(counts).map(([key, value]) => ({ labels: { [label]: key }, value }))
}
