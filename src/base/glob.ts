/** The longest glob: matching takes at most this times the length of the text. */
export const MAX_GLOB = 512
/** Longer texts match only globs with one `*` and no other wildcard, which are cheap to compare. */
export const MAX_GLOB_TEXT = 32_768

/** Counts texts that were too long to compare, so that a rule's counters show unread values. */
export const unread = { texts: 0 }

/** Returns true for a text with a wildcard: `*` or `?`. */
export function isGlob(text: string): boolean {
  return text.includes('*') || text.includes('?')
}

/** Returns the literal text that every match begins with. */
export function globPrefix(glob: string): string {
  return glob.split(WILDCARD, 1)[0]!
}

/** Returns the literal text that every match ends with. */
export function globSuffix(glob: string): string {
  return glob.split(WILDCARD).at(-1)!
}

/**
 * Returns true when the whole text matches: `*` is any run of characters, also none, and `?` is one
 * character.
 */
export function matchesGlob(glob: string, text: string): boolean {
  if (text.length > MAX_GLOB_TEXT) return matchesLong(glob, text)
  let g = 0
  let t = 0
  // Where to continue after a mismatch behind the last `*`: only the last `*` ever has to match
  // more.
  let star = -1
  let retry = 0
  while (t < text.length) {
    const code = g < glob.length ? glob.charCodeAt(g) : -1
    if (code === STAR) {
      star = ++g
      retry = t
    } else if (code === QUESTION) {
      g++
      t += widthAt(text, t)
    } else if (code === text.charCodeAt(t)) {
      g++
      t++
    } else if (star >= 0) {
      g = star
      retry += widthAt(text, retry)
      t = retry
    } else {
      return false
    }
  }
  while (g < glob.length && glob.charCodeAt(g) === STAR) g++
  return g === glob.length
}

function matchesLong(glob: string, text: string): boolean {
  const prefix = globPrefix(glob)
  const suffix = globSuffix(glob)
  const fits = text.length >= prefix.length + suffix.length
  if (!fits || !text.startsWith(prefix) || !text.endsWith(suffix)) return false
  if (glob === `${prefix}*${suffix}`) return true
  unread.texts++
  return false
}

const STAR = 0x2a
const QUESTION = 0x3f
const WILDCARD = /[*?]/

/** Returns the length of a character: two code units above U+FFFF. */
function widthAt(text: string, at: number): number {
  return text.codePointAt(at)! > 0xffff ? 2 : 1
}
