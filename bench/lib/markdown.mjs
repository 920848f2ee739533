import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/**
 * Puts generated text between its two markers in a Markdown file and leaves the rest alone; a block
 * that the file does not have yet is added at its end.
 * @param {string} file
 * @param {string} block
 * @param {string} text
 */
export function writeBlock(file, block, text) {
  const begin = `<!-- bench:${block}:begin, written by npm run bench -->`
  const end = `<!-- bench:${block}:end -->`
  const fresh = `${begin}\n\n${text.trim()}\n\n${end}`
  const old = existsSync(file) ? readFileSync(file, 'utf8') : '# Performance\n'
  const from = old.indexOf(begin)
  const to = old.indexOf(end, from)
  if (from >= 0 && to < 0) throw new Error(`${file}: '${begin}' has no '${end}'`)
  writeFileSync(
    file,
    from < 0
      ? `${old.trimEnd()}\n\n${fresh}\n`
      : old.slice(0, from) + fresh + old.slice(to + end.length),
  )
}
