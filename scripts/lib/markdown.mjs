/** The note on top of a generated page. */
export const GENERATED =
  '<!-- Made from the code by scripts/generate-reference.mjs. Change the code, then run: npm run reference -->'

/** Text that stays in one table cell. */
export function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('<', '\\<').replaceAll('\n', ' ')
}

/** A Markdown table. */
export function table(head, rows) {
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function line(cells) {
  return `| ${cells.join(' | ')} |`
}
