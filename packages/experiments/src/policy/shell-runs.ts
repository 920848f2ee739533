import { existsSync } from 'node:fs'
import { absolute } from './protected-files.ts'
import { MAX_COMMANDS, ShellCommand, ShellReader, UncheckedError } from './shell-commands.ts'

/** Programs that only read the files and texts that they are given. */
const READERS =
  /^(?:\[|cat|cd|cmp|cut|diff|du|echo|egrep|fgrep|file|gh (?:issue|pr|release)|grep|head|jq|less|ls|man|md5sum|mkdir|more|nl|printf|pwd|sha\d*sum|shasum|sort|stat|tail|test|tr|tree|type|uniq|wc|whereis|which|(?:mcp-)?squall(?:\.cjs|@[\w.-]*)?(?!.* (?:-- |--check|(?:stdio|sweep|try) )))(?: |$)|^git (?:add|blame|branch|commit|diff|fetch|grep(?!.* -(?:O|-op))|log|ls-files|push|rev-parse|show|status|tag)(?: |$)|^sed(?!.*(?: -\w*i| --in|(?:\b|\d)w\b|\de |\/e\b))|^rg(?!.* --pre(?: |=))|^yq(?!.* (?:-\w*i|--in))|^[gm]?awk(?!.*(?:inplace|system|[>|]))|^find(?!.* -(?:delete|exec|ok|fls|fprint))/i
/** Programs that run the command behind them, with the options that have a value. */
const LAUNCHERS = new Map(
  'sudo=ghpuCDRTU doas=ghpuCDRTU env=uC nice=cn ionice=cn watch=cn timeout=ks builtin= command= exec= nohup= setsid= stdbuf= time= npx= busybox='
    .split(' ')
    .map((each) => each.split('=') as [string, string]),
)
/** Words in front of a command. */
const PREFIX = /^(?:[{!]|if|then|elif|else|do|while|until|npm|--|--yes|-y|\w+=.*)$/s
/** Options of git that change neither what it runs nor the files that it changes. */
const SAFE_SETTING = /^(?:advice|author|color|commit|committer|user)\./
/** Programs that run what a pipe brings. */
const RUNS_INPUT =
  /^(?:(?:ba|da|z|k|a)?sh|xargs|parallel|python[\d.]*|node|perl|ruby|php|patch|git apply|at|batch|ssh|docker|podman|source|\.)(?: |$)/
/** Settings that name a program: variables, and those of git. */
const SETS_PROGRAM = /^(?:[A-Z_]+|\w+(?:\.[\w-]+)+)=/
const ALIAS = /\balias\.|GIT_CONFIG_VALUE/i
const ALIAS_NAME = /^alias\.[^\s=]+$/i
/** Words that make it uncertain which command runs where. */
const UNCERTAIN = /\b(?:do|then|else|case|function|alias|CDPATH)\b|\(\s*\)/
const MAX_SHELLS = 4
const MAX_DIRECTORIES = 8

/** A command, as it runs. */
export interface Run extends Omit<ShellCommand, 'words'> {
  readonly words: readonly string[]
  /** The words without those that run the command, and without the directory of its program. */
  readonly plain: readonly string[]
  /** These words in one line. */
  readonly line: string
  /** True for a program that only reads, whose words are data. */
  readonly isReader: boolean
  /** The directories in which it may run. */
  readonly directories: readonly string[]
}

/**
 * Returns the commands that a text for a shell runs, also by other shells and programs, in
 * directories. Throws an `UncheckedError`.
 */
export function runsOf(text: string, ...directories: readonly string[]): readonly Run[] {
  const walk = new Walk()
  walk.read(text, directories)
  // Only some shells know $'…'.
  if (text.includes("$'")) walk.read(text.replaceAll("$'", "'"), directories)
  return walk.runs
}

/** Returns the last part of the path of a program. */
export function programOf(word: string): string {
  return word.includes('/') ? word.replace(/^[^\s=]*\//, '') : word
}

class Walk {
  readonly runs: Run[] = []
  readonly #values = new Map(
    Object.entries({ HOME: '~', PWD: '.', CLAUDE_PROJECT_DIR: '.', IFS: ' ' }),
  )
  /** The files that the text writes, which later commands may run. */
  readonly #scripts = new Map<string, readonly string[]>()

  read(text: string, directories: readonly string[], depth = 0): void {
    if (depth > MAX_SHELLS) {
      throw new UncheckedError('it nests too many shells to be checked; nest fewer')
    }
    const isUncertain = UNCERTAIN.test(text)
    // Loops and functions may use variables that are set behind them.
    if (isUncertain) new ShellReader(text, this.#values).list()
    const reader = new ShellReader(text, this.#values)
    reader.list()
    this.#take(reader, new Places(directories, isUncertain), depth)
  }

  #take({ commands, isGrouped }: ShellReader, places: Places, depth: number): void {
    const feeds = isGrouped && commands.some(runsInput)
    for (const command of commands) {
      const words = this.#withoutAlias(command)
      const plain = launched(words)
      if (command.words.length + command.written.length > 0) {
        const line = plain.join(' ')
        const isReader = READERS.test(line) && !/\s/.test(plain[0]!)
        const own = { words: [...words], plain, line, isReader, directories: places.now }
        const run = Object.assign(new ShellCommand(), command, own)
        if (this.runs.push(run) > MAX_COMMANDS) throw new UncheckedError()
        const texts = this.#textsOf(run, feeds || feedsShell(command))
        for (const text of texts) this.read(text, places.now, depth + 1)
      }
      places.after(command, plain)
    }
  }

  #withoutAlias({ words: [first = '', ...rest] }: ShellCommand): readonly string[] {
    return [...(this.#values.get(`alias ${first}`) ?? first).split(' '), ...rest]
  }

  /** Returns the texts that a command runs, or may run. */
  #textsOf(run: Run, isFeeding: boolean): readonly string[] {
    const { words, texts, written, read, plain, line, isReader } = run
    const [name = ''] = plain
    const printed = /^(?:echo|printf)$/.test(name) ? [line.slice(name.length + 1)] : []
    for (const path of written) this.#scripts.set(scriptOf(path), [...texts, ...printed])
    const given = texts.filter((text) => isFeeding || !isReader || SETS_PROGRAM.test(text))
    const found = given.map((text) => text.replace(/^[-\w.]+=!?|^[[({\s]+/, ''))
    if (name === 'eval') found.push(line.slice('eval '.length))
    if (isFeeding) found.push(...printed)
    for (const word of isReader ? [] : [...words, ...read]) {
      found.push(...(this.#scripts.get(scriptOf(word)) ?? []))
      this.#scripts.delete(scriptOf(word))
    }
    if (!isReader) rejectAlias(words)
    const isAlias = words.some((word) => ALIAS.test(word))
    const aliased = isAlias ? found.filter((text) => !ALIAS_NAME.test(text)) : []
    // A single word changes nothing.
    return [...found, ...aliased.map((text) => `git ${text}`)].filter(
      (text) => !/^[-\w./=:,+%]*$/.test(text),
    )
  }
}

/** Throws for an alias that does more than read: later commands run it with words of their own. */
function rejectAlias(words: readonly string[]): void {
  for (const [at, word] of words.entries()) {
    const set = /^alias\.[^\s=]+=(.*)$/is.exec(word)?.[1]
    const value = set ?? (ALIAS_NAME.test(word) ? words.slice(at + 1).join(' ') : '')
    if (value !== '' && !isReading(['git', ...value.split(' ')]))
      throw new UncheckedError(
        'it sets a git alias that may change files; write the command itself',
      )
  }
}

function scriptOf(path: string): string {
  return path.replace(/^\.\//, '')
}

/** Returns a command without the words that run it, and without the directory of its program. */
export function launched(words: readonly string[]): readonly string[] {
  let at = 0
  for (; at < words.length; at++) {
    const name = programOf(words[at]!)
    const valued = LAUNCHERS.get(name)
    const next = words[at + 1] ?? ''
    if (valued !== undefined) {
      for (; words[at + 1]?.startsWith('-'); at++) {
        if (words[at + 1]!.length === 2 && valued.includes(words[at + 1]![1]!)) at++
      }
      if (name === 'timeout') at++
    } else if (/^(?:npm|pnpm|yarn)$/.test(name) && next === 'run') at += 2
    else if (!PREFIX.test(name) && !(name === 'node' && next.endsWith('squall.cjs'))) break
  }
  const plain = words.slice(at)
  if (plain.length > 0) plain[0] = programOf(plain[0]!)
  return plain[0] === 'git' ? withoutSettings(plain) : plain
}

function withoutSettings(git: readonly string[]): readonly string[] {
  let at = 1
  for (; git[at]?.startsWith('-'); at++) {
    const isSafe = git[at] === '-c' && SAFE_SETTING.test(git[at + 1] ?? '')
    if (isSafe || git[at] === '-C') at++
    else if (!/^(?:-P$|--no-)/.test(git[at]!)) return git
  }
  return ['git', ...git.slice(at)]
}

/** Returns true for a command whose program only reads. */
export function isReading(words: readonly string[]): boolean {
  return READERS.test(launched(words).join(' '))
}

function runsInput({ words }: ShellCommand): boolean {
  return RUNS_INPUT.test(launched(words).slice(0, 2).join(' '))
}

/** Returns true where the output of a command is run by a later command of its pipe. */
function feedsShell({ to }: ShellCommand, most = 9): boolean {
  return to !== undefined && most > 0 && (runsInput(to) || feedsShell(to, most - 1))
}

/** The directories in which the next command may run. */
class Places {
  now: readonly string[]
  readonly #isUncertain: boolean
  readonly #seen: Set<string>
  /** The directories at the start of a list of commands, and whether each `cd` in it succeeds. */
  #first: readonly string[]
  #isSure = true

  constructor(directories: readonly string[], isUncertain: boolean) {
    this.now = this.#first = directories
    this.#seen = new Set(directories)
    this.#isUncertain = isUncertain
  }

  after({ words, end }: ShellCommand, plain: readonly string[]): void {
    const [, name, to] =
      /^(cd|chdir|pushd|popd)(?: (?!-$)-\S*)*(?: (\S+))?$/.exec(plain.join(' ')) ?? []
    if (name === undefined) this.#isSure &&= words.length === 0
    else {
      const isKnown = to !== undefined && to !== '-' && name !== 'popd'
      const all = isKnown ? this.now.map((each) => absolute(to, each)) : [...this.#seen]
      const existing = all.filter((each) => existsSync(each))
      const isPlain = plain.length === words.length
      this.#isSure &&= isPlain && /^(?:&&|[;\n])?$/.test(end) && existing.length > 0
      this.now = existing.length > 0 ? existing : all
      for (const each of this.now) this.#seen.add(each)
    }
    if (this.#isUncertain || (end !== '&&' && !this.#isSure)) {
      this.now = [...new Set([...this.#first, ...this.now])]
    }
    if (end === ')') this.now = [...this.#seen]
    if (end !== '&&') {
      this.#first = this.now
      this.#isSure = /^[;\n(]$/.test(end)
    }
    if (this.#seen.size <= MAX_DIRECTORIES) return
    throw new UncheckedError('it runs in too many directories to be checked; split it')
  }
}
