import type { Change } from './change-arming.ts'

/** The choices made by keys. */
export interface Controls {
  readonly focus: number
  readonly paused: boolean
  readonly help: boolean
  readonly notice: string
  /** A change that waits for yes or no. */
  readonly asked: Change | undefined
}

/** The action that a key causes. */
export interface Pressed {
  readonly controls: Controls
  readonly act?: 'quit' | Change
}

/** The state that keys refer to. */
export interface Around {
  readonly addresses: readonly string[]
  readonly hasToken: boolean
}

const NO_TOKEN =
  'not without the admin token: set SQUALL_ADMIN_TOKEN or start with --admin-token-file'
const CTRL_C = '\u0003'
const ESCAPE = '\u001b'

/** Before any key was pressed. */
export const UNTOUCHED: Controls = {
  focus: 0,
  paused: false,
  help: false,
  notice: '',
  asked: undefined,
}

/** Handles a key. */
export function press(key: string, before: Controls, around: Around): Pressed {
  if (key === CTRL_C) return { controls: before, act: 'quit' }
  const controls = { ...before, notice: '', asked: undefined }
  if (before.asked !== undefined) return response(key, before.asked, controls)
  if (key === 'q') return { controls, act: 'quit' }
  if (key === 'p') return { controls: { ...controls, paused: !controls.paused } }
  if (key === '?' || key === 'h') return { controls: { ...controls, help: !controls.help } }
  if (key === 'd') return { controls: ask('disarm', controls, around) }
  if (key === 'a') return { controls: ask('arm', controls, around) }
  if (key === ESCAPE) return { controls: { ...controls, focus: 0, help: false } }
  if (/^\d$/.test(key)) return { controls: focusOn(Number(key), controls, around) }
  return { controls }
}

function response(key: string, asked: Change, controls: Controls): Pressed {
  if (key !== 'y' && key !== 'Y')
    return { controls: { ...controls, notice: 'nothing was changed' } }
  return { controls: { ...controls, notice: `asking to ${asked} …` }, act: asked }
}

function ask(change: Change, controls: Controls, { addresses, hasToken }: Around): Controls {
  if (!hasToken) return { ...controls, notice: `${change}: ${NO_TOKEN}` }
  const one = addresses[controls.focus - 1] ?? (addresses.length === 1 ? addresses[0] : undefined)
  const what = one ?? `all ${addresses.length} sidecars`
  return { ...controls, asked: change, notice: `${change} ${what}? y/n` }
}

function focusOn(number: number, controls: Controls, { addresses }: Around): Controls {
  if (number <= addresses.length) return { ...controls, focus: number }
  return { ...controls, notice: `there is no sidecar ${number}` }
}

/** The keys in what a terminal sent at once; those that send several characters are not used here. */
export function keysOf(sent: string): readonly string[] {
  if (sent.startsWith(ESCAPE)) return sent === ESCAPE ? [ESCAPE] : []
  const keys = Array.from(sent)
  // A question must be seen before it is answered: what was pasted responses none.
  const question = keys.findIndex((key) => key === 'd' || key === 'a')
  return question < 0 ? keys : keys.slice(0, question + 1)
}
