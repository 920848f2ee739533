const TOKEN =
  /\$'((?:[^'\\]|\\.)*)'|'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(\r?\n|.)|(\d{0,3}(?:&>>?|>>?[|&]?|<>|<{1,3}[-&]?)(?!\())|(&&|\|[|&]?|[;&\n()`])|([ \t\r]+)|(#)[^\n]*|[^\s'"\\&|;()`<>#$]+|./gs
const ESCAPES = /\\(?:x([\da-f]{1,2})|u([\da-f]{1,4})|0?([0-7]{1,3})|(.))/gi
/** Strings of a list, which other languages run as one command. */
const LISTED = /\\?(["'`])\s*,\s*[[(]?\s*\\?\1/g

/** One command in a text for a shell. */
export interface ShellCommand {
  /** The words without quotes, separated by spaces. */
  line: string
  /** Quoted words and documents that the program gets: it may run them. */
  readonly texts: string[]
  /** The files of redirections. */
  readonly written: string[]
  readonly read: string[]
  /** The operator behind the command. */
  end: string
}

/** Decodes what is in the quotes of `$'…'`. */
export function unescaped(text: string): string {
  return text.replaceAll(ESCAPES, (_all, hex = '', code = hex, octal = '', other = '') =>
    other === '' ? String.fromCharCode(Number(octal ? `0o${octal}` : `0x${code}`)) : other,
  )
}

/** Joins the strings of lists. */
export function joinedLists(text: string): string {
  return text.replaceAll(LISTED, ' ').replaceAll(/\[(?=\\*["'])/g, '(')
}

/** Splits a text into commands, as a shell does. A quote without its end is a letter. */
export function commandsOf(text: string): readonly ShellCommand[] {
  const reader = new CommandReader(joinedLists(text))
  while (reader.take());
  return reader.commands
}

class CommandReader {
  readonly commands: ShellCommand[] = [empty()]
  readonly #text: string
  #at = 0
  /** The word so far; undefined between words. */
  #word: string | undefined
  #isQuoted = false
  /** The redirection before a word. */
  #into = ''
  /** The ends of documents that begin with the next line. */
  #documents: {
    readonly mark: string
    readonly isIndented: boolean
    readonly of: ShellCommand
  }[] = []
  #hasOpen = false

  constructor(text: string) {
    this.#text = text
  }

  /** Reads a token; false at the end. */
  take(): boolean {
    TOKEN.lastIndex = this.#at
    const token = TOKEN.exec(this.#text)
    if (token === null) this.#endWord()
    else this.#read(token)
    return token !== null
  }

  #read([all, coded, single, double, other, into, end, blank, comment]: RegExpExecArray): void {
    const isFirst = this.#word === undefined && !/[^\s;&|(]/.test(this.#text[this.#at - 1] ?? ' ')
    this.#at += comment === undefined || isFirst ? all.length : 1
    const quoted = single ?? double?.replaceAll(/\\(["\\$`\n])/g, '$1')
    if (quoted !== undefined || coded !== undefined) {
      this.#word = (this.#word ?? '') + (quoted ?? unescaped(coded!))
      this.#isQuoted = true
    } else if (into !== undefined || end !== undefined || blank !== undefined) {
      this.#endWord()
      if (into !== undefined) this.#into = into
      if (end === undefined) return
      this.commands.at(-1)!.end = end
      this.commands.push(empty())
      if (end === '\n') this.#readDocuments()
    } else if (!(comment !== undefined && isFirst) && other?.endsWith('\n') !== true) {
      this.#word = (this.#word ?? '') + (comment ?? other ?? all)
    }
  }

  #endWord(): void {
    const word = this.#word
    if (word === undefined) return
    const now = this.commands.at(-1)!
    const into = this.#into
    if (into.includes('<<<')) now.texts.push(word)
    else if (into.includes('<<')) {
      if (!this.#hasOpen && !this.#isArithmetic())
        this.#documents.push({ mark: word, isIndented: into.endsWith('-'), of: now })
    } else if (/^\d*<(?!>)/.test(into)) now.read.push(word)
    else if (into !== '') now.written.push(word)
    else {
      now.line += now.line === '' ? word : ` ${word}`
      if (this.#isQuoted || /^alias\./i.test(word)) now.texts.push(word)
    }
    this.#word = undefined
    this.#isQuoted = false
    this.#into = ''
  }

  /** Returns true where `<<` may be an operator of arithmetic: the next lines are commands. */
  #isArithmetic(): boolean {
    const line = this.#text.slice(this.#text.lastIndexOf('\n', this.#at - 1) + 1, this.#at)
    const count = (sign: string): number => line.split(sign).length
    return count('((') > count('))') || count('[') > count(']') || count('{') > count('}')
  }

  #readDocuments(): void {
    for (const { mark, isIndented, of } of this.#documents.splice(0)) {
      const from = this.#at
      for (let at = from, to = 0; to >= 0 && at <= this.#text.length; at = to + 1) {
        to = this.#text.indexOf('\n', at)
        const line = this.#text.slice(at, to < 0 ? undefined : to)
        if ((isIndented ? line.replace(/^\t+/, '') : line) !== mark) continue
        const text = this.#text.slice(from, at)
        of.texts.push(text)
        this.#at = at + line.length
        break
      }
      // A document without an end is the rest of the text, which is read as commands.
      if (this.#at === from) this.#hasOpen = true
      if (this.#hasOpen) return
    }
  }
}

function empty(): ShellCommand {
  return { line: '', texts: [], written: [], read: [], end: '' }
}
