import { type AdminEndpoint, AdminError, API, askAdmin, endpointText } from '#admin-api'
import { foreignCell } from '#base'
import { type Sorting, SORTINGS } from './sorting.ts'

/** The state that keys change. */
export interface Controls {
  /** The number of the only sidecar to show; 0 shows all. */
  readonly focus: number
  readonly paused: boolean
  readonly help: boolean
  /** The number of the only table to show; 0 shows all. */
  readonly table: number
  /** The first row of that table. */
  readonly scroll: number
  readonly sorting: Sorting
  /** A question to the user, or the result of the last change. */
  readonly notice: string
  /** The change that waits for a yes or no. */
  readonly pending: Change | undefined
}

/** The new state after a key, and the action that the key causes. */
interface KeyResult {
  readonly controls: Controls
  readonly act?: 'quit' | Change
}

interface KeyContext {
  readonly addresses: readonly string[]
  readonly hasToken: boolean
  /** The rows of a page, and the row to which the table can be scrolled at most. */
  readonly page: number
  readonly most: number
}

const NO_TOKEN =
  'the admin token is required: set SQUALL_ADMIN_TOKEN or start with --admin-token-file'
/** Keys that scroll, each with the rows that it scrolls down. */
const STEPS: Readonly<Record<string, (page: number) => number>> = {
  '\u001b[A': () => -1,
  '\u001b[B': () => 1,
  '\u001b[5~': (page) => -page,
  '\u001b[6~': (page) => page,
  '\u001b[H': () => -Infinity,
  '\u001b[1~': () => -Infinity,
  '\u001b[F': () => Infinity,
  '\u001b[4~': () => Infinity,
  k: () => -1,
  j: () => 1,
}
/** The tables of rules, tools, errors and faults. */
const TABLES = 4
const CTRL_C = '\u0003'
const ESCAPE = '\u001b'

export const INITIAL_CONTROLS: Controls = {
  focus: 0,
  paused: false,
  help: false,
  table: 0,
  scroll: 0,
  sorting: 'usual',
  notice: '',
  pending: undefined,
}

export function press(key: string, before: Controls, context: KeyContext): KeyResult {
  if (key === CTRL_C) return { controls: before, act: 'quit' }
  const controls = { ...before, notice: '', pending: undefined }
  if (before.pending !== undefined) return response(key, before.pending, controls)
  if (key === 'q') return { controls, act: 'quit' }
  if (key === 'p') return { controls: { ...controls, paused: !controls.paused } }
  if (key === '?' || key === 'h') return { controls: { ...controls, help: !controls.help } }
  if (key === 's') return { controls: { ...controls, scroll: 0, sorting: next(controls.sorting) } }
  if (key === '\t')
    return { controls: { ...controls, scroll: 0, table: (controls.table + 1) % (TABLES + 1) } }
  if (Object.hasOwn(STEPS, key)) return { controls: scrolled(controls, STEPS[key]!, context) }
  if (key === 'd') return { controls: ask('disarm', controls, context) }
  if (key === 'a') return { controls: ask('arm', controls, context) }
  if (key === ESCAPE)
    return { controls: { ...controls, focus: 0, help: false, table: 0, scroll: 0 } }
  if (/^\d$/.test(key)) return { controls: focusOn(Number(key), controls, context) }
  return { controls }
}

function next(sorting: Sorting): Sorting {
  return SORTINGS[(SORTINGS.indexOf(sorting) + 1) % SORTINGS.length]!
}

function scrolled(
  controls: Controls,
  step: (page: number) => number,
  { page, most }: KeyContext,
): Controls {
  if (controls.table === 0) return { ...controls, notice: 'press tab to select a table to scroll' }
  const scroll = Math.min(controls.scroll, most) + step(page)
  return { ...controls, scroll: Math.max(0, Math.min(scroll, most)) }
}

function response(key: string, pending: Change, controls: Controls): KeyResult {
  if (key !== 'y' && key !== 'Y')
    return { controls: { ...controls, notice: 'nothing was changed' } }
  return { controls: { ...controls, notice: `asking to ${pending} …` }, act: pending }
}

function ask(change: Change, controls: Controls, { addresses, hasToken }: KeyContext): Controls {
  if (!hasToken) return { ...controls, notice: `${change}: ${NO_TOKEN}` }
  const one = addresses[controls.focus - 1] ?? (addresses.length === 1 ? addresses[0] : undefined)
  const what = one ?? `all ${addresses.length} sidecars`
  return { ...controls, pending: change, notice: `${change} ${what}? y/n` }
}

function focusOn(number: number, controls: Controls, { addresses }: KeyContext): Controls {
  if (number <= addresses.length) return { ...controls, focus: number }
  return { ...controls, notice: `there is no sidecar ${number}` }
}

/** Splits input into keys; escape sequences of keys without a meaning are ignored. */
export function keysOf(sent: string): readonly string[] {
  if (sent.startsWith(ESCAPE)) return sent === ESCAPE || Object.hasOwn(STEPS, sent) ? [sent] : []
  const keys = Array.from(sent)
  // A question must be visible before it is answered: pasted text answers no question.
  const question = keys.findIndex((key) => key === 'd' || key === 'a')
  return question < 0 ? keys : keys.slice(0, question + 1)
}

export type Change = 'disarm' | 'arm'

const MAX_TEXT = 250

/** Disarms or arms a sidecar, and describes the result. */
export async function changeArming(
  endpoint: AdminEndpoint,
  change: Change,
  token: string,
): Promise<string> {
  const admin = { url: new URL(`http://${endpointText(endpoint)}`) }
  const body = change === 'disarm' ? { body: { reason: 'by squall top' } } : {}
  const options = { client: 'top', token, ...body }
  try {
    const { armed, changed } = (await askAdmin(admin, API[change], options)).value
    const state = armed ? 'armed' : 'disarmed'
    return changed ? state : `already ${state}`
  } catch (error) {
    if (!(error instanceof AdminError)) throw error
    return foreignCell(error.message.replace(`${API[change].path} `, ''), MAX_TEXT)
  }
}
