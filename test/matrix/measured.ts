import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { CLIENTS, type ClientId, type SettingId, SETTINGS } from './settings.ts'
import { type ByHand, type Observed, titleOf } from './variant.ts'

const file = fileURLToPath(new URL('./measured.json', import.meta.url))

/** The client of the Python SDK, or one of the TypeScript SDKs. */
export type AnyClient = ClientId | 'python'

const ALL_CLIENTS: readonly AnyClient[] = [...CLIENTS, 'python']

type Reports = Partial<Record<AnyClient, Observed>>
type Written = Omit<Observed, 'rule' | 'next'> & Partial<Observed>

/** All measured reports, by the title of the variant, by setting and client. */
export type Measured = Record<string, Partial<Record<SettingId, Reports>>>

const USUAL = { rule: 'injected', next: 'ok' }

/** Reads what was measured last. */
export function readMeasured(): Measured {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '{}'
  return JSON.parse(text, (_, value: unknown) =>
    typeof value === 'object' && value !== null && 'says' in value
      ? { ...USUAL, ...(value as Written) }
      : value,
  ) as Measured
}

/** Writes what was measured, one line for each client. */
export function measuredText(measured: Measured): string {
  const block = (entries: readonly (readonly [string, string])[], indent: string): string =>
    `{\n${entries.map(([key, text]) => `${indent}  ${JSON.stringify(key)}: ${text}`).join(',\n')}\n${indent}}`
  const titles = Object.entries(measured).map(([title, settings]) => {
    const inner = SETTINGS.flatMap(({ id }) => {
      const reports = settings[id]
      if (reports === undefined) return []
      const lines = ALL_CLIENTS.flatMap((client) => {
        const observed = reports[client]
        return observed === undefined ? [] : [[client, reportText(observed)] as const]
      })
      return [[id, block(lines, '    ')] as const]
    })
    return [title, block(inner, '  ')] as const
  })
  return `${block(titles, '')}\n`
}

function reportText({ says, ran, counted, rule, next }: Observed): string {
  const unusual = {
    ...(rule !== USUAL.rule && { rule }),
    ...(next !== USUAL.next && { next }),
  }
  return JSON.stringify({ says, ran, counted, ...unusual })
}

/** The file of what was measured. */
export const MEASURED_FILE = file

let known: Measured | undefined

/** Reads the file again when it is asked for next. */
export function forgetMeasured(): void {
  known = undefined
}

/** Returns what a client is expected to report: what it was measured to; undefined if it was not. */
export function expectedOf(
  variant: ByHand,
  setting: SettingId,
  client: AnyClient,
): Observed | undefined {
  known ??= readMeasured()
  return known[titleOf(variant)]?.[setting]?.[client]
}
