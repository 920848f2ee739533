/** The note on top of a generated page. */
export const GENERATED =
  '<!-- Generated from the code: run npm run generate after a change of the code. -->'

/** Text in one table cell, which reads as the code has it; code between backticks stays code. */
export function cell(text) {
  return text
    .split(/(`[^`]*`)/)
    .map((part, index) =>
      index % 2 === 1 ? part : part.replace(/[*<[\]\\]|(?<!\w)_|_(?!\w)/g, '\\$&'),
    )
    .join('')
    .replaceAll('|', '\\|')
    .replaceAll('\n', ' ')
}

/** A sentence, from a summary without its capital and its full stop. */
export function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`
}

/** A Markdown table. */
export function table(head, rows) {
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function line(cells) {
  return `| ${cells.join(' | ')} |`
}
