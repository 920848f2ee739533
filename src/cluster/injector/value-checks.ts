import { hasUnseen } from '../../base/text/foreign-text.ts'
import { MAX_DURATION_MS, readBarePercent, readDuration } from '../../base/units.ts'
import { parseQuantity } from './quantity.ts'

/** Returns the correction of an invalid value; undefined for a valid one. */
export type ValueCheck = (value: string) => string | undefined

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const MAX_PORTS = 16
const MAX_PATHS = 100
const PATH = /^[/*][^\s?#]{0,511}$/
/** The memory that the program needs, with room for a hook beside it. */
const LEAST_MEMORY = 128 * 2 ** 20
const MOST_MEMORY = 64 * 2 ** 30

/** One of a few words. */
export function oneOf(...words: readonly string[]): ValueCheck {
  return (value) => (words.includes(value) ? undefined : `use one of ${words.join(', ')}`)
}

/** A pattern, with words that say what it lets through. */
export function like(pattern: RegExp, fix: string): ValueCheck {
  return (value) => (pattern.test(value) ? undefined : fix)
}

/** A duration such as `300ms`, `5s` or `1.5h`, within bounds in milliseconds. */
export function duration(min: number, max: number, fix: string): ValueCheck {
  return (value) => {
    const ms = readDuration(value)
    return ms !== undefined && ms >= min && ms <= max ? undefined : fix
  }
}

/** The longest that a rule may be active. */
export const maxDuration: ValueCheck = duration(
  1,
  MAX_DURATION_MS,
  'write a number with its unit, such as 10m',
)

/** A share from 0 to 100 percent. */
export function percent(value: string): string | undefined {
  const share = readBarePercent(value)
  return share !== undefined && share >= 0 && share <= 100
    ? undefined
    : 'write a number from 0 to 100 with %, such as 20%'
}

/** A share at which a guard can act, or `off`. */
export function guardRate(value: string): string | undefined {
  if (value === 'off') return undefined
  const share = readBarePercent(value)
  return share !== undefined && share >= 0 && share < 100
    ? undefined
    : 'write a number from 0 to below 100 with %, such as 50%, or off'
}

/** A name as Kubernetes objects have them. */
export function objectName(value: string): string | undefined {
  const labels = value.split('.')
  return value.length <= 253 && labels.every((label) => LABEL.test(label))
    ? undefined
    : 'write the name of an object: small letters, digits, dashes and dots, at most 253'
}

/** Where certificates are from: a key of a ConfigMap or Secret, or a path in a volume of the pod. */
export function caSource(value: string): string | undefined {
  const [kind = '', name = '', ...rest] = value.split('/')
  const isKnown = kind === 'configmap' || kind === 'secret' || kind === 'volume'
  const isPlain = rest.every((part) => /^(?!\.\.)[-_A-Za-z0-9.]{1,253}$/.test(part))
  const isLong = kind === 'volume' ? rest.length <= 16 : rest.length === 1
  return isKnown && objectName(name) === undefined && rest.length > 0 && isPlain && isLong
    ? undefined
    : 'write configmap/NAME/KEY, secret/NAME/KEY or volume/NAME/PATH, such as configmap/mcp-ca/ca.crt'
}

/** A name as containers have them. */
export function containerName(value: string): string | undefined {
  return LABEL.test(value) ? undefined : 'write the name of a container of the pod'
}

/** Numbers and names of ports, with commas between them. */
export function ports(value: string): string | undefined {
  const fix = `write numbers or names of ports with commas between them, such as 3000 or mcp, at most ${MAX_PORTS}`
  const parts = portList(value)
  return parts.length <= MAX_PORTS && parts.every(isPort) ? undefined : fix
}

/** The ports that a value names. */
export function portList(value: string): readonly string[] {
  return value.split(',').map((part) => part.trim())
}

/** Paths with commas between them, exactly or as globs. */
export function paths(value: string): string | undefined {
  const parts = value.split(',').map((part) => part.trim())
  return parts.length <= MAX_PATHS && parts.every((part) => PATH.test(part) && !hasUnseen(part))
    ? undefined
    : `write paths with commas between them, such as /admin/*, without queries, at most ${MAX_PATHS}`
}

function isPort(text: string): boolean {
  if (/^\d+$/.test(text)) return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65535
  return isPortName(text)
}

/** Up to 15 small letters, digits and dashes, with a letter among them. */
function isPortName(text: string): boolean {
  return /^(?=.*[a-z])[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?$/.test(text) && !text.includes('--')
}

/** An image, with a tag or a digest or without. */
export const image: ValueCheck = (value) =>
  value.length <= 512 &&
  /^[A-Za-z0-9][A-Za-z0-9._-]*(?::\d{1,5})?(?:\/[a-z0-9][a-z0-9._-]*)*(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/.test(
    value,
  )
    ? undefined
    : 'write the name of an image, with its tag or digest'

/** CPU: at least a thousandth. */
export function cpu(value: string): string | undefined {
  const cores = parseQuantity(value)
  return cores !== undefined && cores >= 0.001 && cores <= 64
    ? undefined
    : 'write a quantity of CPU, such as 10m or 0.5'
}

/** Memory that the program can start with. */
export function memory(value: string): string | undefined {
  const bytes = parseQuantity(value)
  return bytes !== undefined && bytes >= LEAST_MEMORY && bytes <= MOST_MEMORY
    ? undefined
    : 'write a quantity of memory of at least 128Mi, such as 256Mi'
}

/** Memory to ask the scheduler for. */
export function memoryRequest(value: string): string | undefined {
  const bytes = parseQuantity(value)
  return bytes !== undefined && bytes >= 2 ** 20 && bytes <= MOST_MEMORY
    ? undefined
    : 'write a quantity of memory, such as 32Mi'
}
