import { REDACTED, SECRET_WORDS } from './log-redact.ts'

// Repetitions are bounded: the time is linear in the length of the text.

const SCHEME = /\b(bearer|basic|digest|negotiate) +[^\s,;"']+/gi
/** A header that is a secret up to the end of its line, and a named value. */
const WORDS = [...SECRET_WORDS, 'signature']
const NAMED = new RegExp(
  `((?:${WORDS.map(spelled).join('|')})[\\w-]{0,30}["']? {0,4}[:=] {0,4})` +
    `("[^"]*"?|'[^']*'?|[^\\s,;&"'}]+)`,
  'gi',
)
const WHOLE_LINE = /((?:authorization|cookie)["']? {0,4}: {0,4})[^\r\n"'}]+/gi
const USER = /\/\/[^\s/@]{1,200}@/g
const PEM = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]*/g
/** Keys that services begin in a known way. */
const KNOWN =
  /\b(?:(?:sk|pk|rk|gh[a-z]|github_pat|glpat|xox[a-z]|npm|hf)[-_]|AKIA|ASIA|AIza|eyJ)[-_.\w]{12,}/g
/** A run as long as tokens are; UUIDs have dashes, and stay. */
const OPAQUE = /[A-Za-z0-9+_=]{20,}/g

/**
 * Hides the secrets in a foreign text: named values, credentials of URLs, and whatever looks like a
 * token.
 */
export function redactText(text: string): string {
  return text
    .replace(PEM, REDACTED)
    .replace(WHOLE_LINE, `$1${REDACTED}`)
    .replace(SCHEME, `$1 ${REDACTED}`)
    .replace(NAMED, `$1${REDACTED}`)
    .replace(USER, `//${REDACTED}@`)
    .replace(KNOWN, REDACTED)
    .replace(OPAQUE, (run) => (isToken(run) ? REDACTED : run))
}

/** Returns true for digits alone, or letters and digits mixed as in no name. */
function isToken(run: string): boolean {
  const digits = run.replace(/\D/g, '').length
  if (digits === 0) return false
  return digits > 2 || (/[a-z]/.test(run) && /[A-Z]/.test(run))
}

/** Allows dashes and underscores between the letters of a word: `api_key`, `api-key`. */
function spelled(word: string): string {
  return word.replace(/^(api|private|access)(key)$/, '$1[-_]?$2')
}
