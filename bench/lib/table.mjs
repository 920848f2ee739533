/** The line below the head needs so many characters. */
const NARROWEST = 3

/**
 * A Markdown table with its columns aligned, so that it reads well in a terminal too.
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
export function table(head, rows) {
  const widths = head.map((cell, i) =>
    Math.max(NARROWEST, cell.length, ...rows.map((r) => r[i]?.length ?? 0)),
  )
  /** @param {readonly string[]} cells */
  const line = (cells) =>
    `| ${cells.map((c, i) => (i === 0 ? c.padEnd(widths[i] ?? 0) : c.padStart(widths[i] ?? 0))).join(' | ')} |`
  const rule = widths.map((w, i) => (i === 0 ? '-'.repeat(w) : `${'-'.repeat(w - 1)}:`))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

/** A figure with so many decimals, or a dash when there is none. */
/** @param {number | undefined} value @param {number} decimals */
export function figure(value, decimals) {
  return value === undefined || Number.isNaN(value) ? '–' : value.toFixed(decimals)
}
