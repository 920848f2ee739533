/** Stands for what only the shell knows: a variable that is not set, the output of a program. */
export const UNKNOWN = '\uE000'
const BLANK = /(?:[ \t\r]|\\\r?\n)+(?:#[^\n]*)?|#[^\n]*/y
const REDIRECTION = /\d{0,3}(?:&>>?|>>?[|&]?|<>|<{1,3}[-&]?)(?!\()/y
const END = /&&|\|[|&]?|[;&\n()]/y
const ENDS_WORD = ' \t\r\n;&|()<>'
const PLAIN = /[^\s'"\\$`&|;()<>{}]+|./sy
const QUOTED = /[^"\\$`}]+|./sy
const CODED = /\$'((?:[^'\\]|\\.)*)'/sy
const TICKS = /`((?:[^`\\]|\\.)*)`/sy
const PARAMETER = /\$(?:\{([!#]?\w+|[@*#?$!-])(:?[-=+?])?|([a-z_]\w*|[\d@*#?$!-]))/iy
const ESCAPES = /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|0?([0-7]{1,3})|(.))/gis
/** Strings of a list, which other languages run as one command. */
const LISTED = /\\?(["'`])\s*,\s*[[(]?\s*\\?\1/g
const BRACES = /\{((?:[^{},.]|\.(?!\.))*)(,|\.\.)([^{}]*)\}/
const ASSIGNED = /^([a-z_]\w*)(\+?)=(.*)$/is
/** Protected files, or parts of their names, in a command whose output is a word of another. */
const SUSPECT =
  /squall|polic|\.(?:claude|cursor|vscode|mcp)|(?:history|audit)\.jsonl|[*?\]][\w.-]{0,99}\.(?:ya?ml|jsonl?)$/i
const MAX_WORDS = 64
export const MAX_COMMANDS = 2048
/** Limits what variables, braces and outputs add to a text. */
const MAX_GROWN = 256 * 1024
const MAX_DEPTH = 64
/** Separates the words of a variable without quotes. */
const SPLIT = '\uE001'

/** Reports a command that cannot be checked. */
export class UncheckedError extends Error {
  override readonly name = 'UncheckedError'

  constructor(why = 'the command is too long to check; shorten the command') {
    super(why)
  }
}

/** One command in a text for a shell. */
export class ShellCommand {
  /** The words without quotes, with variables and braces replaced. */
  readonly words: string[] = []
  /** Quoted words and documents that the program gets: it may run them. */
  readonly texts: string[] = []
  /** The files of redirections. */
  readonly written: string[] = []
  readonly read: string[] = []
  /** The operator behind the command. */
  end = ''
  /** The next command of its pipe. */
  to: ShellCommand | undefined = undefined
  /** True where an unknown word is the output of a command that names protected files. */
  isSuspect = false
}

const newWord = () => ({ text: '', isQuoted: false, hasBraces: false })
type Word = ReturnType<typeof newWord>

/**
 * Splits a text into commands, as a shell does; those of a substitution come before the command
 * with it. A quote without its end is a letter.
 */
export class ShellReader {
  readonly commands: ShellCommand[] = []
  /** True where several commands write into one pipe. */
  isGrouped = false
  readonly #text: string
  readonly #lastBrace: number
  readonly #values: Map<string, string>
  #depth: number
  #at = 0
  #now = new ShellCommand()
  #suspects = 0
  #grown = 0
  #line = 0
  /** The ends of documents that begin with the next line. */
  #documents: { mark: string; isIndented: boolean; isQuoted: boolean; of: ShellCommand }[] = []
  #hasOpen = false

  constructor(text: string, values: Map<string, string>, depth = 0) {
    this.#text = text.replaceAll(LISTED, ' ').replaceAll(/\[(?=\\*["'])/g, '(')
    this.#lastBrace = this.#text.lastIndexOf('}')
    this.#values = values
    this.#depth = depth
  }

  /** Reads commands up to the end, or to the parenthesis behind them; returns those at its level. */
  list(close = ''): readonly ShellCommand[] {
    this.#deepen()
    const own: ShellCommand[] = []
    const outer = this.#now
    this.#now = new ShellCommand()
    let into = ''
    let open = 0
    for (;;) {
      this.#take(BLANK)
      const sign = this.#text[this.#at]
      if (sign === undefined || (sign === close && open === 0)) break
      const redirection = this.#take(REDIRECTION)
      const end = redirection === undefined ? this.#take(END)?.[0] : ''
      if (redirection !== undefined) into = redirection[0]
      else if (end === undefined) {
        this.#word(into)
        into = ''
      } else {
        if (end === '(') open++
        if (end === ')') open = Math.max(0, open - 1)
        if (end !== '(' || this.#now.words.length > 0) this.#end(end, own)
      }
    }
    this.#end(close, own)
    this.#at++
    this.#depth--
    this.#now = outer
    return own
  }

  /** Reads the text as the body of a document, in which only `$` and backticks have a meaning. */
  document(): string {
    return this.#pieces(newWord(), '', true)
  }

  #deepen(): void {
    if (++this.#depth <= MAX_DEPTH) return
    throw new UncheckedError('it nests commands too deeply to be checked; simplify it')
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text) ?? undefined
    if (found !== undefined) this.#at += found[0].length
    return found
  }

  #pieces(word: Word, stop: string, isDouble: boolean): string {
    for (let sign = ''; (sign = this.#text[this.#at] ?? '') !== '' && !stop.includes(sign);) {
      if (sign === '\\') this.#escape(word, isDouble)
      else if (sign === '$') this.#dollar(word, isDouble)
      else if (sign === '`') this.#ticks(word, isDouble)
      else if (/["']/.test(sign) && (!isDouble || (sign === '"' && stop === '}'))) {
        this.#quotes(word, sign)
      } else {
        if (sign === '{' && !isDouble) word.hasBraces = true
        word.text += this.#take(isDouble ? QUOTED : PLAIN)![0]
      }
    }
    return word.text
  }

  #quotes(word: Word, sign: string): void {
    const end = this.#text.indexOf(sign, ++this.#at)
    word.isQuoted = true
    if (end < 0) word.text += sign
    else if (sign === '"') {
      this.#pieces(word, sign, true)
      this.#at++
    } else {
      word.text += this.#text.slice(this.#at, end)
      this.#at = end + 1
    }
  }

  #escape(word: Word, isDouble: boolean): void {
    const next = this.#take(/\\(?:\r?\n|.|$)/sy)![0].slice(1)
    if (isDouble && !/["\\$`\n]/.test(next)) word.text += `\\${next}`
    else if (!next.endsWith('\n')) word.text += next
    // A word with a blank is one text.
    word.isQuoted ||= /[ \t]/.test(next)
  }

  #ticks(word: Word, isDouble: boolean): void {
    const ticks = this.#take(TICKS)?.[1]?.replaceAll(/\\([\\$`])/g, '$1')
    if (ticks === undefined) word.text += this.#text[this.#at++]!
    else this.#output(word, isDouble, () => this.#within(ticks, (inner) => inner.list()))
  }

  /** Reads a text in this one, whose commands come first. */
  #within<T>(text: string, read: (inner: ShellReader) => T): T {
    this.#deepen()
    const inner = new ShellReader(text, this.#values, this.#depth--)
    const value = read(inner)
    this.#grow(inner.#grown)
    this.#suspects += inner.#suspects
    for (const each of inner.commands) this.#push(each)
    return value
  }

  #dollar(word: Word, isDouble: boolean): void {
    const next = this.#text[this.#at + 1]
    const coded = isDouble ? undefined : this.#take(CODED)?.[1]
    if (coded !== undefined) {
      word.text += unescaped(coded)
      word.isQuoted = true
    } else if (next === '(') {
      this.#at += 2
      this.#output(word, isDouble, () => this.list(')'))
    } else {
      const isOpen = next === '{' && this.#lastBrace < this.#at
      const found = isOpen ? undefined : this.#take(PARAMETER)
      if (found?.[1] !== undefined) this.#parameter(word, found[1], found[2] ?? '', isDouble)
      else if (found !== undefined) this.#expand(word, this.#valueOf(found[3]!, word), isDouble)
      else if (next === '"' && !isDouble) this.#at++
      else word.text += this.#text[this.#at++]!
    }
  }

  #parameter(word: Word, name: string, operator: string, isDouble: boolean): void {
    this.#deepen()
    const other = this.#pieces(newWord(), '}', isDouble)
    this.#at++
    this.#depth--
    const known = this.#valueOf(name, word)
    // The effect of another operator on a known value is not.
    const isCut = operator === '' && other !== '' && name !== 'IFS'
    if (isCut) this.#now.isSuspect ||= SUSPECT.test(known ?? '')
    if (operator.endsWith('=') && known === undefined) this.#values.set(name, other)
    const value = operator.endsWith('+') || known === undefined ? other || undefined : known
    this.#expand(word, isCut ? UNKNOWN : value, isDouble)
  }

  #output(word: Word, isDouble: boolean, list: () => readonly ShellCommand[]): void {
    const before = this.#suspects
    const output = outputOf(list())
    if (output?.includes(UNKNOWN) !== false) this.#now.isSuspect ||= this.#suspects > before
    this.#expand(word, output, isDouble)
  }

  /** Adds what stands for a variable or a command, which may be several words. */
  #expand(word: Word, value = UNKNOWN, isDouble: boolean): void {
    this.#grow(value.length)
    const isWhole = isDouble || (word.text.length < 80 && /^\w+\+?=/.test(word.text))
    word.text += isWhole ? value : value.replaceAll(/\s+/g, SPLIT)
  }

  #grow(length: number): void {
    this.#grown += length
    if (this.#grown > MAX_GROWN) throw new UncheckedError()
  }

  #valueOf(name: string, word: Word): string | undefined {
    word.hasBraces ||= this.#values.get(name)?.startsWith('{') === true
    return this.#values.get(name)
  }

  #word(into: string): void {
    const word = newWord()
    if (/[<>]/.test(this.#text[this.#at]!)) {
      this.#at += 2
      const output = outputOf(this.list(')'))
      if (output !== undefined) this.#now.texts.push(output)
      word.text = UNKNOWN
    }
    this.#pieces(word, ENDS_WORD, false)
    const { text, isQuoted } = word
    if (SUSPECT.test(text)) this.#suspects++
    const parts = text.split(SPLIT).filter((part) => part !== '' || isQuoted)
    const words = word.hasBraces ? parts.flatMap(expanded) : parts
    if (words.length > 1) this.#grow(words.join(' ').length)
    for (const each of words) this.#place(each, into, isQuoted)
  }

  #place(word: string, into: string, isQuoted: boolean): void {
    const now = this.#now
    if (into.includes('<<<')) now.texts.push(word)
    else if (into.includes('<<')) {
      const document = { mark: word, isIndented: into.endsWith('-'), isQuoted, of: now }
      if (!this.#hasOpen) this.#documents.push(document)
    } else if (/^\d*<(?!>)/.test(into)) now.read.push(word)
    else if (into !== '') now.written.push(word)
    else {
      now.words.push(word)
      if (isQuoted || /^alias\./i.test(word)) now.texts.push(word)
      const [, name = '', added, value = ''] = ASSIGNED.exec(word) ?? []
      if (name === '') return
      const before = added === '' ? '' : (this.#values.get(name) ?? '')
      const all = before.endsWith(value) ? before || value : before + value
      this.#values.set(now.words[0] === 'alias' ? `alias ${name}` : name, all)
    }
  }

  #end(end: string, own: ShellCommand[]): void {
    const now = this.#now
    const [first = ''] = now.words
    const last = own.at(-1)
    if (end === '\n') this.#readDocuments()
    // A pipe continues on the next line.
    const isNone = first === '' && now.written.length === 0 && /^[;\n]$/.test(end)
    if (isNone && (last?.to === now || last?.end === end)) return
    now.end = end
    own.push(now)
    this.#push(now)
    this.#now = new ShellCommand()
    if (/^\|&?$/.test(end)) {
      now.to = this.#now
      this.isGrouped ||= /^(?:\}|done|fi|esac|)$/.test(first)
    }
    this.#setLoop(now.words)
  }

  #push(command: ShellCommand): void {
    if (this.commands.push(command) > MAX_COMMANDS) throw new UncheckedError()
  }

  /** Sets the variables of loops over words, of input, and of `printf`. */
  #setLoop(words: readonly string[]): void {
    const at = words.slice(0, 4).findIndex((word) => /^(?:for|select|read|printf)$/.test(word))
    const [name = '', second = '', ...list] = words.slice(at + 1)
    if (at < 0) return
    if (words[at] === 'read') for (const each of words.slice(at + 1)) this.#values.set(each, '*')
    else if (name === '-v') this.#values.set(second, words.at(-1)!)
    else if (second === 'in') {
      const isKnown = list.length > 0 && !list.some((each) => each.includes(UNKNOWN))
      this.#values.set(name, !isKnown ? '*' : list.length === 1 ? list[0]! : `{${list.join(',')}}`)
    }
  }

  #readDocuments(): void {
    const documents = this.#documents.splice(0)
    // In arithmetic, << is an operator: the next lines are commands.
    const line = documents.length === 0 ? '' : this.#text.slice(this.#line, this.#at)
    for (const { mark, isIndented, isQuoted, of } of /\(\(|[\w$]\[/.test(line) ? [] : documents) {
      const from = this.#at
      for (let at = from, to = 0; to >= 0 && at <= this.#text.length; at = to + 1) {
        to = this.#text.indexOf('\n', at)
        const each = this.#text.slice(at, to < 0 ? undefined : to)
        if ((isIndented ? each.replace(/^\t+/, '') : each) !== mark) continue
        const text = this.#text.slice(from, at)
        of.texts.push(isQuoted ? text : this.#within(text, (inner) => inner.document()))
        this.#at = at + each.length
        break
      }
      // A document without an end is the rest of the text, which is read as commands.
      this.#hasOpen = this.#at === from
      if (this.#hasOpen) break
    }
    this.#line = this.#at
  }
}

/** Decodes escapes, as in `$'…'`. */
function unescaped(text: string): string {
  return text.replaceAll(ESCAPES, (_all, hex = '', code = hex, octal = '', other = '') => {
    if (other !== '') return /[nrt]/.test(other) ? '\n' : other
    return String.fromCharCode(Number(octal ? `0o${octal}` : `0x${code}`))
  })
}

/** Returns the words for a word with lists in braces; `*` stands for too many. */
function expanded(word: string): readonly string[] {
  const words = [word]
  for (let at = 0; at < words.length;) {
    const [list, first, sign, rest] = BRACES.exec(words[at]!) ?? []
    const parts = sign === ',' ? `${first},${rest}`.split(',') : ['*']
    if (words.length + parts.length > MAX_WORDS) return [word.replace(/\{.*\}/s, '*')]
    if (list === undefined) at++
    else words.splice(at, 1, ...parts.map((part) => words[at]!.replace(list, () => part)))
  }
  return words
}

/** Returns the output of commands where they show it. */
function outputOf(commands: readonly ShellCommand[]): string | undefined {
  const [only, ...more] = commands.filter(({ words }) => words.length > 0)
  if (only === undefined || more.length + only.read.length + only.written.length > 0)
    return undefined
  const [name = '', ...rest] = only.words
  const given = rest.filter((each) => !/^-\w/.test(each))
  if (name === 'echo') return unescaped(given.join(' '))
  if (name === 'printf') {
    const [format = '', ...values] = given
    return unescaped(format.replaceAll(/%\w/g, () => values.shift() ?? '')).trimEnd()
  }
  if (name === 'cat') return rest.length === 0 ? only.texts.join('').trimEnd() : undefined
  if (name === 'pwd') return '.'
  if (/^(?:basename|readlink|realpath)$/.test(name)) return given[0]
  const found = /^(?:command|type|which)$/.test(name) ? given.at(-1) : undefined
  return found !== undefined && /^(?:mcp-)?squall$/.test(found) ? `bin/${found}` : undefined
}
