import { existsSync } from 'node:fs'
import { readSmallFile } from '#base'
import {
  absolute,
  hasProtected,
  isNameOfProtected,
  isParent,
  leadsToProtected,
  MAX_PATH,
  type Protected,
} from './protected-files.ts'
import { commandsOf, type ShellCommand } from './shell-commands.ts'
import { MAX_SHELLS, variablesOf } from './shell-text.ts'

/** Programs that only read the files and texts that they are given. */
const READERS =
  /^(?:\[|cat|cd|cmp|cut|diff|du|echo|egrep|fgrep|file|gh (?:issue|pr)|grep|head|jq|less|ls|man|md5sum|mkdir|more|nl|printf|pwd|sha\d*sum|shasum|sort|stat|tail|test|tr|tree|type|uniq|wc|whereis|which|(?:mcp-)?squall(?:\.cjs|@[\w.-]*)?(?!.* (?:-- |--check|(?:stdio|sweep|try) )))(?: |$)|^git (?:add|blame|branch|commit|diff|fetch|grep(?!.* -(?:O|-op))|log|ls-files|push|rev-parse|show|status|tag)(?: |$)|^sed(?!.*(?: -\w*i| --in|\bw\b|\de |\/e\b))|^rg(?!.* --pre(?: |=))|^yq(?!.* (?:-\w*i|--in))|^[gm]?awk(?!.*(?:inplace|system|[>|]))|^find(?!.* -(?:delete|exec|ok|fls|fprint))/i
/** Options with a file that is written. */
const OUTPUT =
  /^-(?:\w*o|-(?:o\w*|call-log|junit|record-baseline|report|results|save|tape)(?:=.*)?)$/i
/** Readers whose option -o is not a file. */
const NO_OUTPUT = /^(?:[ef]?grep|rg|ls|find|gh)$/
/** Words that run the command behind them, with their options. */
const LAUNCHER =
  /^(?:(?:sudo|doas)(?: -[ghpuCDRTU] \S+| -\S+)*|env(?: -[uC] \S+| -\S+)*|(?:nice|ionice|watch)(?: -[cn] \S+| -\S+)*|timeout(?: -[ks] \S+| -\S+)* \S+|(?:builtin|command|exec|nohup|setsid|stdbuf|time)(?: -\S+)*|[{!]|if|then|elif|else|do|while|until|npx|(?:npm|pnpm|yarn) run \S+|npm|--|--yes|-y|\w+=\S*|node(?=\s\S*squall\.cjs\s))(?:\s+|$)/
const SHELL = /^(?:ba|da|z|k|a)?sh(?: -\w+)*? -\w*c |^eval /
/** Programs that run what a pipe brings. */
const RUNS_INPUT =
  /^(?:(?:ba|da|z|k|a)?sh|xargs|parallel|python[\d.]*|node|perl|ruby|php|patch|git apply|at|batch|source|\.)(?: |$)/
/** Settings that name a program: variables, and those of git. */
const SETS_PROGRAM = /^(?:[A-Z_]+|\w+(?:\.[\w-]+)+)=/
/** Programs that change each file of a directory or a pattern. */
const REMOVERS =
  /(?:^|[ /])(?:(?<!git )rm|git rm(?!.* --cached)|mv|rsync|shred|git (?:checkout|restore(?=.* (?:-\w*W|--worktree))|restore(?!.* (?:-\w*S|--staged))|stash|clean))(?: |$)/
const OVERWRITERS = /(?:^|[ /])(?:tee|truncate|sed)(?: |$)/
/** Commands of git that change each file of a project, after options with any values. */
const TREE =
  /^git (?:-.{0,1000}? )?(?=(?:reset(?=.* --(?:h|m|k))|clean(?!.* (?:-\w*n|--dry))|stash(?! (?:apply|branch|clear|create|drop|list|pop|show|store))|(?:checkout(?!.* -- )|switch|checkout-index)(?=.* (?:-[^-\sbBcC]*f|--(?:f|di)))|read-tree(?=.* -\w*u))(?:[^\w-]|$))/
const ALIAS = /\balias\.|GIT_CONFIG_VALUE/i
/** Commands after which an agent works without the hook. */
const UNHOOKED = /\bclaude .*(?:--bare|--setting-sources|disableAllHooks)/
const PACKAGES = /^(?:np|pnp|yar)[mn]$/
const REMOVES_PACKAGES = /^(?:r|rm|remove|un\w+)$/
const GIT_PLACE = /--(?:git-dir|work-tree)|GIT_(?:DIR|WORK_TREE)=/
/** Programs that change files whose names they get as input. */
const FED =
  /^(?:xargs|parallel)(?:\s+-(?:\w*[adEIjLnPs]\s+[^-\s]\S*|\S+)){0,20}\s+(?:(?:sudo|env|(?:ba|da|z)?sh\s+-\w*c)\s+)?(?:\S{0,99}\/)?(?:rm|mv|cp|dd|ln|tee|install|rsync|shred|truncate|unlink|git (?:checkout|restore)|(?:sed|perl|ruby)(?=.{0,500} (?:-\w*i|--in)))(?:\s|$)/
const ANY_FILE = /(?:^|\/)\*+\/?$/
const BRACES = /\{[^{}\s]{0,200}(?:,|\.\.)[^{}\s]{0,200}\}|\[[^\]\s]{1,200}\]/g
const SEPARATORS = /[\s=,:"'`;&|()<>{}]+/
/** Words that make it uncertain which command runs where. */
const UNCERTAIN = /\b(?:do|then|else|case|function|alias|CDPATH)\b|\(\s*\)/
const PATCHED = /^(?:(?:\+\+\+|---) (?:[ab]\/)?|rename to |copy to |diff --git a\/\S+ b\/)(\S+)/gm
const MAX_DIRECTORIES = 8
const MAX_GITS = 8
const MAX_MS = 2_000

/** Reports a command that cannot be checked. */
export class UncheckedError extends Error {
  override readonly name = 'UncheckedError'
}

/**
 * Returns the first protected file that a command may write. Adds commands of git for a whole
 * project to `trees`, each as a line below its directory. Throws an `UncheckedError`.
 */
export function writtenBy(
  command: string,
  files: Protected,
  trees: Set<string>,
): string | undefined {
  const text = command
    .replaceAll(/\$\(pwd\)|`pwd`/g, '.')
    .replaceAll(/\$\((?:which|type -p|command -v) ((?:mcp-)?squall)\)/g, 'bin/$1')
  const look = new WriteLook({ ...files, seen: new Map() }, trees, variablesOf(text))
  // Only some shells know $'…'.
  const plain = text.replaceAll("$'", "'")
  return (
    look.find(text, files.directory) ??
    (plain === text ? undefined : look.find(plain, files.directory))
  )
}

class WriteLook {
  readonly #files: Protected
  readonly #trees: Set<string>
  readonly #expand: (text: string) => string
  readonly #until = performance.now() + MAX_MS

  constructor(files: Protected, trees: Set<string>, expand: (text: string) => string) {
    this.#files = files
    this.#trees = trees
    this.#expand = expand
  }

  /** Reads a text for a shell that runs in a directory, and the texts that its commands run. */
  find(text: string, directory: string, depth = 0): string | undefined {
    if (depth > MAX_SHELLS) {
      throw new UncheckedError('it nests too many shells to be checked; nest fewer')
    }
    const commands = commandsOf(text)
    const places = new Places(directory, UNCERTAIN.test(text))
    for (const [at, command] of commands.entries()) {
      if (performance.now() > this.#until)
        throw new UncheckedError('it is too long to be checked; send less')
      const line = launched(this.#expand(command.line))
      const isFeeding = feedsShell(commands, at)
      for (const each of places.now) {
        const found =
          this.#written(command, line, each) ??
          this.#run(textsOf(command, line, isFeeding), each, depth)
        if (found !== undefined) return found
      }
      places.after(command, line)
    }
    return undefined
  }

  #run(texts: readonly string[], directory: string, depth: number): string | undefined {
    for (const text of texts) {
      const found = this.find(text, directory, depth + 1)
      if (found !== undefined) return found
    }
    return undefined
  }

  #written(command: ShellCommand, line: string, directory: string): string | undefined {
    const files = { ...this.#files, directory }
    const into = command.written.map(this.#expand).find((path) => leadsToProtected(path, files))
    if (into !== undefined) return into
    if (FED.test(line) || directory.length > MAX_PATH) return this.#files.policy
    if (isShellAlone(command, line)) return undefined
    if (!READERS.test(line)) {
      if (UNHOOKED.test(command.line)) return '.claude/settings.json'
      if (uninstalls(command.line.split(' '))) return 'mcp-squall'
    }
    return (
      this.#changedByGit(command, line, directory) ??
      patchedBy(command, line, files) ??
      operandOf(line, files)
    )
  }

  /** Adds the commands of git in a command, which may be behind any other program. */
  #changedByGit({ line: given }: ShellCommand, line: string, from: string): string | undefined {
    const starts = READERS.test(line) ? [] : [...line.matchAll(/(?<=^|[\s/])git(?= )/g)]
    if (starts.length > MAX_GITS) return this.#files.policy
    for (const { index } of starts) {
      const rest = line.slice(index)
      const tree = rest.replace(TREE, '\n')
      if (tree === rest) continue
      if (GIT_PLACE.test(given)) return this.#files.policy
      const [leading = ''] = /^git(?: -[Cc] \S+| -[^Cc\s]\S*)+/.exec(rest) ?? []
      let directory = from
      for (const [, to = ''] of leading.matchAll(/ -C (\S+)/g)) directory = absolute(to, directory)
      this.#trees.add(`${directory}${tree}`)
    }
    return undefined
  }
}

/** The directories in which the next command may run. */
class Places {
  now: readonly string[]
  readonly #isUncertain: boolean
  readonly #seen: Set<string>
  /** The directories at the start of a list of commands, and whether each `cd` in it succeeds. */
  #first: readonly string[]
  #isSure = true

  constructor(directory: string, isUncertain: boolean) {
    this.now = this.#first = [directory]
    this.#seen = new Set(this.now)
    this.#isUncertain = isUncertain
  }

  after({ line: given, end }: ShellCommand, line: string): void {
    const [, to] = /^(?:cd|chdir|pushd|popd)(?: (?!-$)-\S*)*(?: (\S+))?$/.exec(line) ?? ['', '']
    if (to === '') this.#isSure &&= given === ''
    else {
      const isKnown = to !== undefined && to !== '-' && !line.startsWith('popd')
      const all = isKnown ? this.now.map((each) => absolute(to, each)) : [...this.#seen]
      const existing = all.filter((each) => existsSync(each))
      const next = existing.length > 0 ? existing : all
      this.#isSure &&= given === line && /^(?:&&|[;\n])?$/.test(end) && existing.length > 0
      this.now = next
      for (const each of next) this.#seen.add(each)
    }
    if (end !== '&&') {
      const isKnown = this.#isSure && !this.#isUncertain
      this.now = isKnown ? this.now : [...new Set([...this.#first, ...this.now])]
      if (/[)`]/.test(end)) this.now = [...this.#seen]
      this.#first = this.now
      this.#isSure = /^[;\n(]$/.test(end)
    } else if (this.#isUncertain) this.now = [...new Set([...this.#first, ...this.now])]
    if (this.#seen.size <= MAX_DIRECTORIES) return
    throw new UncheckedError('it runs in too many directories to be checked; send less')
  }
}

/** Returns a command without the words that run it, and without the directory of its program. */
function launched(line: string): string {
  let rest = line.trim()
  for (let i = 0; i < 20; i++) {
    rest = rest.replace(/^[^\s=]*\//, '')
    if (!LAUNCHER.test(rest)) break
    rest = rest.replace(LAUNCHER, '')
  }
  return rest.replace(
    /^git (?:-C \S+ |-P |--no-\S+ |-c (?:advice|author|color|commit|committer|user)\.\S+ )+(?=[a-z])/,
    (leading) => (TREE.test(rest) ? leading : 'git '),
  )
}

/** Returns true for a command that removes Squall from a project. */
function uninstalls(words: readonly string[]): boolean {
  const manager = words.findIndex((word) => PACKAGES.test(word))
  const verb = words.findIndex((word, at) => at > manager && REMOVES_PACKAGES.test(word))
  return manager >= 0 && verb > 0 && words.slice(verb).some((word) => /\bmcp-squall\b/.test(word))
}

/** Returns true for `sh -c` and a text with nothing behind it that the text could use. */
function isShellAlone({ texts }: ShellCommand, line: string): boolean {
  const [shell] = SHELL.exec(line) ?? []
  return shell !== undefined && texts.length === 1 && line === `${shell}${texts[0]!}`
}

/** Returns the texts that a command runs, or may run. */
function textsOf(
  { line: given, texts }: ShellCommand,
  line: string,
  isFeeding: boolean,
): readonly string[] {
  const isReader = READERS.test(line)
  const run = texts.filter((text) => isFeeding || !isReader || SETS_PROGRAM.test(text))
  const clean = run.map((text) => text.replace(/^[-\w.]+=!?|^[[({\s]+/, ''))
  if (line.startsWith('eval ')) clean.push(line.slice('eval '.length))
  if (isFeeding && /^(?:echo|printf) /.test(line)) clean.push(line.replace(/^\w+ /, ''))
  return ALIAS.test(given) ? clean.flatMap((text) => [text, `git ${text}`]) : clean
}

/** Returns true where the output of a command is run by a later command of its pipe. */
function feedsShell(commands: readonly ShellCommand[], at: number): boolean {
  for (let i = at; /^\|&?$/.test(commands[i]!.end) && i < at + 9; i++) {
    if (RUNS_INPUT.test(launched(commands[i + 1]!.line))) return true
  }
  return false
}

/** Returns the first protected file of the patches that a command applies. */
function patchedBy({ read }: ShellCommand, line: string, files: Protected): string | undefined {
  const found = /^(?:patch|(git) .*?apply)(?= |$)(.*)/.exec(line)
  if (found === null) return undefined
  const [, isGit, rest = ''] = found
  const named = rest.matchAll(isGit ? / ([^-\s]\S*)/g : / (?:-\w*i ?|--input[= ])(\S+)/g)
  for (const path of [...read, ...[...named].map(([, each = '']) => each)]) {
    try {
      const text = readSmallFile(absolute(path, files.directory)).toString()
      const names = [...text.matchAll(PATCHED)].map(([, each = '']) => each)
      const hit = names.find((each) => leadsToProtected(each, files))
      if (hit !== undefined) return hit
    } catch {
      return path
    }
  }
  return undefined
}

/** Returns the first protected file among the words of a command that it may write. */
function operandOf(line: string, files: Protected): string | undefined {
  // A directory that files are moved to keeps its own.
  const kept = /^mv (?!.*-(?:\w*t|-t))/.test(line) ? line.replace(/^.* /, '') : ''
  const isRemover = REMOVERS.test(line) && !line.startsWith('find ')
  const isOverwriter = isRemover || OVERWRITERS.test(line)
  const swept = sweptBy(line, files)
  if (swept !== undefined) return swept
  return givenTo(line.replaceAll(/ :\([^)]{0,99}\)/g, ' / '), files)
    .flatMap((word) =>
      [word, word.replaceAll(BRACES, '*')].flatMap((form) => form.split(SEPARATORS)),
    )
    .find((each) => {
      if (ANY_FILE.test(each) && !isOverwriter) return false
      return leadsToProtected(each, files) || (isRemover && each !== kept && isParent(each, files))
    })
}

/** Returns a directory with protected files that `find` changes, or that others are copied to. */
function sweptBy(line: string, files: Protected): string | undefined {
  const words = line.split(' ')
  const paths = words.slice(1).filter((word) => !word.startsWith('-'))
  const last = paths.at(-1) ?? ''
  if (/^(?:cp|mv) /.test(line) && isParent(last, files)) {
    const isWhole = / (?:-\w*T|--no-target)/.test(line)
    return paths.slice(0, -1).find((path) => {
      const from = isWhole ? path : /^(.*)\/(?:\.|\*|\.\*|)$/.exec(path)?.[1]
      return from !== undefined && hasProtected(absolute(from, files.directory), files)
    })
  }
  const [, run = ''] = /^find.*? -(?:exec|execdir|ok|okdir) (.*)/.exec(line) ?? []
  if (!/^find(?: |.* )-(?:delete|exec|ok)/.test(line) || READERS.test(launched(run)))
    return undefined
  const roots = words.slice(
    1,
    words.findIndex((word, at) => at > 0 && /^[-!(]/.test(word)),
  )
  const isNamed = line.split(/ -or? /).every((part) => {
    const name = / -i?name (\S+)/.exec(part)?.[1]
    return name !== undefined && !isNameOfProtected(name, files)
  })
  if (isNamed && !/ (?:!|-not) /.test(line)) return undefined
  return (roots.length === 0 ? ['.'] : roots).find((root) => isParent(root, files))
}

/** Returns the words of a command that may be files that it writes. */
function givenTo(line: string, files: Protected): readonly string[] {
  const words = line.split(' ')
  const [name = '', ...operands] = words.filter((word) => !word.startsWith('-'))
  const last = operands.at(-1) ?? ''
  if (name === 'cp' && !/ -(?:\w*[tls]|-(?:link|sym|target))/.test(line)) {
    return isParent(last, files) ? words : [last]
  }
  if (!READERS.test(line)) return name === 'git' ? line.split(/ (?:-[bBcC] \S+)?/) : words
  if (NO_OUTPUT.test(name)) return []
  if (name === 'uniq' && operands.length > 1) return [last]
  return words.flatMap((word, at) => {
    if (OUTPUT.test(words[at - 1] ?? '')) return [word]
    return /^-\w*o/i.test(word) ? [word.replace(/^-\w*?o/i, '')] : OUTPUT.test(word) ? [word] : []
  })
}
