import { wholeNumber } from '../report/shown-numbers.ts'

/** Milliseconds, as exact as they are worth. */
export function millis(value: number): string {
  return Math.abs(value) < 10 ? value.toFixed(2) : wholeNumber(value)
}

/** A difference of milliseconds, with its sign. */
export function difference(value: number): string {
  return `${value < 0 ? '' : '+'}${millis(value)}`
}

/** The value that a share of all values does not exceed. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0
}

/** Lines with the first column to the left and the others to the right. */
export function table(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.length)))
  }
  return rows.map((row) =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ')
      .trimEnd(),
  )
}
