import { isGlob, matchesGlob } from '#base'
import { UncheckedError, UNKNOWN } from './shell-commands.ts'
import { programOf, type Run } from './shell-runs.ts'

const PROGRAM = /^(?:(?:mcp-)?squall(?:\.cjs|@\S*)?|main\.js)$/i
/** Commands that only a person may start. */
const PERSONAL = ['approve', 'policy trust', 'mcp approve', 'mcp policy trust']
/** Commands that bring faults into calls past `squall mcp`, or serve it to the agent itself. */
const INJECTING = ['fault add', 'experiment run', 'experiment again', 'experiment search']
/** Words that other programs have as well. */
const INJECTING_ALONE = ['apply', 'attach', 'inject', 'mcp', 'redirect', 'resume']
/** Changes of the rules, or of the pods that have a sidecar. */
const CHANGES_CLUSTER = /^(?:annotate|apply|create|edit|label|patch|replace)$/
const MAY_BE_PROGRAM = /squall|main\.js|[*?[\uE000]/i
const MAX_FLAGS = 20
const MAX_STARTS = 64
const NEXT = new RegExp(`^[-a-z${UNKNOWN}]`, 'i')
/** Requests to the admin port, and to other proxies that inject faults. */
export const API =
  /\/api\/(?:[\w.]{0,64}\/){0,8}(?:faults|arm)\b|\/toxics\b|\btoxiproxy-cli\s+toxic\s+(?:add|update)/i
/** Options of curl and wget that may send something. */
const SENDS = new RegExp(
  String.raw` (?:-\w*[dFTKe]|--(?:da|js|fo|up|po|bo|ex|conf)|-X ?${UNKNOWN}|--req\w*[ =]${UNKNOWN})|p(?:os|u)t\b|patch\b|P(?:OS|U)T\b|PATCH\b`,
)

/**
 * Returns whether a command reaches Squall, whether it may start what only a person may, and the
 * part that changes faults past `squall mcp`; undefined for a program that only reads.
 */
export function squallIn(run: Run) {
  const { plain, line, isReader } = run
  if (isReader && !PROGRAM.test(plain[0] ?? '')) return undefined
  // These programs get more words as input.
  const isFed = /^(?:xargs|parallel)$/.test(plain[0] ?? '')
  const words = isFed ? [...run.words, '{}'].map((word) => word.replace('{}', UNKNOWN)) : run.words
  const starts = [...words.keys()].filter((at) => isKnown(words[at]!) || isAny(words[at]!))
  if (starts.length > MAX_STARTS) throw new UncheckedError()
  const isReading = /^(?:curl|wget)$/.test(plain[0] ?? '') && !SENDS.test(line)
  const request = isReading ? null : API.exec(words.join(' ').replaceAll(UNKNOWN, ''))
  const approves = starts.some((at) =>
    PERSONAL.some((phrase) => endOf(words, at, phrase) !== undefined),
  )
  const injects =
    starts.map((at) => injectedAt(words, at, run)).find((each) => each !== undefined) ??
    request?.[0] ??
    changedInCluster(words)
  const isCluster = words.some((word) => /(?:^|\/)(?:kubectl|helm)$/.test(word))
  const reaches =
    approves ||
    injects !== undefined ||
    (isCluster && words.some((word) => /squall/i.test(word))) ||
    starts.some((at) => isKnown(words[at]!) && NEXT.test(words[at + 1] ?? ''))
  return { approves, injects, reaches }
}

/** Returns the command behind a word that may be Squall, where it injects faults. */
function injectedAt(words: readonly string[], at: number, { to }: Run): string | undefined {
  const phrases = isKnown(words[at]!) ? [...INJECTING, ...INJECTING_ALONE] : INJECTING
  return phrases.find((phrase) => {
    const end = endOf(words, at, phrase)
    const next = words[(end ?? 0) + 1] ?? ''
    const isHelp = end === words.length - 2 && /^(?:--help|-h)$/.test(next)
    if (end === undefined || isHelp) return false
    if (phrase === 'attach') return !words.includes('--undo')
    if (phrase === 'inject') return to?.words.includes('kubectl') === true
    return phrase !== 'mcp' || !/^(?:approve|hook|policy)$/i.test(next)
  })
}

function changedInCluster(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => /(?:^|\/)kubectl$/.test(word))
  const verb = words.findIndex((word, index) => index > at && CHANGES_CLUSTER.test(word))
  if (at < 0 || verb < 0) return undefined
  const rest = words.slice(verb + 1).join(' ')
  const kind = rest.search(/(?:^| )(?:configmap|cm)s?[ /]/i)
  const isNamed = kind >= 0 && /squall/i.test(rest.slice(kind))
  return isNamed || rest.includes('squall.dev/') ? `kubectl ${words[verb]}` : undefined
}

function isKnown(word: string): boolean {
  if (!MAY_BE_PROGRAM.test(word)) return false
  const name = programOf(word.replaceAll('\\', '/'))
  return PROGRAM.test(name) || (!isAny(name) && mayBe(name, 'squall'))
}

/** Returns true for a word without a known letter. */
function isAny(word: string): boolean {
  return word.includes(UNKNOWN) && /^[*?\uE000]*$/.test(word)
}

/** Returns the place of the last word of a command of a program, which may have flags. */
function endOf(
  words: readonly string[],
  at: number,
  phrase: string,
  isExact = isAny(words[at]!),
): number | undefined {
  const [first = '', ...rest] = phrase.split(' ')
  for (let i = at + 1; i < Math.min(words.length, at + 1 + MAX_FLAGS); i++) {
    const word = words[i]!
    if (word.startsWith('-')) continue
    if (isExact ? word.toLowerCase() === first : mayBe(word, first)) {
      const end = rest.length === 0 ? i : endOf(words, i, rest.join(' '), isExact)
      if (end !== undefined) return end
    }
    if (!words[i - 1]!.startsWith('-')) break
  }
  return undefined
}

/** Returns true for a word that a shell may replace by another. */
function mayBe(word: string, wanted: string): boolean {
  const glob = word
    .toLowerCase()
    .replaceAll(/\[[^\][]*\]/g, '?')
    .replaceAll(UNKNOWN, '*')
  return isGlob(glob) ? matchesGlob(glob, wanted) : glob === wanted
}
