/** A string, a template or a comment of a source, without its quotes or comment signs. */
export interface CodeText {
  readonly kind: 'string' | 'comment'
  readonly at: number
  readonly text: string
}

interface Piece {
  readonly kind: 'string' | 'line' | 'block'
  readonly at: number
  readonly end: number
  readonly text: string
}

const TOKEN =
  /\/\*[^]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"|[`{}]|\/(?:[^\\/[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//g
const TEMPLATE = /(?:[^`\\$]|\\[^]|\$(?!\{))*(`|\$\{)/y
/** Text before a slash that begins a regular expression; others divide. */
const BEFORE_EXPRESSION = /(?:[(,=:[!&|?{};+>]|\breturn)\s*$/

/** Returns the strings and comments of TypeScript or JavaScript; values in templates are `…`. */
function piecesOf(source: string): readonly Piece[] {
  const pieces: Piece[] = []
  const open: { readonly at: number; readonly depth: number; text: string }[] = []
  let depth = 0
  /** Reads a template up to its end or its next value. */
  const readTemplate = (): void => {
    TEMPLATE.lastIndex = TOKEN.lastIndex
    const [read, end] = TEMPLATE.exec(source)!
    const template = open.at(-1)!
    template.text += read.slice(0, -end!.length)
    TOKEN.lastIndex = TEMPLATE.lastIndex
    if (end === '`') pieces.push({ kind: 'string', end: TOKEN.lastIndex, ...open.pop()! })
    else depth++
  }
  TOKEN.lastIndex = 0
  for (let match = TOKEN.exec(source); match !== null; match = TOKEN.exec(source)) {
    const [token] = match
    const place = { at: match.index, end: TOKEN.lastIndex }
    if (token === '{') depth++
    else if (token === '}') {
      depth--
      if (open.at(-1)?.depth === depth) {
        open.at(-1)!.text += '…'
        readTemplate()
      }
    } else if (token === '`') {
      open.push({ at: match.index, depth, text: '' })
      readTemplate()
    } else if (token.startsWith('//')) {
      pieces.push({ ...place, kind: 'line', text: token.slice(2) })
    } else if (token.startsWith('/*')) {
      pieces.push({ ...place, kind: 'block', text: token.replace(/^\/\*+|\s*\*+\/$|^\s*\*/gm, '') })
    } else if (!token.startsWith('/')) {
      pieces.push({ ...place, kind: 'string', text: token.slice(1, -1) })
    } else if (!BEFORE_EXPRESSION.test(source.slice(Math.max(0, match.index - 20), match.index))) {
      TOKEN.lastIndex = match.index + 1
    }
  }
  return pieces
}

/** Returns the texts of a source; lines of a comment and added strings are one text. */
export function codeTexts(source: string): readonly CodeText[] {
  const joined: Piece[] = []
  for (const piece of piecesOf(source)) {
    const last = joined.at(-1)
    const gap = last?.kind === piece.kind ? source.slice(last.end, piece.at) : ''
    const continues = piece.kind === 'line' ? /^\n[ \t]*$/ : /^\s*\+\s*$/
    if (last !== undefined && piece.kind !== 'block' && continues.test(gap)) {
      const text = `${last.text}${gap.replace('+', '')}${piece.text}`
      joined[joined.length - 1] = { ...last, end: piece.end, text }
    } else {
      joined.push(piece)
    }
  }
  return joined.map(({ kind, at, text }) =>
    kind === 'string'
      ? { kind, at, text: text.replaceAll(String.raw`\n`, '  ') }
      : { kind: 'comment', at, text },
  )
}
