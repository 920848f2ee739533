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
import { UncheckedError, UNKNOWN } from './shell-commands.ts'
import { isReading, launched, type Run } from './shell-runs.ts'

/** Options with a file that is written. */
const OUTPUT =
  /^-(?:\w*o|-(?:o\w*|call-log|junit|record-baseline|report|results|save|tape)(?:=.*)?)$/i
/** Readers whose option -o is not a file. */
const NO_OUTPUT = /^(?:[ef]?grep|rg|ls|find|gh)$/
const SHELL = /^(?:ba|da|z|k|a)?sh(?: -\w+)*? -\w*c |^eval /
/** Programs that change each file of a directory or a pattern. */
const REMOVERS =
  /(?:^|[ /])(?:(?<!git )rm|git rm(?!.* --cached)|mv|rsync|shred|git (?:checkout|restore(?=.* (?:-\w*W|--worktree))|restore(?!.* (?:-\w*S|--staged))|stash|clean))(?: |$)/
const OVERWRITERS = /(?:^|[ /])(?:tee|truncate|sed)(?: |$)|^(?:cp|dd|install|ln) /
/** Programs that copy: only the last operand is written. */
const COPIES = /^(?:cp(?!.* -(?:\w*[tls]|-(?:link|sym|target)))|rsync(?!.* --remove-source)|scp) /
const REMOTE = /^(?:[\w.@-]+|\[[\da-f:]+\]):|^rsync:/i
/** Commands of git that change each file of a project. */
const TREE =
  /^(?:reset(?=.* --(?:h|m|k))|clean(?!.* (?:-\w*n|--dry))|stash(?! (?:apply|branch|clear|create|drop|list|pop|show|store))|(?:checkout(?!.* -- )|switch|checkout-index)(?=.* (?:-[^-\sbBcC]*f|--(?:f|di)))|read-tree(?=.* -\w*u))(?:[^\w-]|$)/
const GIT_PLACE = /--(?:git-dir|work-tree)|GIT_(?:DIR|WORK_TREE)=/
/** Options of git with a value as the next word. */
const GIT_VALUED =
  /^(?:-[cC]|--(?:attr-source|config-env|git-dir|namespace|super-prefix|work-tree))$/
/** Options and commands of claude after which it works without the hook. */
const UNHOOKED =
  /--bare|--setting-sources|disableAllHooks|^\S+ (?:plugins?|mcp) (?:marketplace )?(?:disable|remove|rm|un\w+) .*squall/
/** Programs that change files whose names they get as input. */
const FED =
  /^(?:(?:ba|da|z)?sh\s+-\w*c\s+)?(?:\S{0,99}\/)?(?:rm|mv|cp|dd|ln|tee|install|rsync|shred|truncate|unlink|git (?:checkout|restore)|(?:sed|perl|ruby)(?=.{0,500} (?:-\w*i|--in)))(?:\s|$)/
/** Options of xargs and parallel whose value may be the next word. */
const FED_VALUED = /^-(?:\w*[adEIjLnPs]|-(?:arg-file|delimiter|jobs|max-\w+|process-slot-var))$/
const ANY_FILE = /(?:^|\/)\*+\/?$/
const SEPARATORS = /[\s=,:"'`;&|()<>{}]+/
const PATCHED = /^(?:(?:\+\+\+|---) (?:[ab]\/)?|rename to |copy to |diff --git a\/\S+ b\/)(\S+)/gm
const MAX_GITS = 8
const MAX_FED = 40
const MAX_PLACES = 64

/**
 * Returns the first protected file that a command may write. Adds commands of git for a whole
 * project to `trees`, each as a line below its directory.
 */
export function writtenBy(run: Run, files: Protected, trees: Set<string>): string | undefined {
  for (const directory of run.directories) {
    const found = writtenIn(run, { ...files, directory }, trees)
    if (found !== undefined) return found
  }
  return undefined
}

function writtenIn(run: Run, files: Protected, trees: Set<string>): string | undefined {
  const { isReader, words, written } = run
  const into = written.find((path) => leadsToProtected(globOf(path, run), files))
  if (into !== undefined) return into
  if (isFed(run) || files.directory.length > MAX_PATH) return files.policy
  if (isShellAlone(run)) return undefined
  if (!isReader) {
    const claude = words.findIndex((word) => /(?:^|\/)claude$/.test(word))
    if (claude >= 0 && UNHOOKED.test(words.slice(claude).join(' '))) {
      return '.claude/settings.json'
    }
    if (uninstalls(words)) return 'mcp-squall'
    const changed = addTrees(words, files, trees)
    if (changed !== undefined) return changed
  }
  return patchedBy(run, files) ?? sweptBy(run, files) ?? operandOf(run, files)
}

/** Returns true for a command that gets the names of files to change as input. */
function isFed({ plain }: Run): boolean {
  if (!/^(?:xargs|parallel)$/.test(plain[0] ?? '')) return false
  for (const [at, word] of plain.slice(0, MAX_FED).entries()) {
    if (at === 0 || word.startsWith('-')) continue
    if (word !== 'npm' && FED.test(launched(plain.slice(at)).join(' '))) return true
    if (!FED_VALUED.test(plain[at - 1]!)) return false
  }
  return false
}

/** Returns a word as a glob, also where it is the output of a command with protected files. */
function globOf(word: string, { isSuspect }: Run): string {
  return word.replaceAll(/\[[^\][]*\]/g, '?').replaceAll(UNKNOWN, isSuspect ? '*' : UNKNOWN)
}

/** Adds the commands of git in a command, which may be behind any other program. */
function addTrees(words: readonly string[], files: Protected, trees: Set<string>) {
  const starts = [...words.keys()].filter((at) => /(?:^|\/)git$/.test(words[at]!))
  if (starts.length > MAX_GITS) return files.policy
  for (const start of starts) {
    let { directory } = files
    let at = start + 1
    for (; words[at]?.startsWith('-'); at++) {
      if (words[at] === '-C') directory = absolute(words[at + 1] ?? '', directory)
      if (GIT_VALUED.test(words[at]!)) at++
    }
    const rest = words.slice(at).join(' ')
    if (!TREE.test(rest)) continue
    if (words.some((word) => GIT_PLACE.test(word))) return files.policy
    trees.add(`${directory}\n${rest}`)
  }
  return undefined
}

/** Returns true for a command that removes Squall from a project. */
function uninstalls(words: readonly string[]): boolean {
  const manager = words.findIndex((word) => /^(?:np|pnp|yar)[mn]$/.test(word))
  const verb = words.findIndex((word, at) => at > manager && /^(?:r|rm|remove|un\w+)$/.test(word))
  return manager >= 0 && verb > 0 && words.slice(verb).some((word) => /\bmcp-squall\b/.test(word))
}

/** Returns true for `sh -c` and a text with nothing behind it that the text could use. */
function isShellAlone({ texts, line }: Run): boolean {
  const [shell] = SHELL.exec(line) ?? []
  return shell !== undefined && texts.length === 1 && line === `${shell}${texts[0]!}`
}

/** Returns the first protected file of the patches that a command applies. */
function patchedBy({ read, line }: Run, files: Protected): string | undefined {
  const found = /^(?:patch|(git) .*?apply)(?= |$)(.*)/.exec(line)
  if (found === null) return undefined
  const [, isGit, rest = ''] = found
  const named = rest.matchAll(isGit ? / ([^-\s]\S*)/g : / (?:-\w*i ?|--input[= ])(\S+)/g)
  const paths = new Set([...read, ...[...named].map(([, each = '']) => each)])
  if (paths.size > MAX_PLACES) throw new UncheckedError()
  for (const path of paths) {
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
function operandOf(run: Run, files: Protected): string | undefined {
  const { line, plain } = run
  // A directory that files are moved to keeps its own.
  const kept = /^mv (?!.*-(?:\w*t|-t))/.test(line) ? plain.at(-1) : ''
  const isRemover = REMOVERS.test(line) && plain[0] !== 'find'
  const isOverwriter = isRemover || OVERWRITERS.test(line)
  // Git reads :(top) as the root of the project.
  const given = givenTo(run, files).flatMap((word) =>
    globOf(word, run)
      .replace(/^:\([^)]{0,99}\)/, '/ ')
      .split(SEPARATORS),
  )
  return [...new Set(given)].find((each) => {
    if (ANY_FILE.test(each) && !isOverwriter) return false
    return leadsToProtected(each, files) || (isRemover && each !== kept && isParent(each, files))
  })
}

/** Returns a directory with protected files that `find` changes, or that others are copied to. */
function sweptBy({ line, plain: words }: Run, files: Protected): string | undefined {
  const paths = words.slice(1).filter((word) => !word.startsWith('-'))
  const last = paths.at(-1) ?? ''
  if (/^(?:cp|mv) /.test(line) && isParent(last, files)) {
    const isWhole = / (?:-\w*T|--no-target)/.test(line)
    const from = paths.slice(0, -1).flatMap((path) => {
      return isWhole ? [path] : (/^(.*)\/(?:\.|\*|\.\*|)$/.exec(path)?.slice(1) ?? [])
    })
    if (from.length > MAX_PLACES) throw new UncheckedError()
    return from.find((path) => hasProtected(absolute(path, files.directory), files))
  }
  const run = words.findIndex((word) => /^-(?:exec|ok)(?:dir)?$/.test(word)) + 1
  if (!/^find(?: |.* )-(?:delete|exec|ok)/.test(line)) return undefined
  if (run > 0 && isReading(words.slice(run))) return undefined
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
function givenTo({ line, plain, isReader }: Run, files: Protected): readonly string[] {
  const [name = '', ...operands] = plain.filter((word) => !word.startsWith('-'))
  const last = operands.at(-1) ?? ''
  if (COPIES.test(line)) {
    if (REMOTE.test(last)) return []
    return isParent(last, files) ? plain : [last]
  }
  // The value of such an option of git is a branch, or a setting.
  if (!isReader && name !== 'git') return plain
  if (!isReader) return plain.filter((_, at) => !/^-[bBcC]$/.test(plain[at - 1] ?? ''))
  if (NO_OUTPUT.test(name)) return []
  if (name === 'uniq' && operands.length > 1) return [last]
  return plain.flatMap((word, at) => {
    if (OUTPUT.test(plain[at - 1] ?? '')) return [word]
    return /^-\w*o/i.test(word) ? [word.replace(/^-\w*?o/i, '')] : OUTPUT.test(word) ? [word] : []
  })
}
