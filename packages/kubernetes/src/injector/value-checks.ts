import { FAULT_NAMES } from '#checks/fault-names'
import { hasUnseen, MAX_DURATION_MS, MAX_GLOB, readDuration, readPercent } from '#base'

/** Returns the correction of an invalid value; undefined for a valid one. */
export type ValueCheck = (value: string) => string | undefined

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const MAX_PORTS = 16
const MAX_PATHS = 100
const MAX_TOOLS = 1000
const PATH = /^[/*][^\s?#]{0,511}$/
/** The memory that the program needs, with room for a hook beside it. */
const LEAST_MEMORY = 128 * 2 ** 20
const MOST_MEMORY = 64 * 2 ** 30

export function oneOf(...words: readonly string[]): ValueCheck {
  return (value) => (words.includes(value) ? undefined : `use one of ${words.join(', ')}`)
}

export function like(pattern: RegExp, fix: string): ValueCheck {
  return (value) => (pattern.test(value) ? undefined : fix)
}

/** Accepts elements that are separated by commas. */
function list(most: number, isElement: (part: string) => boolean, fix: string): ValueCheck {
  return (value) => {
    const parts = elements(value)
    return parts.length <= most && parts.every(isElement) ? undefined : `${fix}, at most ${most}`
  }
}

/** Accepts numbers within bounds, as `read` parses them. */
function within(
  read: (text: string) => number | undefined,
  [least, most]: readonly [number, number],
  fix: string,
): ValueCheck {
  return (value) => {
    const found = read(value)
    return found !== undefined && found >= least && found <= most ? undefined : fix
  }
}

/** Accepts a duration such as `300ms`, `5s` or `1.5h`, within bounds in milliseconds. */
export function duration(min: number, max: number, fix: string): ValueCheck {
  return within(readDuration, [min, max], fix)
}

export const maxDuration: ValueCheck = duration(
  1,
  MAX_DURATION_MS,
  'write a number with its unit, such as 10m',
)

export const maxActive = like(/^(?:[1-9]\d{0,5}|1000000)$/, 'write an integer from 1 to 1000000')

/** Accepts names of faults, separated by commas. */
export function faults(value: string): string | undefined {
  const known: readonly string[] = FAULT_NAMES
  return elements(value).every((name) => known.includes(name))
    ? undefined
    : `write faults, separated by commas: ${known.join(', ')}`
}

/** Accepts names and globs of tools, separated by commas. */
export const tools = list(
  MAX_TOOLS,
  (part) => part !== '' && !part.startsWith('-') && part.length <= MAX_GLOB && !hasUnseen(part),
  'write tools, separated by commas, such as pay_*',
)

/** Accepts an http or https URL without a password, which everybody could read. */
export function httpUrl(value: string): string | undefined {
  const isUrl = /^https?:\/\/[^\s@]{1,1900}$/.test(value) && URL.canParse(value)
  return isUrl ? undefined : 'write a URL without a user, such as http://collector.example.com:4318'
}

/** Accepts the URL of a trace. */
export function traceUrl(value: string): string | undefined {
  const isUrl = value.includes('{trace}') && httpUrl(value.replaceAll('{trace}', '0')) === undefined
  return isUrl ? undefined : 'write a URL such as https://tracing.example.com/trace/{trace}'
}

/** Returns the assignments of variables that a text separates by spaces or lines. */
export function assignments(text: string): readonly string[] {
  return text.split(/\s+/).filter((each) => each !== '')
}

/** Accepts variables of OpenTelemetry, without headers: those are secrets. */
export function otelVariables(value: string): string | undefined {
  const all = assignments(value)
  if (all.some((each) => /^OTEL_\w{0,80}HEADERS=/.test(each))) {
    return 'put headers into the key otlp-headers of the Secret of the sidecar'
  }
  const isValid = all.length <= 50 && all.every((each) => /^OTEL_\w{1,80}=.{0,2000}$/.test(each))
  return isValid ? undefined : 'write variables such as OTEL_SERVICE_NAME=shop-tools'
}

export const percent = within(
  readPercent,
  [0, 100],
  'write a number from 0 to 100 with %, such as 20%',
)

/** Accepts a share at which the guard can trip, or `off`. */
export function guardRate(value: string): string | undefined {
  const isShare = percent(value) === undefined && readPercent(value) !== 100
  return value === 'off' || isShare
    ? undefined
    : 'write a number from 0 to below 100 with %, such as 50%, or off'
}

export function objectName(value: string): string | undefined {
  const labels = value.split('.')
  return value.length <= 253 && labels.every((label) => LABEL.test(label))
    ? undefined
    : 'write the name of an object: lower case letters, digits, dashes and dots, at most 253'
}

/**
 * Accepts a source of certificates: a key of a ConfigMap or Secret, or a path in a volume of the
 * pod.
 */
export function caSource(value: string): string | undefined {
  const [kind = '', name = '', ...rest] = value.split('/')
  const isKnown = kind === 'configmap' || kind === 'secret' || kind === 'volume'
  const isPlain = rest.every((part) => /^(?!\.\.)[-_A-Za-z0-9.]{1,253}$/.test(part))
  const isLong = kind === 'volume' ? rest.length <= 16 : rest.length === 1
  return isKnown && objectName(name) === undefined && rest.length > 0 && isPlain && isLong
    ? undefined
    : 'write configmap/NAME/KEY, secret/NAME/KEY or volume/NAME/PATH, such as configmap/mcp-ca/ca.crt'
}

/** Accepts keys of ConfigMaps that are checked as rules wherever they are written. */
export const rulesKey = like(
  /^[-_A-Za-z0-9][-_A-Za-z0-9.]{0,247}\.(?:yaml|yml|json)$/,
  'write a key that ends in .yaml, .yml or .json, such as rules.yaml',
)

export const containerName = like(LABEL, 'write the name of a container of the pod')

export const ports = list(
  MAX_PORTS,
  isPort,
  'write numbers or names of ports, separated by commas, such as 3000 or mcp',
)

/** Returns the elements of a list, which are separated by commas. */
export function elements(value: string): readonly string[] {
  return value.split(',').map((part) => part.trim())
}

/** Accepts exact paths and globs, separated by commas. */
export const paths = list(
  MAX_PATHS,
  (part) => PATH.test(part) && !hasUnseen(part),
  'write paths, separated by commas, such as /admin/*, without queries',
)

function isPort(text: string): boolean {
  if (/^\d+$/.test(text)) return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65535
  return /^(?=.*[a-z])[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?$/.test(text) && !text.includes('--')
}

const IMAGE =
  /^(?=.{1,512}$)[A-Za-z0-9][A-Za-z0-9._-]*(?::\d{1,5})?(?:\/[a-z0-9][a-z0-9._-]*)*(?::[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/

export const image = like(IMAGE, 'write the name of an image, with its tag or digest')

export const cpu = within(parseQuantity, [0.001, 64], 'write a quantity of CPU, such as 10m or 0.5')

/** Accepts memory with which the program can start. */
export const memory = within(
  parseQuantity,
  [LEAST_MEMORY, MOST_MEMORY],
  'write a quantity of memory of at least 128Mi, such as 256Mi',
)

export const memoryRequest = within(
  parseQuantity,
  [2 ** 20, MOST_MEMORY],
  'write a quantity of memory, such as 32Mi',
)

/** Stands for the address of the pod, which is unknown before it runs. */
export const POD_IP = 'pod-ip'

/** Accepts addresses of the pod. */
export function upstreamHost(value: string): string | undefined {
  return value === POD_IP || isLoopback(value)
    ? undefined
    : 'your MCP server is in the same pod: use 127.0.0.1, ::1 or pod-ip'
}

const LOOPBACK_V4 = /^127(?:\.(?:0|[1-9]\d?|1\d\d|2[0-4]\d|25[0-5])){3}$/

/** Returns true for loopback addresses, which other pods cannot reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || LOOPBACK_V4.test(host)
}

const QUANTITY = /^(\d{1,15}(?:\.\d{1,9})?|\.\d{1,9})(m|k|M|G|T|Ki|Mi|Gi|Ti|[eE][+-]?\d{1,2})?$/

const FACTORS = new Map([
  ['Ki', 2 ** 10],
  ['Mi', 2 ** 20],
  ['Gi', 2 ** 30],
  ['Ti', 2 ** 40],
])
const EXPONENTS = new Map([
  ['m', 'e-3'],
  ['k', 'e3'],
  ['M', 'e6'],
  ['G', 'e9'],
  ['T', 'e12'],
])

/** Parses a Kubernetes quantity such as `64Mi`, `10m` or `0.5`; undefined for any other text. */
export function parseQuantity(text: string): number | undefined {
  const match = QUANTITY.exec(text)
  if (match === null) return undefined
  const unit = match[2] ?? ''
  const factor = FACTORS.get(unit)
  if (factor !== undefined) return Number(match[1]) * factor
  // A literal is rounded only once, so that 700m equals 0.7.
  return Number(`${match[1]}${EXPONENTS.get(unit) ?? unit}`)
}
